package fs

import (
	"southbound/handlers/internal/disk"
	"southbound/shared/diff"
	"southbound/shared/provider"
)

// Noop implements provider.Nooper: whether its directory may be written.
func (f file) Noop(_ *provider.Context, planned provider.BatchChange) error {
	if _, bytes := planned.Changes["content"]; planned.Change == diff.Updated && !bytes {
		return nil // it stays where it is
	}
	return wouldWrite(f.sys, planned)
}

// Noop implements provider.Nooper: whether the directory it is in may be written, or it itself
// where something in it would go.
func (d directory) Noop(_ *provider.Context, planned provider.BatchChange) error {
	_, surplus := planned.Changes["surplus"]
	switch {
	case planned.Change == diff.Updated && !surplus:
		return nil
	case surplus:
		t := task{BatchChange: &planned, Slot: disk.Slot{Path: text(planned.Resource, "path")}}
		return disk.Explain(t.verb(), disk.MayWrite(d.sys, t.Path))
	}
	return wouldWrite(d.sys, planned)
}

// Noop implements provider.Nooper: whether its directory may be written.
func (s symlink) Noop(_ *provider.Context, planned provider.BatchChange) error {
	return wouldWrite(s.sys, planned)
}

// wouldWrite reports why nothing could be put into the directory of a thing, or taken out of it.
// One that is missing may be made before.
func wouldWrite(sys *disk.System, planned provider.BatchChange) error {
	t := task{BatchChange: &planned, Slot: disk.Slot{Path: text(planned.Resource, "path")}}
	dir, _, err := disk.Place(t.Path)
	if err != nil {
		return err
	}
	return disk.Explain(t.verb(), disk.MayWrite(sys, dir))
}
