package fulfil

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/service/bundle"
)

// dataDir is where models of an environment keep what stays between compiles.
const dataDir = "data"

// model returns the model of a digest, which it unpacks if that was not done yet.
func (w *Worker) model(ctx context.Context, digest string) (bundle.Opened, error) {
	root := filepath.Join(w.Dir, w.Env)
	dir := filepath.Join(root, digest)
	out, err := bundle.Open(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return out, err
	}
	packed, err := w.Engine.Files.Get(ctx, []string{digest})
	if err != nil {
		return out, err
	}
	if out, err = bundle.Unpack(packed[0], dir, filepath.Join(root, dataDir)); err != nil {
		return out, err
	}
	return out, w.tidy(ctx, root)
}

// tidy removes models that nobody needs any more.
func (w *Worker) tidy(ctx context.Context, root string) error {
	needed, err := w.Definitions.Bundles(ctx)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil //nolint:nilerr // another time
	}
	for _, e := range entries {
		if e.Name() != dataDir && !slices.Contains(needed, e.Name()) {
			_ = os.RemoveAll(filepath.Join(root, e.Name()))
		}
	}
	return nil
}

// shown returns problems with places as the authors of a model know them.
func shown(problems []diag.Problem, m bundle.Opened) []diag.Problem {
	out := slices.Clone(problems)
	for i := range out {
		p := &out[i]
		p.File, p.Message, p.Hint = m.Shown(p.File), m.Text(p.Message), m.Text(p.Hint)
		p.Related = slices.Clone(p.Related)
		for j := range p.Related {
			r := &p.Related[j]
			r.File, r.Message = m.Shown(r.File), m.Text(r.Message)
		}
	}
	return out
}
