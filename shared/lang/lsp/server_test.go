package lsp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"southbound/shared/lang/lsp/lsptest"
)

// TestDiagnostics holds that problems come as one types, of syntax, of names, of imports and of the
// evaluation, and go when they are gone.
func TestDiagnostics(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{
		"main.cf": "import net\n" +
			"h = net::Host(name=\"a\")\n",
		"libs/net/model/_init.cf": "entity Host:\n    string name\nend\n" +
			"implement Host using std::none\n",
	}, nil)
	s.open("main.cf")
	s.problems("main.cf")
	s.edit("main.cf", 2, 1, 4, 13, "net::Hots(") // a name that is not there
	s.problems("main.cf", "2:15 syntax expected the name of an argument")
	s.edit("main.cf", 3, 1, 13, 14, "")
	s.problems("main.cf", "2:5 unknown_type the namespace net has no Hots\ndid you mean Host?")
	s.edit("main.cf", 4, 1, 4, 13, "net::Host")
	s.problems("main.cf")
	s.edit("main.cf", 5, 1, 19, 22, "1") // a type, which an evaluation finds
	p := s.problems("main.cf", "type_mismatch")
	if len(p.Diagnostics) == 0 || p.Diagnostics[0].Severity != protocol.DiagnosticSeverityError {
		t.Errorf("%v", p)
	}
	s.edit("main.cf", 6, 0, 7, 10, "nothing")
	s.problems("main.cf", "there is no module nothing", "the namespace net is not imported")
}

// TestOneBroken holds that a text that cannot be read does not take away what others see in it, and
// brings them no problems.
func TestOneBroken(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{
		"main.cf":               "import a\nx = a::A(name=1)\n",
		"libs/a/model/_init.cf": "entity A:\n    string name\nend\nimplement A using std::none\n",
	}, nil)
	s.open("main.cf")
	s.open("libs/a/model/_init.cf")
	s.problems("main.cf", "type_mismatch")
	s.edit("libs/a/model/_init.cf", 2, 1, 4, 10, "string string (")
	s.problems("libs/a/model/_init.cf", "syntax")
	s.problems("main.cf", "type_mismatch")
	s.edit("main.cf", 2, 1, 14, 15, `"a"`)
	s.problems("main.cf")
}

// TestUnsaved holds that a file that exists only in the editor has problems told of it, that what
// is closed is what the disk has, and that files that come are seen.
func TestUnsaved(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"main.cf": "x = 1\n"}, nil)
	if err := s.Watching(s.ctx); err != nil {
		t.Fatal(err)
	}
	s.open("new.cf", "x = \n")
	s.problems("new.cf", "syntax")
	s.open("main.cf", "import late\nx = late::y\n")
	s.problems("main.cf", "there is no module late")
	path := s.path("libs/late/model/_init.cf")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("y = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.DidChangeWatchedFiles(s.ctx, &protocol.DidChangeWatchedFilesParams{
		Changes: []protocol.FileEvent{{URI: uri.File(path), Type: protocol.FileChangeTypeCreated}},
	}); err != nil {
		t.Fatal(err)
	}
	s.problems("main.cf")
	s.edit("main.cf", 2, 0, 0, 6, "entity")
	s.problems("main.cf", "invalid_name", "syntax")
	var p protocol.DidCloseTextDocumentParams
	p.TextDocument.URI = uri.File(s.path("main.cf"))
	if err := s.DidClose(s.ctx, &p); err != nil {
		t.Fatal(err)
	}
	s.problems("main.cf")
}

// TestFormatting holds that a text is formatted as fmt does it, and one that is wrong is left
// alone.
func TestFormatting(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{
		"main.cf": "# é𝕊\nx=1\nfor a in [1,2]:\ny=a\nend\nz = 3\n", "wrong.cf": "x = \n",
	}, nil)
	s.open("main.cf")
	s.open("wrong.cf")
	ask := func(name string) ([]protocol.TextEdit, error) {
		var p protocol.DocumentFormattingParams
		p.TextDocument.URI = uri.File(s.path(name))
		return s.Formatting(s.ctx, &p)
	}
	edits, err := ask("main.cf")
	if err != nil || len(edits) != 1 {
		t.Fatal(edits, err)
	}
	e := edits[0]
	if e.NewText != "x = 1\nfor a in [1, 2]:\n    y = a\n" || e.Range.Start.Line != 1 ||
		e.Range.End.Line != 4 {
		t.Errorf("%v %q", e.Range, e.NewText)
	}
	_, err = ask("wrong.cf")
	if err == nil || !strings.Contains(err.Error(), "2:1: expected a value") {
		t.Error(err)
	}
	_, err = ask("other.cf")
	if err == nil || !strings.Contains(err.Error(), "is not open") {
		t.Error(err)
	}
}

// TestEncodings holds that positions count units of UTF-16, and bytes where the client can.
func TestEncodings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		encodings []protocol.PositionEncodingKind
		want      protocol.PositionEncodingKind
		column    uint32
	}{
		{nil, "utf-16", 16}, {[]protocol.PositionEncodingKind{"utf-8", "utf-16"}, "utf-8", 19},
	} {
		s := start(t, map[string]string{"main.cf": "x = [\"é𝕊\", 3, nothing::y]\n"},
			func(p *protocol.InitializeParams) {
				general := protocol.GeneralClientCapabilities{PositionEncodings: test.encodings}
				p.Capabilities.General = &general
			})
		s.open("main.cf")
		found := s.problems("main.cf", "namespace")
		if got := found.Diagnostics[0].Range.Start.Character; got+1 != test.column {
			t.Errorf("%s: column %d, want %d", test.want, got+1, test.column)
		}
	}
}

// TestLife holds the order of a server's life, and its exit codes.
func TestLife(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	begin := func() *lsptest.Client {
		c, err := lsptest.Start(ctx, command(t))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	is := func(err error, code int32) {
		t.Helper()
		var e *jsonrpc2.Error
		if !errors.As(err, &e) || int32(e.Code) != code {
			t.Errorf("got %v, want code %d", err, code)
		}
	}
	exits := func(code int, err error, want int) {
		t.Helper()
		if err != nil || code != want {
			t.Errorf("exit code %d, %v, want %d", code, err, want)
		}
	}
	c := begin()
	_, err := c.Formatting(ctx, &protocol.DocumentFormattingParams{})
	is(err, -32002)
	result, err := c.Hello(ctx, t.TempDir(), nil)
	if err != nil || result.ServerInfo.Name != "southbound" {
		t.Fatal(result, err)
	}
	_, err = c.Initialize(ctx, &protocol.InitializeParams{})
	is(err, -32600)
	_, err = c.Moniker(ctx, &protocol.MonikerParams{}) // something that it cannot do
	is(err, -32601)
	if err := c.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	is(c.Shutdown(ctx), -32600)
	code, err := c.Leave(ctx)
	exits(code, err, 0)

	c = begin()
	if _, err := c.Hello(ctx, t.TempDir(), nil); err != nil {
		t.Fatal(err)
	}
	code, err = c.Leave(ctx) // without shutdown
	exits(code, err, 1)
	c = begin()
	code, err = c.Cut()
	exits(code, err, 1)
}

// TestHostile holds that a client that does not keep to the protocol is told so, and that the
// server goes on where it can tell what comes next, and ends where it cannot.
func TestHostile(t *testing.T) {
	t.Parallel()
	const large = 130 // MiB of spaces
	long, spaces := strings.Repeat("x", 1<<20), strings.Repeat(" ", 1<<20)
	for _, test := range []struct {
		name, send string
		want       string // a part of the answer; "" for an end
	}{
		{"bad JSON", frame("{"), `"code":-32700`},
		{"no object", frame("7"), `"code":-32700`},
		{"a batch of nothing", frame("[]"), `"code":-32600`},
		{"an unknown method", frame(`{"jsonrpc":"2.0","id":7,"method":"x/y"}`), `"code":-32601`},
		{"wrong parameters",
			frame(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"capabilities":[1]}}`),
			`"code":-32602`},
		{"not initialized", frame(`{"jsonrpc":"2.0","id":7,"method":"shutdown","params":null}`),
			`"code":-32002`},
		{"deep JSON",
			frame(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":` +
				strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}"), `"code":-32`},
		{"a large body", fmt.Sprintf("Content-Length: %d\r\n\r\n", large<<20),
			`"code":-32700`},
		{"a long header", "X: " + long, ""},
		{"many headers", strings.Repeat("X: y\r\n", 1000), ""},
		{"no length", "X: y\r\n\r\n", ""},
		{"a bad length", "Content-Length: -1\r\n\r\n", ""},
		{"no header", "GET / HTTP/1.1\r\n\r\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(in, test.send) // it may end before it has read all
			if test.name == "a large body" {     // which is not held here
				for range large {
					_, _ = io.WriteString(in, spaces)
				}
			}
			if test.want == "" {
				if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
					t.Errorf("%q, %v", rest, err)
				}
				if err := cmd.Wait(); err == nil {
					t.Error("it ended as if all were well")
				}
				return
			}
			r := bufio.NewReader(out)
			if got := answer(t, r); !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
			_, err = io.WriteString(
				in,
				frame(`{"jsonrpc":"2.0","id":"still","method":"initialize","params":{}}`),
			)
			if got := answer(t, r); err != nil || !strings.Contains(got, `"id":"still"`) {
				t.Errorf("it does not go on: %s, %v", got, err)
			}
			if err := in.Close(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // 1: there was no shutdown
		})
	}
}

func frame(body string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// answer reads one message.
func answer(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	size := 0
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		if n, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			size, _ = strconv.Atoi(n)
		}
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(body) {
		t.Errorf("%s is not JSON", body)
	}
	return string(body)
}
