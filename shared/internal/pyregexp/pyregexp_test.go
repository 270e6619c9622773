package pyregexp

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dlclark/regexp2"
)

// expressions are those of the tests, with whether RE2 expresses them. What they match is what
// Python 3.13 answers to re.match.
var expressions = []struct {
	text     string
	linear   bool
	yes, not []string
}{
	{`a`, true, []string{"a", "ab"}, []string{"", "ba"}},
	{`^[a-z]+[0-9]*$`, true, []string{"ab1", "ab1\n"}, []string{"ab1x", "ab1\n\n", "1"}},
	{`(candidate|active)$`, true, []string{"active", "active\n"}, []string{"actives"}},
	{`(a|b$)`, true, []string{"ax", "b", "b\n"}, []string{"bx"}},
	{`a$|b`, false, []string{"a", "b", "bx", "a\n"}, []string{"ax"}},
	{`a\Z`, true, []string{"a"}, []string{"a\n"}},
	{`\d{2,3}\Z`, true, []string{"12", "123", "٣٤"}, []string{"1", "1234"}},
	{`\w+\Z`, true, []string{"aé_1", "漢"}, []string{"a b", "-"}},
	{`\s\S`, true, []string{" a", "\u00a0a", "\x1ca"}, []string{"a ", "  "}},
	{`[\w.-]+@[^@\s]+\Z`, true, []string{"a.b-c@d.e"}, []string{"a@b c", "@x"}},
	{`[]a]+\Z`, true, []string{"]a"}, []string{"b"}},
	{`[[]\Z`, true, []string{"["}, []string{"]"}},
	{`a{,2}\Z`, true, []string{"", "a", "aa"}, []string{"aaa"}},
	{`a{x}\Z`, true, []string{"a{x}"}, []string{"a"}},
	{`a{\Z`, true, []string{"a{"}, []string{"a"}},
	{`(?P<n>a)(?:b)\Z`, true, []string{"ab"}, []string{"a"}},
	{`(?P<n>a)(?P=n)\Z`, false, []string{"aa"}, []string{"a"}},
	{`(a)\1\Z`, false, []string{"aa"}, []string{"a"}},
	{`(?!x)\w\Z`, false, []string{"a"}, []string{"x"}},
	{`(?i)AB\Z`, false, []string{"ab"}, []string{"a"}},
	{`a\bc?`, false, []string{"a", "a b"}, []string{"ac"}},
	{`.\Z`, true, []string{"é", "a"}, []string{"\n", "ab"}},
	{`\.\/\-\Z`, true, []string{"./-"}, []string{"a/-"}},
}

// TestMatch holds the table, and that the engine is the one that the table names.
func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range expressions {
		re, err := Compile(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if (re.linear != nil) != c.linear {
			t.Errorf("%s: linear is %v", c.text, !c.linear)
		}
		for _, s := range c.yes {
			if ok, err := re.Match(s); !ok || err != nil {
				t.Errorf("%s does not match %q (%v)", c.text, s, err)
			}
		}
		for _, s := range c.not {
			if ok, err := re.Match(s); ok || err != nil {
				t.Errorf("%s matches %q (%v)", c.text, s, err)
			}
		}
	}
}

// TestRefused names the fault of an expression that is none.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`(`, `[a`, `*a`, `(?P<n`, `a)`} {
		if _, err := Compile(text); err == nil || strings.Contains(err.Error(), "error parsing") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzEngines compares both engines over ASCII, where their classes are the same.
func FuzzEngines(f *testing.F) {
	for _, c := range expressions {
		f.Add(c.text, "ab1\n")
	}
	f.Fuzz(func(t *testing.T, text, s string) {
		for _, c := range text + s {
			if c > 0x7e || c < ' ' && c != '\n' {
				return
			}
		}
		re, err := Compile(text)
		if err != nil || re.linear == nil || len(text) > 50 || len(s) > 20 {
			return
		}
		other, err := regexp2.Compile(`\A(?:`+dotNet(text)+`)`, regexp2.None)
		if err != nil {
			return
		}
		other.MatchTimeout = time.Minute
		want, err := other.MatchString(s)
		if got, _ := re.Match(s); err == nil && got != want {
			t.Errorf("%q of %q: %v, and backtracking %v", text, s, got, want)
		}
	})
}

// TestLimit pins that an expression that backtracks for long ends with the limit.
func TestLimit(t *testing.T) {
	t.Parallel()
	re, err := Compile(`(?=x)(x+x+)+y`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := re.Match(strings.Repeat("x", 60)); !errors.Is(err, ErrLimit) {
		t.Errorf("%v", err)
	}
}

// TestPaused pins that a process that is paused in the middle of a match gets the same answer.
func TestPaused(t *testing.T) {
	if os.Getenv("PYREGEXP_PAUSED_TEST") != "" {
		re, err := Compile(`(?=x)(x+x+)+y`)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if ok, err := re.Match(strings.Repeat("x", 16)); ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPaused$", "-test.count=1")
	cmd.Env = append(os.Environ(), "PYREGEXP_PAUSED_TEST=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for pauses := 0; ; {
		if pauses == 4 {
			tick.Stop()
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("paused: %v", err)
			}
			return
		case <-tick.C: // for longer than the limit
			pauses++
			_ = cmd.Process.Signal(syscall.SIGSTOP)
			pause := time.NewTimer(Limit * 3 / 2)
			<-pause.C
			_ = cmd.Process.Signal(syscall.SIGCONT)
		}
	}
}
