// Package pyregexp matches regular expressions of Python.
//
// An expression that RE2 can express with the same meaning is matched by package regexp, in linear
// time. Every other one, such as one with a lookahead, is matched by backtracking, with a limit of CPU
// time: the limit does not depend on a wall clock, so a paused process reaches it no earlier.
package pyregexp

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
	"golang.org/x/sys/unix"
)

// Limit is the CPU time that backtracking may take for one text.
const Limit = time.Second / 2

// ErrLimit is the error of a match that has reached Limit.
var ErrLimit = errors.New("the limit of CPU time is reached")

// Regexp is a compiled expression. It may be used concurrently.
type Regexp struct {
	text   string
	linear *regexp.Regexp // nil: backtracking is needed
	source string         // of the backtracking expression
}

// Compile compiles an expression as re.compile does. The error names the fault alone.
func Compile(text string) (*Regexp, error) {
	if source, ok := re2(text); ok {
		if linear, err := regexp.Compile(`\A(?:` + source + `)`); err == nil {
			return &Regexp{text: text, linear: linear}, nil
		}
	}
	source := dotNet(text)
	if _, err := regexp2.Compile(source, regexp2.None); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	source = `\A(?:` + source + `)`
	if _, err := regexp2.Compile(source, regexp2.None); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return &Regexp{text: text, source: source}, nil
}

// Match reports whether the beginning of s matches, as re.match does. The error is ErrLimit.
func (r *Regexp) Match(s string) (bool, error) {
	if r.linear != nil {
		return r.linear.MatchString(s), nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for wall := Limit; ; wall *= 2 {
		re := regexp2.MustCompile(r.source, regexp2.None)
		re.MatchTimeout = wall // ends this try only: CPU time decides whether it was the last one
		before, known := cpuTime()
		ok, err := re.MatchString(s)
		if err == nil {
			return ok, nil
		}
		if now, _ := cpuTime(); !known || now-before >= Limit {
			return false, fmt.Errorf("the regular expression /%s/ needs more than %s for this text: %w",
				r.text, Limit, ErrLimit)
		}
	}
}

// cpuTime returns the CPU time of this thread, and false if the system does not count it.
func cpuTime() (time.Duration, bool) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
