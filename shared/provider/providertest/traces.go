package providertest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// traces are what calls have left behind, each with the call that it was first seen after. It is
// safe for concurrent use.
type traces struct {
	mu    sync.Mutex
	first map[string]string // the call, by what it has left
	wrong []error           // what was put right at once
	told  map[string]bool   // what wrong has already
	loans int
}

func newTraces() *traces { return &traces{first: map[string]string{}, told: map[string]bool{}} }

// see notes after which call something was there first.
func (t *traces) see(what, call string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, seen := t.first[what]; !seen {
		t.first[what] = call
	}
}

// by returns the call after which something was there first, and err so that it is looked for once
// more when that is not known.
func (t *traces) by(what string, err func(call string) error) error {
	t.mu.Lock()
	call := t.first[what]
	t.mu.Unlock()
	return traced(call, err)
}

// traced returns the error for what a call has left, "" when it is not known which.
func traced(call string, err func(call string) error) error {
	if call == "" {
		return &untracedError{err("a call")}
	}
	return err(call)
}

// after looks at what a call has left, and puts right what it has changed of the process.
func (t *traces) after(e *env, name string, before watched) {
	if what, fix := before.restore(); what != "" {
		if calls, ok := e.ctx.Value(underWayKey{}).(*underWay); ok {
			name = calls.String() // one of those at the same time
		}
		t.mu.Lock()
		if !t.told[what] {
			t.told[what] = true
			t.wrong = append(t.wrong, advise(fix, "%s has %s", name, what))
		}
		t.mu.Unlock()
	}
	if e.subject.sofar.traced.Load() {
		for _, file := range openFiles(e.dir) {
			t.see(file, name)
		}
		e.own.note(name)
	}
	n := e.host.cache.Lent()
	t.mu.Lock()
	more := n > t.loans
	t.loans = n
	if more {
		t.first[loan] = name // the last one
	}
	t.mu.Unlock()
}

// sofar is what the checks of a subject have come to so far.
type sofar struct {
	traced atomic.Bool // something was left: it is noted after which call it was there first
	waited atomic.Bool // something did not end in the time that it has
}

// patience is how long what is about to end may take: a call that was cut off may need a moment.
const patience = 2 * time.Second

// soon lets f find nothing, now or in a moment. Once something has not ended in that time, all that
// is found then fails the subject as well, and gets little of it: an author is not to wait for each.
func (s *sofar) soon(f func() error) error {
	limit := patience
	if s.waited.Load() {
		limit /= 20
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		err := f()
		if err == nil {
			return nil
		}
		if time.Since(began) > limit {
			s.waited.Store(true)
			return err
		}
	}
}

// loan stands for loans of the cache among what calls have left.
const loan = "a loan"

// found returns what was put right.
func (t *traces) found() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.wrong...)
}

// openFiles returns the paths of the files below a directory that the process has open, where the
// system tells.
func openFiles(dir string) []string {
	links, err := os.ReadDir("/proc/self/fd")
	if err != nil || dir == "" {
		return nil // another system
	}
	var out []string
	for _, l := range links {
		if path, err := os.Readlink("/proc/self/fd/" + l.Name()); err == nil &&
			strings.HasPrefix(path, dir+string(filepath.Separator)) {
			out = append(out, path)
		}
	}
	return out
}
