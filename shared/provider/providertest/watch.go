package providertest

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// underWay are the calls of a handler that have begun and not ended.
type underWay struct {
	mu    sync.Mutex
	calls []string
	back  func()        // takes back what the last one had for itself
	moved chan struct{} // has something when one has begun or ended
}

// move notes that a call has begun or ended.
func (u *underWay) move() {
	select {
	case u.moved <- struct{}{}:
	default: // it is noted
	}
}

// lend notes what takes back what a call has for itself.
func (u *underWay) lend(back func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.back = back
}

// abandon takes that back from a call that hangs.
func (u *underWay) abandon() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.back != nil {
		u.back()
	}
}

type underWayKey struct{}

// begin notes a call, and returns what notes its end.
func (u *underWay) begin(call string) (end func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls = append(u.calls, call)
	u.move()
	return func() {
		u.move()
		u.mu.Lock()
		defer u.mu.Unlock()
		if i := slices.Index(u.calls, call); i >= 0 {
			u.calls = slices.Delete(u.calls, i, i+1)
		}
	}
}

// wait returns what a check comes to, or that one of its calls hangs.
func (u *underWay) wait(ctx context.Context, done <-chan error) error {
	var why error
	for idle := time.NewTimer(limit); why == nil; {
		select {
		case err := <-done:
			return err
		case <-u.moved:
			idle.Reset(limit)
		case <-idle.C:
			why = context.DeadlineExceeded
		case <-ctx.Done():
			why = ctx.Err()
		}
	}
	u.abandon()
	return &hangError{advise(
		"let every wait of the call end with its context: select on Done, and hand the context "+
			"on to what takes time; what follows was not checked",
		"the handler hangs in %s: %w", u, why)}
}

// String names the calls.
func (u *underWay) String() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.calls) == 0 {
		return "no call; the case itself takes that long"
	}
	return strings.Join(u.calls, ", ")
}

// watched is what a process has one of, before a check or a call.
type watched struct {
	dir string
	env []string // all variables, that which each call has for itself included
}

// watch notes what calls must leave as it is.
func watch() watched {
	dir, _ := syscall.Getwd() // os.Getwd takes longer, and this is done often
	return watched{dir, os.Environ()}
}

// isOwn reports whether a variable is the one that each call has for itself.
func isOwn(v string) bool { return strings.HasPrefix(v, tempVar+"=") }

// sameVariables reports whether two lists of variables are the same but for the one that each call
// has for itself, wherever that stands.
func sameVariables(a, b []string) bool {
	for {
		for len(a) > 0 && isOwn(a[0]) {
			a = a[1:]
		}
		for len(b) > 0 && isOwn(b[0]) {
			b = b[1:]
		}
		if len(a) == 0 || len(b) == 0 {
			return len(a) == len(b)
		}
		if a[0] != b[0] {
			return false
		}
		a, b = a[1:], b[1:]
	}
}

// byName returns variables by their names, but for the one that each call has for itself.
func byName(env []string) map[string]string {
	out := map[string]string{}
	for _, v := range env {
		if name, value, _ := strings.Cut(v, "="); name != "" && name != tempVar {
			out[name] = value
		}
	}
	return out
}

// glances is how often a call is looked at while it goes on: often enough to be seen in the time in
// which a program runs.
const glances = 300 * time.Microsecond

// during looks at the process while a call goes on, until stop is called, which returns what was
// different for a moment; "" when nothing was seen.
func (w watched) during() (stop func() (what string)) {
	var mu sync.Mutex
	seen, over := "", false
	mu.Lock()
	defer mu.Unlock()
	var glance *time.Timer
	glance = time.AfterFunc(glances, func() { // most calls end before
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		if seen = w.differs(); seen == "" {
			glance.Reset(glances)
		}
	})
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		over = true
		glance.Stop()
		return seen
	}
}

// differs says in what the process is not as it was, "" when it is.
func (w watched) differs() string {
	if dir, err := syscall.Getwd(); err == nil && dir != w.dir && w.dir != "" {
		return "the directory of the process"
	}
	if now := os.Environ(); !sameVariables(now, w.env) && !maps.Equal(byName(now), byName(w.env)) {
		return "the environment of the process"
	}
	return ""
}

// restore says how the process is not as it was, and what to do about that, and puts it right; ""
// when it is.
func (w watched) restore() (what, fix string) {
	if dir, _ := syscall.Getwd(); dir != w.dir && w.dir != "" {
		_ = os.Chdir(w.dir)
		return "changed the directory of the process to " + dir,
			"name files by whole paths, and set Dir of an exec.Cmd: all handlers of a process " +
				"share its directory"
	}
	all := os.Environ()
	if sameVariables(all, w.env) {
		return "", ""
	}
	before, now := byName(w.env), byName(all)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if value, has := now[name]; !has {
			what = "unset the variable " + name
		} else if value != before[name] {
			what = "changed the variable " + name
		} else {
			continue
		}
		_ = os.Setenv(name, before[name])
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, had := before[name]; !had {
			what = "changed the variable " + name
			_ = os.Unsetenv(name)
		}
	}
	if what != "" {
		what += " of the process"
	}
	return what, "set Env of an exec.Cmd: all handlers of a process share its environment"
}
