package providertest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// theProcess is held while a call has what a process has one of: its directory for temporary files,
// its standard output and its standard error. Of calls at the same time, one has them and is looked
// at.
var theProcess sync.Mutex

// tempVar names the directory for temporary files.
const tempVar = "TMPDIR"

// own is what a call of a handler has for itself. The calls of a check have the same, one after the
// other.
type own struct {
	temp           string
	stdout, stderr *stream
	mu             sync.Mutex
	first          map[string]string // the call after which something was there first, by its name
}

// newOwn returns what the calls of an env have for themselves; nil when there is no place for it.
func newOwn(newDir func() (string, error)) *own {
	dir, err := newDir()
	if err != nil || dir == "" {
		return nil
	}
	o := &own{temp: filepath.Join(dir, "tmp"), first: map[string]string{}}
	if err := os.Mkdir(o.temp, 0o700); err != nil {
		return nil
	}
	if o.stdout, err = newStream(dir, "standard output", os.Stdout); err != nil {
		return nil
	}
	if o.stderr, err = newStream(dir, "standard error", os.Stderr); err != nil {
		_ = o.stdout.file.Close()
		return nil
	}
	return o
}

// during runs f with what is its own, unless another call has it now. One that hangs has it taken
// away by whoever gives up on it.
func (o *own) during(ctx context.Context, f func() error) error {
	if o == nil || !theProcess.TryLock() {
		return f()
	}
	before, had := os.LookupEnv(tempVar)
	_ = os.Setenv(tempVar, o.temp)
	undivert := divert(o.stdout.file, o.stderr.file)
	back := sync.OnceFunc(func() {
		undivert()
		if had {
			_ = os.Setenv(tempVar, before)
		} else {
			_ = os.Unsetenv(tempVar)
		}
		theProcess.Unlock()
	})
	defer back()
	if calls, ok := ctx.Value(underWayKey{}).(*underWay); ok {
		calls.lend(back)
	}
	return f()
}

// note remembers what is there after a call, and was not before it.
func (o *own) note(call string) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	entries, _ := os.ReadDir(o.temp)
	for _, entry := range entries {
		if _, seen := o.first[entry.Name()]; !seen {
			o.first[entry.Name()] = call
		}
	}
	o.stdout.note(call)
	o.stderr.note(call)
}

// left looks for temporary files.
func (o *own) left() error {
	if o == nil {
		return nil
	}
	entries, err := os.ReadDir(o.temp)
	if err != nil || len(entries) == 0 {
		return nil
	}
	name := entries[0].Name()
	o.mu.Lock()
	call := o.first[name]
	o.mu.Unlock()
	return traced(call, false, func(call string) error {
		return advise(
			"remove temporary files on all ways, also when the call fails or is cut off: defer "+
				"os.Remove, or write beside the file and rename",
			"%s leaves %s in the directory for temporary files", call, name)
	})
}

// told looks for secrets in what was written to standard output and standard error, and ends.
func (o *own) told(secrets []string) error {
	if o == nil {
		return nil
	}
	return errors.Join(o.stdout.told(secrets), o.stderr.told(secrets))
}

// another returns an env in another place. What the handler says and leaves there counts, too.
func (e *env) another() (*env, error) {
	s := e.subject
	s.Alone = false // it needs nothing of its own for its calls: they have what is e's
	place, err := newEnv(e.ctx, s, e.newDir)
	if err == nil {
		place.subject, place.own = e.subject, e.own
		e.places = append(e.places, place)
	}
	return place, err
}
