package fulfil

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"southbound/shared/diag"
	"southbound/shared/service/bundle"
)

// dataDir is where models of an environment keep what stays between compiles.
const dataDir = "data"

// models are the models of the environment that are unpacked.
type models struct {
	*Config
	opened map[string]bundle.Opened // by digest
}

// open returns the model of a digest. A worker unpacks it, or sees that it is whole, once.
func (m *models) open(ctx context.Context, digest string) (bundle.Opened, error) {
	root := filepath.Join(m.Dir, m.Env)
	if out, ok := m.opened[digest]; ok && (m.Room == 0 || m.used(filepath.Join(root, digest))) {
		return out, nil
	}
	packed, err := m.Engine.Files.Get(ctx, []string{digest})
	if err != nil {
		return bundle.Opened{}, err
	}
	if m.Room > 0 {
		makeRoom(m.Dir, m.Room-diskSize(int64(len(packed[0]))), filepath.Join(root, digest))
	}
	out, err := bundle.Unpack(packed[0], filepath.Join(root, digest), filepath.Join(root, dataDir))
	if err != nil {
		return out, err
	}
	m.opened[digest] = out
	m.used(filepath.Join(root, digest))
	return out, m.tidy(ctx, root, digest)
}

// used notes that the model in a folder is used now, and reports whether it is there.
func (m *models) used(dir string) bool {
	now := m.Engine.Clock.Now()
	return os.Chtimes(dir, now, now) == nil
}

// diskBlock is what the smallest file takes.
const diskBlock = 4096

// diskSize is what a file takes.
func diskSize(bytes int64) int64 { return (bytes + diskBlock - 1) / diskBlock * diskBlock }

// unpacked is a folder with a model.
type unpacked struct {
	path string
	at   time.Time
	size int64
}

// makeRoom removes models of all environments, those that were used last longest ago first, until
// the others take no more than some bytes. One is kept. What cannot be removed is left: unpacking
// then says that the disk is full.
func makeRoom(dir string, room int64, kept string) {
	var all []unpacked
	total := int64(0)
	folders, _ := fs.Glob(os.DirFS(dir), "*/*")
	for _, name := range folders { // also what was not unpacked to its end
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || filepath.Base(path) == dataDir || path == kept {
			continue
		}
		one := unpacked{path, info.ModTime(), sizeOf(path)}
		all, total = append(all, one), total+one.size
	}
	slices.SortFunc(all, func(a, b unpacked) int { return a.at.Compare(b.at) })
	for _, one := range all {
		if total <= room {
			return
		}
		if os.RemoveAll(one.path) == nil {
			total -= one.size
		}
	}
}

// sizeOf is what a folder takes on the disk.
func sizeOf(dir string) int64 {
	total := int64(0)
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it goes while others look
		}
		total += diskBlock
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			total += diskSize(info.Size()) - diskBlock
		}
		return nil
	})
	return total
}

// intact reports whether the model of a digest is still what was unpacked. If it is not, it is
// unpacked anew when it is wanted next.
func (m *models) intact(ctx context.Context, digest string) (bool, error) {
	packed, err := m.Engine.Files.Get(ctx, []string{digest})
	if err != nil {
		return false, err
	}
	whole := bundle.Whole(packed[0], filepath.Join(m.Dir, m.Env, digest))
	if !whole {
		delete(m.opened, digest)
	}
	return whole, nil
}

// tidy removes models that nobody needs any more, but for one that is used now.
func (m *models) tidy(ctx context.Context, root, used string) error {
	needed, err := m.Definitions.Bundles(ctx)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.Name() != dataDir && e.Name() != used && !slices.Contains(needed, e.Name()) {
			delete(m.opened, e.Name())
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
