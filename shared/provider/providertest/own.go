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
}

// newOwn returns what the calls of an env have for themselves; nil when there is no place for it.
func newOwn(newDir func() (string, error)) *own {
	dir, err := newDir()
	if err != nil || dir == "" {
		return nil
	}
	o := &own{temp: filepath.Join(dir, "tmp")}
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

// left looks for temporary files.
func (o *own) left() error {
	if o == nil {
		return nil
	}
	entries, err := os.ReadDir(o.temp)
	if err != nil || len(entries) == 0 {
		return nil
	}
	return advise(
		"remove temporary files on all ways, also when the call fails or is cut off: defer "+
			"os.Remove, or write beside the file and rename",
		"the handler leaves %s in the directory for temporary files", entries[0].Name())
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
			if strings.Contains(string(b), form) {
				return advise(
					"write nothing to the standard error of the process: it is the log of a "+
						"server; Context.Info and its like are for what a run has to say, and "+
						"keep secrets out",
					"a secret is in what the handler writes to standard error%s", how)
			}
		}
	}
	_, _ = os.Stderr.Write(b)
	return nil
}
