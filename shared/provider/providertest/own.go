package providertest

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// theProcess is held while a call has what a process has one of: its directory for temporary files,
// and its standard error. Of calls at the same time, one has them and is looked at.
var theProcess sync.Mutex

// tempVar names the directory for temporary files.
const tempVar = "TMPDIR"

// own is what a call of a handler has for itself.
type own struct {
	temp   string
	stderr *os.File
	mu     sync.Mutex
	first  map[string]string // the call after which something was there first, by its name
	wrote  []writing         // to standard error, in order
}

// writing is what one call has written: up to where, counted from the beginning.
type writing struct {
	call string
	end  int64
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
	if o.stderr, err = os.Create(filepath.Join(dir, "stderr")); err != nil {
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
	undivert := divert(o.stderr)
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
	if end, err := o.stderr.Seek(0, io.SeekCurrent); err == nil && end > o.written() {
		o.wrote = append(o.wrote, writing{call, end})
	}
}

// written returns how much of standard error is known to be of a call.
func (o *own) written() int64 {
	if len(o.wrote) == 0 {
		return 0
	}
	return o.wrote[len(o.wrote)-1].end
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
	return traced(call, func(call string) error {
		return advise(
			"remove temporary files on all ways, also when the call fails or is cut off: defer "+
				"os.Remove, or write beside the file and rename",
			"%s leaves %s in the directory for temporary files", call, name)
	})
}

// callAt returns the call that has written a part of standard error, "" when it is not known.
func (o *own) callAt(offset int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range o.wrote {
		if int64(offset) < w.end {
			return w.call
		}
	}
	return ""
}

// told looks for secrets in what was written to standard error, shows the rest to whoever runs the
// test, and ends.
func (o *own) told(secrets []string) error {
	if o == nil {
		return nil
	}
	defer o.stderr.Close()
	if _, err := o.stderr.Seek(0, io.SeekStart); err != nil {
		return nil
	}
	b, err := io.ReadAll(o.stderr)
	if err != nil || len(b) == 0 {
		return nil
	}
	for _, s := range secrets {
		for how, form := range forms(s) {
			if at := strings.Index(string(b), form); at >= 0 {
				return traced(o.callAt(at), func(call string) error {
					return advise(
						"write nothing to the standard error of the process: it is the log of a "+
							"server; Context.Info and its like are for what a run has to say, "+
							"and keep secrets out",
						"a secret is in what %s writes to standard error%s", call, how)
				})
			}
		}
	}
	_, _ = os.Stderr.Write(b)
	return nil
}
