package wire

import (
	"errors"
	"io"
	"strings"
	"testing"

	"southbound/shared/fault"
)

func TestHandshake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line string
		want Handshake
		bad  string // part of the error
	}{
		"version 5":           {line: "1|5|unix|/tmp/plugin1|grpc|\n", want: Handshake{5, "/tmp/plugin1"}},
		"version 6":           {line: "1|6|unix|/tmp/p|grpc\r\n", want: Handshake{6, "/tmp/p"}},
		"more parts":          {line: "1|6|unix|/tmp/p|grpc||true\n", want: Handshake{6, "/tmp/p"}},
		"version 4":           {line: "1|4|tcp|127.0.0.1:1|netrpc\n", bad: "version 4 of the provider protocol"},
		"a later version":     {line: "1|7|unix|/tmp/p|grpc|\n", bad: "version 7 of the provider protocol"},
		"another handshake":   {line: "2|5|unix|/tmp/p|grpc|\n", bad: "version 2 of the plugin handshake"},
		"a network":           {line: "1|5|tcp|10.0.0.1:80|grpc|\n", bad: `"tcp" instead of a Unix socket`},
		"net/rpc":             {line: "1|5|unix|/tmp/p|netrpc|\n", bad: "does not speak gRPC"},
		"no protocol":         {line: "1|5|unix|/tmp/p\n", bad: "does not speak gRPC"},
		"TLS":                 {line: "1|5|unix|/tmp/p|grpc|MIIB\n", bad: "requires TLS"},
		"a relative path":     {line: "1|5|unix|p|grpc|\n", bad: "not an absolute path"},
		"an empty path":       {line: "1|5|unix||grpc|\n", bad: "not an absolute path"},
		"a greeting":          {line: "hello\n", bad: `printed "hello" instead of a handshake`},
		"numbers that are no": {line: "a|b|unix|/tmp/p|grpc|\n", bad: "instead of a handshake"},
		"an empty line":       {line: "\n", bad: `printed "" instead`},
		"no end of the line":  {line: "1|5|unix|/tmp/p|grpc|", bad: "instead of a handshake"},
		"a long line":         {line: strings.Repeat("ä", maxLine) + "\n", bad: `ä…" instead`},
		"control characters":  {line: "\x1b[31mred\n", bad: `"\x1b[31mred"`},
	} {
		got, err := ReadHandshake(strings.NewReader(c.line))
		if c.bad == "" {
			if err != nil || got != c.want {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			continue
		}
		if !fault.Is(err, fault.Unsupported) || !strings.Contains(err.Error(), c.bad) ||
			fault.HintOf(err) == "" || len(err.Error()) > 400 {
			t.Errorf("%s: %v, expected %s", name, err, c.bad)
		}
	}
	if _, err := ReadHandshake(strings.NewReader("")); !errors.Is(err, io.EOF) {
		t.Errorf("no output: %v", err)
	}
}

func FuzzHandshake(f *testing.F) {
	f.Add("1|5|unix|/tmp/plugin1|grpc|\n")
	f.Add("1|6|unix|/tmp/p|grpc||true\n")
	f.Add("hello\n")
	f.Add(strings.Repeat("|", 100))
	f.Fuzz(func(t *testing.T, line string) {
		h, err := ParseHandshake(line)
		if err != nil {
			if !fault.Is(err, fault.Unsupported) || fault.HintOf(err) == "" {
				t.Errorf("%q: %v has no hint", line, err)
			}
			return
		}
		if h.Protocol != Protocol5 && h.Protocol != Protocol6 || !strings.HasPrefix(h.Socket, "/") ||
			strings.ContainsAny(h.Socket, "|\x00") {
			t.Errorf("%q: %+v", line, h)
		}
	})
}
