package remote

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/provider"
)

// why returns why a command failed.
func (s *started) why(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fault.Wrap(fault.Unavailable, startOp, fmt.Errorf("no answer: %w", ctx.Err()))
	}
	over, release := patience.After(time.Second)
	defer release()
	select {
	case <-s.ended:
	case <-over:
	}
	select {
	case <-s.refused:
		return provider.Errorf(provider.Terminal, "%w",
			fault.New(fault.Denied, "sudo on the machine", "the password is wrong").
				WithHint("see sudo_password"))
	default:
	}
	// do not wait for a process that holds the channel open
	defer patience.AfterFunc(2*time.Second, s.Kill).Stop()
	return failed(s.Wait(), s.stderr.text(), s.banner.text(), err)
}

const (
	startOp   = "start on the machine"
	hintPlace = "set `directory: PATH` to another place for the program, or install it there " +
		"and set `program: PATH`"
)

// failed returns why a command failed, from its exit code, and its output on standard error and
// standard output.
func failed(code int, stderr, printed string, err error) error {
	text := cmp.Or(stderr, printed, err.Error())
	fail := func(class provider.Class, kind fault.Kind, hint string) error {
		return provider.Errorf(class, "%w",
			(&fault.Error{Kind: kind, Op: startOp, Message: text}).WithHint("%s", hint))
	}
	contains := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(stderr, part) {
				return true
			}
		}
		return false
	}
	switch {
	case code == 0 && stderr == "":
		text = "the program that was started there is not Southbound"
		if printed != "" {
			text += fmt.Sprintf("; it printed %q", printed)
		}
		return fail(provider.Terminal, fault.Damaged, "see `program`")
	case code == -1 && stderr == "":
		return fault.New(fault.Unavailable, startOp, "the connection was cut")
	case contains("No space left", "quota exceeded"):
		return fail(provider.Retryable, fault.Full,
			"free space there, or set `directory: PATH` to another place for the program")
	case contains("sudo:") && contains("must have a tty", "no tty present and no askpass"):
		return fail(provider.Terminal, fault.Denied,
			"there is no terminal: add `Defaults:USER !requiretty` to the rules of sudo there, "+
				"and permit sudo to the other user without a password, or set sudo_password")
	case contains("sudo:", "sudo: command not found"):
		return fail(provider.Terminal, fault.Denied,
			"permit sudo to the other user without a password, or set sudo_password")
	case contains("Exec format error", "cannot execute binary file"):
		return fail(provider.Terminal, fault.Unsupported,
			"the program is not built for that machine")
	case code == 73:
		return fail(provider.Terminal, fault.Denied, hintPlace)
	case code == 77:
		return fail(provider.Terminal, fault.Denied,
			"the program must be where no other user can change it; "+hintPlace)
	case code == 126:
		return fail(provider.Terminal, fault.Denied,
			"programs may not be run from there; "+hintPlace)
	case code == 127:
		return fail(provider.Terminal, fault.NotFound,
			"see `program`, or whether the program is built for that machine: with CGO_ENABLED=0 "+
				"it needs nothing there")
	case stderr == "" && code > 0:
		return fail(provider.Terminal, fault.Denied,
			fmt.Sprintf(
				"the login of the user runs no commands (exit code %d): it needs a shell, and a "+
					"server that permits commands", code))
	}
	return fail(provider.Retryable, fault.Unavailable,
		"run the same by hand: ssh, then the command that failed")
}

// unknown returns the error that no program fits a machine, from its names in uname.
func (c *Config) unknown(machine string) error {
	name, build := "southbound-OS-ARCH", "one that is built for it"
	if goos, arch := platform(machine); goos != "" {
		name = "southbound-" + goos + "-" + arch
		build = fmt.Sprintf("the output of `GOOS=%s GOARCH=%s CGO_ENABLED=0 go build`", goos, arch)
	}
	where := "the directory that SOUTHBOUND_PROGRAMS names"
	if c.Programs != nil && c.Programs.Dir != "" {
		where = c.Programs.Dir
	}
	return provider.Errorf(provider.Terminal, "%w",
		fault.New(fault.Unsupported, startOp, "there is no program for %q: %s is missing", machine,
			name).
			WithHint("put %s, named %s, into %s; or install it on the machine and set `program: "+
				"PATH`",
				build, name, where))
}

// tail keeps the end of a command's error output.
type tail struct {
	prompt string

	mu   sync.Mutex
	buf  []byte
	seen int // number of prompts seen
}

// add adds output and returns how many prompts it has completed.
func (t *tail) add(b []byte) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	n := 0
	if t.prompt != "" {
		if n = bytes.Count(t.buf, []byte(t.prompt)); n > 0 {
			t.buf = bytes.ReplaceAll(t.buf, []byte(t.prompt), nil)
			t.seen += n
		}
	}
	if len(t.buf) > 2*maxStderr { // not on each call
		t.buf = append(t.buf[:0:0], t.buf[len(t.buf)-maxStderr:]...)
	}
	return n
}

func (t *tail) prompts() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.buf[max(0, len(t.buf)-maxStderr):]), "?"))
}
