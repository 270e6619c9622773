package fulfil

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/service/bundle"
)

// dataDir is where models of an environment keep what stays between compiles.
const dataDir = "data"

// model returns the model of a digest. A worker unpacks it, or sees that it is whole, once.
func (w *Worker) model(ctx context.Context, digest string) (bundle.Opened, error) {
	if out, ok := w.models[digest]; ok {
		return out, nil
	}
	packed, err := w.Engine.Files.Get(ctx, []string{digest})
	if err != nil {
		return bundle.Opened{}, err
	}
	root := filepath.Join(w.Dir, w.Env)
	out, err := bundle.Unpack(packed[0], filepath.Join(root, digest), filepath.Join(root, dataDir))
	if err != nil {
		return out, err
	}
	w.models[digest] = out
	return out, w.tidy(ctx, root)
}

// intact reports whether the model of a digest is still what was unpacked. If it is not, it is unpacked
// anew when it is wanted next.
func (w *Worker) intact(ctx context.Context, digest string) (bool, error) {
	packed, err := w.Engine.Files.Get(ctx, []string{digest})
	if err != nil {
		return false, err
	}
	whole := bundle.Whole(packed[0], filepath.Join(w.Dir, w.Env, digest))
	if !whole {
		delete(w.models, digest)
	}
	return whole, nil
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
			delete(w.models, e.Name())
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
