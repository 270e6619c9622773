package fs

import (
	"fmt"

	"southbound/handlers/internal/disk"
	"southbound/handlers/internal/held"
	"southbound/shared/diff"
	"southbound/shared/provider"
)

// Noop implements provider.Nooper: it checks that the parent directory exists and may be written.
func (f file) Noop(ctx *provider.Context, planned provider.BatchChange) error {
	if err := wouldUndo(ctx, f.sys, planned); err != nil {
		return err
	}
	if _, bytes := planned.Changes["content"]; planned.Change == diff.Updated && !bytes {
		return nil // the content is not replaced
	}
	return wouldWrite(f.sys, planned)
}

// Noop implements provider.Nooper. It checks that the parent directory exists and may be written,
// or the directory itself if entries would be removed. It also checks that a directory is empty if
// it has to be.
func (d directory) Noop(ctx *provider.Context, planned provider.BatchChange) error {
	if err := wouldUndo(ctx, d.sys, planned); err != nil {
		return err
	}
	_, surplus := planned.Changes["surplus"]
	switch {
	case planned.Change == diff.Updated && !surplus:
		return nil
	case surplus:
		t := task{BatchChange: &planned, Slot: disk.Slot{Path: text(planned.Resource, "path")}}
		return disk.Explain(t.verb(), disk.MayWrite(d.sys, t.Path))
	}
	if planned.Change == diff.Purged && !yes(planned.Resource, "recurse_purge") {
		reportFull(d.sys, planned)
	}
	return wouldWrite(d.sys, planned)
}

// reportFull reports that a directory that would be removed is not empty.
func reportFull(sys *disk.System, planned provider.BatchChange) {
	path := text(planned.Resource, "path")
	dir, err := disk.OpenFolder(sys, path)
	if err != nil {
		return // Delete reports such errors
	}
	defer dir.Close()
	list, err := openList(dir.FD)
	if err != nil {
		return
	}
	defer list.Close()
	if names, _ := list.Readdirnames(1); len(names) > 0 {
		planned.Context.Lacks("the directory " + path + " is not empty; recurse_purge removes its " +
			"contents")
	}
}

// Noop implements provider.Nooper: it checks that the parent directory exists and may be written.
func (s symlink) Noop(ctx *provider.Context, planned provider.BatchChange) error {
	if err := wouldUndo(ctx, s.sys, planned); err != nil {
		return err
	}
	return wouldWrite(s.sys, planned)
}

// Noop implements provider.Nooper: it reports other things at the paths of entries. The entries are
// known if the same archive was unpacked before.
func (h archive) Noop(ctx *provider.Context, planned provider.BatchChange) error {
	r := planned.Resource
	if r.Purged {
		return nil
	}
	t, err := h.openTree(ctx, r, text(r, "path"))
	if err != nil {
		return disk.UnlessGone(err)
	}
	defer t.close()
	m, err := t.manifest()
	if err != nil || m == nil {
		return err
	}
	if same, err := m.isOf(ctx, r); err != nil || !same {
		return err
	}
	for _, e := range m.Entries {
		if err := t.blocked(e); err != nil {
			return fmt.Errorf("unpack into %s: %s: %w", text(r, "path"), disk.Shown(e.Name), err)
		}
	}
	return nil
}

// wouldUndo reports that a change would undo the description of another resource of the same thing.
func wouldUndo(ctx *provider.Context, sys *disk.System, planned provider.BatchChange) error {
	t := task{BatchChange: &planned, Slot: disk.Slot{Ctx: ctx, Path: text(planned.Resource, "path")}}
	dir, base, err := disk.Place(t.Path)
	if err != nil {
		return err
	}
	d, err := disk.OpenFolder(sys, dir)
	if err != nil {
		return nil //nolint:nilerr // other checks report the error; here nothing is known
	}
	defer d.Close()
	return t.claim(held.Of[*claim](ctx), d.Real(base))
}

// wouldWrite returns why nothing could be created in the directory of a thing, or removed from it.
// If the directory is missing, which may be made first, wouldWrite reports only that.
func wouldWrite(sys *disk.System, planned provider.BatchChange) error {
	t := task{BatchChange: &planned, Slot: disk.Slot{Path: text(planned.Resource, "path")}}
	dir, _, err := disk.Place(t.Path)
	if err != nil {
		return err
	}
	if disk.Missing(sys, dir) {
		planned.Context.Lacks("there is no directory " + dir)
	}
	return disk.Explain(t.verb(), disk.MayWrite(sys, dir))
}
