package fs

import (
	"errors"

	"golang.org/x/sys/unix"

	"southbound/shared/plan"
	"southbound/shared/provider"
)

// Noop implements provider.Nooper: whether its directory may be written.
func (f file) Noop(_ *provider.Context, planned provider.BatchChange) error {
	if _, bytes := planned.Changes["content"]; planned.Change == plan.Updated && !bytes {
		return nil // it stays where it is
	}
	return wouldWrite(f.sys, planned)
}

// Noop implements provider.Nooper: whether the directory it is in may be written, or it itself
// where something in it would go.
func (d directory) Noop(_ *provider.Context, planned provider.BatchChange) error {
	_, surplus := planned.Changes["surplus"]
	switch {
	case planned.Change == plan.Updated && !surplus:
		return nil
	case surplus:
		t := task{BatchChange: &planned, path: text(planned.Resource, "path")}
		return explain(t.verb(), mayWrite(d.sys, t.path))
	}
	return wouldWrite(d.sys, planned)
}

// Noop implements provider.Nooper: whether its directory may be written.
func (s symlink) Noop(_ *provider.Context, planned provider.BatchChange) error {
	return wouldWrite(s.sys, planned)
}

// Noop implements provider.Nooper: whether the directory of the file may be written.
func (h Texts) Noop(_ *provider.Context, planned provider.BatchChange) error {
	if w, ok := h.Store.(interface{ Writable(path string) error }); ok {
		return w.Writable(h.Place(planned.Resource))
	}
	return nil
}

// Writable reports why a file could not be changed, as far as that can be told before. What is not
// an absolute path is not in a file.
func (e Editor) Writable(path string) error {
	if path == "" || path[0] != '/' {
		return nil
	}
	return wouldWrite(e.sys, provider.BatchChange{Change: plan.Updated, Resource: provider.Resource{Attributes: map[string]any{"path": path}}})
}

// wouldWrite reports why nothing could be put into the directory of a thing, or taken out of it.
// One that is missing may be made before.
func wouldWrite(sys *system, planned provider.BatchChange) error {
	dir, _, err := place(planned.Resource)
	if err != nil {
		return err
	}
	t := task{BatchChange: &planned, path: text(planned.Resource, "path")}
	return explain(t.verb(), mayWrite(sys, dir))
}

// mayWrite reports why a directory cannot be written.
func mayWrite(sys *system, dir string) error {
	d, err := openFolder(sys, dir)
	if err != nil {
		return unlessGone(err)
	}
	defer d.close()
	if err = d.writable(); err == nil {
		err = again(func() error { return unix.Faccessat(d.fd, ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS) })
	}
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) {
		return nil // it cannot be asked here
	}
	return err
}
