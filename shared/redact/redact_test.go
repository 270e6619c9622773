package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"southbound/shared/redact"
)

// secret has what each form has to escape.
const secret = `p4'ss "w&rd" $x/+ü\<`

func TestForms(t *testing.T) {
	t.Parallel()
	asJSON, err := json.Marshal(map[string]string{"k": secret})
	if err != nil {
		t.Fatal(err)
	}
	bash, err := exec.Command("bash", "-c", `printf %q "$1"`, "bash", secret).Output()
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]string{
		"itself": secret, "JSON": string(asJSON), "Go": fmt.Sprintf("%q", secret),
		"URL": url.QueryEscape(secret), "path": url.PathEscape(secret),
		"lower URL":  strings.ToLower(url.QueryEscape(secret)),
		"hex":        hex.EncodeToString([]byte(secret)),
		"HEX":        strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"shell":      "'" + strings.ReplaceAll(secret, "'", `'\''`) + "'",
		"python":     "'" + strings.ReplaceAll(secret, "'", `'"'"'`) + "'",
		"base64":     base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64 URL": base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"bash":       string(bash),
		// As Python's json.dumps and quote, PHP's json_encode and encodeURIComponent of browsers
		// write it.
		"ASCII":         `"p4'ss \"w&rd\" $x/+\u00fc\\<"`,
		"quote":         `p4%27ss%20%22w%26rd%22%20%24x/%2B%C3%BC%5C%3C`,
		"PHP":           `"p4'ss \"w&rd\" $x\/+\u00fc\\<"`,
		"HTML":          `p4'ss "w&amp;rd" $x/+ü\<`[:len(`p4'ss "w&amp;rd" $x/+ü\`)] + "&lt;",
		"CSV":           `p4'ss ""w&rd"" $x/+ü\<`,
		"JSON twice":    `p4'ss \\\"w&rd\\\" $x/+ü\\\\<`,
		"lower hex URL": "%70%34%27%73%73%20%22%77%26%72%64%22%20%24%78%2f%2b%c3%bc%5c%3c",
		"component":     `p4'ss%20%22w%26rd%22%20%24x%2F%2B%C3%BC%5C%3C`,
	}
	for name, text := range forms {
		var s redact.Set
		s.Add(secret)
		got := s.Clean("before "+text+" after", "<redacted>")
		if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") ||
			!strings.Contains(got, "<redacted>") || len(got) > len("before '<redacted>' after")+10 {
			t.Errorf("%s: %s became %s", name, text, got)
		}
	}
}

// TestWithinBase64 finds a secret behind users of any length, and with something behind it.
func TestWithinBase64(t *testing.T) {
	t.Parallel()
	for _, user := range []string{"", "u", "us", "use", "user"} {
		for _, behind := range []string{"", "\n", "::"} {
			for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding,
				base64.RawStdEncoding, base64.RawURLEncoding} {
				var s redact.Set
				s.Add("hunter22~~??")
				text := enc.EncodeToString([]byte(user + ":hunter22~~??" + behind))
				left := strings.ReplaceAll(s.Clean(text, "|"), "|", "")
				if limit := len(enc.EncodeToString([]byte(user+":"+behind))) +
					4; len(left) > limit {
					t.Errorf("%q: %s is left of %s", user, left, text)
				}
			}
		}
	}
}

// TestBroken pins that what programs write in lines or groups of digits is found.
func TestBroken(t *testing.T) {
	t.Parallel()
	long := "correct horse battery staple, and a second one for the way home, and a third"
	folded := func(text string, width int, between string) string {
		var parts []string
		for len(text) > width {
			parts, text = append(parts, text[:width]), text[width:]
		}
		return strings.Join(append(parts, text), between)
	}
	whole := base64.StdEncoding.EncodeToString([]byte(long))
	user := base64.StdEncoding.EncodeToString([]byte("ann:" + long))
	digits := hex.EncodeToString([]byte(long))
	for name, tc := range map[string]struct {
		text string
		left int // characters that may be left
	}{
		"base64 of coreutils": {folded(whole, 76, "\n"), 0},
		"of openssl":          {folded(whole, 64, "\n"), 0},
		"in JSON":             {folded(whole, 76, `\n`), 0},
		"indented":            {folded(whole, 40, "\r\n    "), 0},
		"with a user":         {folded(user, 64, "\n"), 10},
		"xxd -p":              {folded(digits, 60, "\n"), 0},
		"twice":               {strings.Repeat(folded(digits, 60, "\n")+"\n", 2), 2},
		"pairs":               {folded(digits, 2, " "), 0},
		"colons":              {folded(strings.ToUpper(digits), 2, ":"), 0},
		"of C":                {"0x" + folded(digits, 2, ", 0x"), 2},
		"escapes":             {`\x` + folded(digits, 2, `\x`), 2},
	} {
		var s redact.Set
		s.Add(long)
		got := s.Clean("before: "+tc.text+"\nafter", "|")
		got, begins := strings.CutPrefix(got, "before: ")
		got, ends := strings.CutSuffix(got, "\nafter")
		if left := strings.ReplaceAll(got, "|", ""); !begins || !ends || len(left) > tc.left {
			t.Errorf("%s: %q is left of %q", name, left, tc.text)
		}
	}
	for name, text := range map[string]string{"a line of it": whole[:64], "the last line": whole[76:],
		"a line of digits": digits[60:120], "the first line, with a user": user[:64]} {
		var s redact.Set
		s.Add(long)
		got := s.Clean("exit code 1: "+text+".", "|")
		if !strings.HasPrefix(got, "exit code 1: ") || len(got) > len("exit code 1: ....|....") {
			t.Errorf("%s: %q became %q", name, text, got)
		}
	}
	var s redact.Set
	s.Add(long)
	const other = "nothing of that:\n0x70 is here, c29t ZSB3 b3Jk\n"
	if got := s.Clean(other, "|"); got != other {
		t.Errorf("%q became %q", other, got)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	var s redact.Set
	s.Add("correct horse battery staple")
	for _, tc := range []struct{ text, want string }{
		{"… battery staple is refused", "… <> is refused"},
		{"refused: correct horse bat…", "refused: <>…"},
		{"refused: correct horse …(900 bytes)", "refused: <> …(900 bytes)"},
		{"a … b", "a … b"},
		{"correct horse battery staple…", "<>…"},
	} {
		if got := s.Clean(tc.text, "<>"); got != tc.want {
			t.Errorf("%q became %q, want %q", tc.text, got, tc.want)
		}
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://me:pw@host/x":                  "https://-@host/x",
		"https://me:p/w@host/x":                 "https://-@host/x",
		"see ftp://me@h and http://a:b@c d@e":   "see ftp://-@h and http://-@c d@e",
		"https://host/x y":                      "https://host/x y",
		"https://host":                          "https://host",
		"postgres://me:pw with a blank@host/db": "postgres://-@host/db",
	} {
		if got := redact.URL(text, "-"); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var s redact.Set
	s.Add("first line\r\nsecond line\n")
	s.Add("ab")
	if got := s.Clean("x second line y first line ab", "-"); got != "x - y - ab" {
		t.Error(got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("secret", "a secret …cret")
	f.Fuzz(func(t *testing.T, value, text string) {
		var s redact.Set
		s.Add(value)
		if got := s.Clean(text, "\x00"); len(value) >= 3 && strings.TrimSpace(value) == value &&
			strings.Contains(got, value) && !strings.Contains(value, "\x00") {
			t.Errorf("%q is left in %q", value, got)
		}
	})
}
