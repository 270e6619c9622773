package declared

import (
	"context"
	"slices"
	"sync"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Files reads stored files. A state.Files implements it.
type Files interface {
	// Get returns the bytes of hashes, in order; a missing one is NotFound, bytes that do not match
	// are Damaged.
	Get(ctx context.Context, hashes []string) ([][]byte, error)
}

// maxKept is how many declarations a process keeps.
const maxKept = 64

// MaxBytes bounds a file of declarations. typefile.Parse has the same bound.
const MaxBytes = 4 << 20

// Cache keeps the declarations that a process used last. A declaration never changes, so none becomes
// invalid. It is safe for concurrent use.
type Cache struct {
	program *schema.Registry

	mu   sync.Mutex
	kept []*schema.Declaration // the last used one last
}

// NewCache returns a cache for a program with these types. It has the declarations of a lock file among
// them already.
func NewCache(program *schema.Registry) *Cache {
	c := &Cache{program: program}
	if program == nil {
		return c
	}
	for _, name := range program.Names() {
		t, _ := program.Type(name)
		d := t.Declaration()
		if d != nil && !slices.Contains(c.kept, d) && len(c.kept) < maxKept {
			c.kept = append(c.kept, d)
		}
	}
	return c
}

// Kept returns a declaration that the cache has, without reading; nil if it has none.
func (c *Cache) Kept(hash string) *schema.Declaration {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.kept, func(d *schema.Declaration) bool { return d.Hash == hash })
	if i < 0 {
		return nil
	}
	d := c.kept[i]
	c.kept = append(slices.Delete(c.kept, i, i+1), d)
	return d
}

// Add compiles a declaration that has this hash, and keeps it.
func (c *Cache) Add(hash string, text []byte) (*schema.Declaration, error) {
	if d := c.Kept(hash); d != nil {
		return d, nil
	}
	if HashOf(text) != hash {
		return nil, fault.New(fault.Damaged, "read declaration "+short(hash),
			"its bytes have another hash").WithHint("export again: that stores it again")
	}
	d, err := Parse("declaration "+short(hash), text, c.program)
	if problems, _ := diag.Of(err); len(problems) > 0 {
		p := problems[0]
		return nil, fault.New(fault.Invalid, "read declaration "+short(hash), "%s: %s: %s", p.Pos,
			p.Resource, p.Message).WithHint("%s", p.Hint)
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = append(c.kept, d)
	if len(c.kept) > maxKept {
		c.kept = slices.Delete(c.kept, 0, len(c.kept)-maxKept)
	}
	return d, nil
}

// Read returns the declaration in a file, which it reads if the cache lacks it. The error is a fault:
// NotFound or Damaged if the file is lost, Invalid if this program refuses its content.
func (c *Cache) Read(
	ctx context.Context, files Files, f resource.File,
) (*schema.Declaration, error) {
	if d := c.Kept(f.Hash); d != nil {
		return d, nil
	}
	if f.Size > MaxBytes {
		return nil, fault.New(fault.Invalid, "read declaration "+short(f.Hash),
			"it is larger than %d MiB", MaxBytes>>20).WithHint("declare types in several files")
	}
	if files == nil {
		return nil, fault.New(fault.NotFound, "read declaration "+short(f.Hash),
			"the file is not stored").WithHint("export again: that stores it again")
	}
	texts, err := files.Get(ctx, []string{f.Hash})
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read declaration "+short(f.Hash), err)
	}
	return c.Add(f.Hash, texts[0])
}

// short shortens a hash for a text.
func short(hash string) string { return hash[:min(12, len(hash))] }
