package exportcmd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"

	"southbound/shared/cli/home"
	"southbound/shared/cli/input"
	"southbound/shared/cli/output"
	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/internal/source"
	"southbound/shared/platform"
)

// inputsFile is the file that records the inputs of an export of a path. Losing it only costs time.
func inputsFile(l *home.Location, path string) string {
	abs, _ := filepath.Abs(path)
	sum := sha256.Sum256([]byte(l.Env + "\n" + abs))
	return filepath.Join(l.Data, "inputs", hex.EncodeToString(sum[:12]))
}

// maxInputs is the number of paths whose inputs are recorded.
const maxInputs = 16

// saveInputs records the inputs of an export, and removes the records of the paths that were
// exported longest ago.
func saveInputs(file string, in source.Inputs) {
	dir := filepath.Dir(file)
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	_ = renameio.WriteFile(file, in.Encode(platform.Build()), 0o600, renameio.WithTempDir(dir))
	entries, _ := os.ReadDir(dir)
	files := make([]os.FileInfo, 0, len(entries))
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, old := range files[min(len(files), maxInputs):] {
		_ = os.Remove(filepath.Join(dir, old.Name()))
	}
}

// storeChanges exports only the changes since the last export of a path. It returns false if this
// is not possible, and all inputs must be read.
func (e *Exporter) storeChanges(
	ctx context.Context,
	path, cache string,
	f exportFlags,
) (deploy.Exported, bool, error) {
	b, err := os.ReadFile(cache)
	if err != nil {
		return deploy.Exported{}, false, nil
	}
	was, err := source.DecodeInputs(b, platform.Build())
	if err != nil {
		return deploy.Exported{}, false, nil
	}
	opts, err := e.Docs.Options(path, f.partial)
	if err != nil {
		return deploy.Exported{}, false, err
	}
	c, ok := was.Changes(ctx, opts)
	switch {
	case !ok:
		return deploy.Exported{}, false, nil
	case c.Model == nil:
		return e.known(ctx, c.Fingerprint, f)
	}
	x := asExport(ctx, e.Docs, path, f, &input.Loaded{Model: c.Model})
	x.Since = &c.Since
	x.Since.Fingerprint = e.Docs.Fingerprint(x.Since.Fingerprint)
	if _, interactive := output.Terminal(e.Stdin); f.asks && !f.yes && interactive {
		x.Limits = &deploy.Limits{
			Leave: -1,
		} // the whole export asks the user to confirm deletions
	} else if f.allowDelete >= 0 {
		x.Limits = &deploy.Limits{Delete: f.allowDelete, Leave: -1}
	}
	pr := e.Waiter.Progress()
	out, err := e.Home.Export(ctx, e.Env, x, pr.Sent)
	pr.End()
	if errors.Is(err, deploy.ErrWhole) || fault.Is(err, fault.Refused) {
		return deploy.Exported{}, false, nil
	}
	if err == nil {
		saveInputs(cache, c.Now)
	}
	return out, err == nil, err
}
