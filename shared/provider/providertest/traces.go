package providertest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// traces are what calls have left behind, each with the call that it was first seen after. It is
// safe for concurrent use.
type traces struct {
	mu    sync.Mutex
	first map[string]string // the call, by what it has left
	wrong []error           // what was noted after a call
	told  map[string]bool   // what wrong has already
	loans int
	owed  []claim // of calls that have failed, and were not looked at yet
}

// claim is what a call has said through Changed.
type claim struct {
	call    provider.BatchChange
	changed map[string]diff.Diff
}

// owe keeps what a call that has failed said, until it can be looked at.
func (t *traces) owe(c provider.BatchChange, changed map[string]diff.Diff) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(changed) > 0 {
		t.owed = append(t.owed, claim{c, changed})
	}
}

// due returns what is owed.
func (t *traces) due() []claim {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.owed)
}

// paid forgets what was owed.
func (t *traces) paid() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owed = nil
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
	return traced(call, true, err)
}

// traced returns the error for what a call has left, "" when it is not known which.
func traced(call string, open bool, err func(call string) error) error {
	if call == "" {
		return &untracedError{err("a call"), open}
	}
	return err(call)
}

// note keeps an error for the end of the check, one of a kind.
func (t *traces) note(kind string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.told[kind] {
		t.told[kind] = true
		t.wrong = append(t.wrong, err)
	}
}

// after looks at what a call has left, and puts right what it has changed of the process.
// meanwhile is what was different for a moment.
func (t *traces) after(e *env, name string, before watched, meanwhile string) {
	who := name
	if calls, ok := e.ctx.Value(underWayKey{}).(*underWay); ok {
		who = calls.String() // one of those at the same time
	}
	if what, fix := before.restore(); what != "" {
		t.note(what, advise(fix, "%s has %s", who, what))
	} else if meanwhile != "" {
		t.note(meanwhile, advise(
			"set Dir and Env of an exec.Cmd, and name files by whole paths: other calls run at "+
				"the same time", "%s changes %s and puts it back", who, meanwhile))
	}
	if e.subject.sofar.open.Load() {
		for _, file := range below(e.dir, openFiles()) {
			t.see(file, name)
		}
	}
	if e.subject.sofar.traced.Load() {
		e.own.note(name)
	}
	n := e.host.Cache().Lent()
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
	open   atomic.Bool // so it is of files that are open, which takes longer to see
	waited atomic.Bool // something did not end in the time that it has
}

// trace has it noted from now on, and reports whether it was not before.
func (s *sofar) trace(open bool) bool {
	if open {
		return !s.open.Swap(true)
	}
	return !s.traced.Swap(true)
}

// patience is how long what is about to end may take: a call that was cut off may need a moment.
const patience = 2 * time.Second

// soon lets f find nothing, now or in a moment. Once something has not ended in that time, all
// that is found then fails the subject as well, and gets little of it: an author is not to wait
// for each.
func (s *sofar) soon(f func() error) error {
	limit := patience
	if s.waited.Load() {
		limit /= 20
	}
	const latest = 40 * time.Millisecond
	pause := latest / 8
	tick := time.NewTicker(pause)
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
		pause = min(2*pause, latest)
		tick.Reset(pause)
	}
}

// loan stands for loans of the cache among what calls have left.
const loan = "a loan"

// found returns what was noted.
func (t *traces) found() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.wrong...)
}

// openFiles returns the paths of the files that the process has open, where the system tells.
func openFiles() []string {
	links, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil // another system
	}
	var out []string
	for _, l := range links {
		if path, err := os.Readlink("/proc/self/fd/" + l.Name()); err == nil {
			out = append(out, path)
		}
	}
	return out
}

// below returns those of paths that are below a directory.
func below(dir string, paths []string) []string {
	var out []string
	for _, path := range paths {
		if dir != "" && strings.HasPrefix(path, dir+string(filepath.Separator)) {
			out = append(out, path)
		}
	}
	return out
}
