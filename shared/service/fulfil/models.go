package fulfil

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"southbound/shared/diag"
	"southbound/shared/internal/declared"
	"southbound/shared/schema"
	"southbound/shared/service/bundle"
)

// dataDir is the folder for data that models of an environment keep between compiles.
const dataDir = "data"

// models holds the unpacked models of the environment.
type models struct {
	*Config
	opened map[string]bundle.Opened    // by digest
	types  map[string]*schema.Registry // with those of the lock file, by digest
}

// typesOf returns the types of the program, and those that the lock file of an unpacked model
// declares. It reads the lock file of a digest once.
func (m *models) typesOf(digest string, of bundle.Opened) (*schema.Registry, error) {
	if types := m.types[digest]; types != nil {
		return types, nil
	}
	lock, err := declared.ReadLock(filepath.Dir(of.Main), m.Types)
	if err != nil {
		return nil, err
	}
	types := m.Types
	if lock != nil {
		types = types.With(lock.Types()...)
	}
	m.types[digest] = types
	return types, nil
}

// open returns the model with a digest. A worker unpacks it, or verifies an unpacked copy, only
// once.
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

// used sets the last use of the model in a folder to now, and reports whether the folder exists.
func (m *models) used(dir string) bool {
	now := m.Engine.Clock.Now()
	return os.Chtimes(dir, now, now) == nil
}

// diskBlock is the disk space of the smallest file.
const diskBlock = 4096

// diskSize returns the disk space of a file.
func diskSize(bytes int64) int64 { return (bytes + diskBlock - 1) / diskBlock * diskBlock }

// unpacked is a folder with a model.
type unpacked struct {
	path string
	at   time.Time
	size int64
}

// makeRoom evicts models of all environments, least recently used first, until the rest fits into
// room bytes. It never removes kept. It ignores folders that cannot be removed: if the disk is
// full, unpacking fails.
func makeRoom(dir string, room int64, kept string) {
	var all []unpacked
	total := int64(0)
	folders, _ := fs.Glob(os.DirFS(dir), "*/*")
	for _, name := range folders { // includes incompletely unpacked models
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

// sizeOf returns the disk space of a folder.
func sizeOf(dir string) int64 {
	total := int64(0)
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // the file was removed during the walk
		}
		total += diskBlock
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			total += diskSize(info.Size()) - diskBlock
		}
		return nil
	})
	return total
}

// intact reports whether the unpacked model with a digest is unchanged. If it has changed, the next
// use unpacks it again.
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

// tidy removes models that are no longer needed, except the model in use.
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
			delete(m.types, e.Name())
			_ = os.RemoveAll(filepath.Join(root, e.Name()))
		}
	}
	return nil
}

// shown returns problems with the file names that the authors of a model know.
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
