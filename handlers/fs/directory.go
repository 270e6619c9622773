package fs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Directory declares fs::Directory.
func Directory() provider.Definition {
	path := validPath(true)
	return provider.Definition{
		Type: schema.Type{
			Name: "fs::Directory",
			Description: "A directory: its owner, group and mode, and optionally that it has no other entries. " +
				"Resources of their own describe its entries. Attributes that are not set are left " +
				"unchanged.",
			Attributes: append([]schema.Attribute{
				pathAttribute(),
				modeAttribute("0755"),
				{Name: "recurse_purge", Type: "Boolean", Default: false,
					Behaviour: schema.Parameter,
					Description: "remove all entries, recursively, except those that other resources manage and " +
						"names in keep; a purge removes everything. Without it only an empty directory " +
						"can be purged"},
				{Name: "keep", Type: "Optional[Array[String[1]]]", Behaviour: schema.Parameter,
					Description: "names that recurse_purge keeps"},
				{Name: managedNames, Type: "Optional[Array[String[1]]]",
					Behaviour: schema.Parameter,
					Description: "paths below it that other resources of any agent of the machine manage; " +
						"filled in for recurse_purge. Directories above such a path stay"},
				{Name: managedBackups, Type: "Optional[Array[String[1]]]",
					Behaviour: schema.Parameter,
					Description: "paths of backups of other resources below it, each also with a number; filled " +
						"in for recurse_purge"},
				{Name: "surplus", Type: "Optional[Array[String]]", Behaviour: schema.ReadOnly,
					Description: "names that recurse_purge would remove"},
			}, ownerAttributes()...),
			Features: []string{"batch", "noop"},
			Machine:  true,
			Validate: func(a map[string]any) []diag.Problem {
				return slices.Concat(path(a), validPurge(a), validGathered(a))
			},
			Relations: ownedRelations(),
			Thing:     thingAt,
			Keeps:     schema.KeepsPaths("path"),
			Space:     atPath,
			Gather:    gather,
			Gathers:   func(a map[string]any) bool { return a["recurse_purge"] == true },
		},
		Handler: directory{},
	}
}

// directory is the handler of fs::Directory.
type directory struct{ sys *disk.System }

func (d directory) system() *disk.System { return d.sys }

const (
	// maxSurplus is how many names are shown.
	maxSurplus = 100
	// defaultDirMode is the mode of a new directory if the resource sets none.
	defaultDirMode = 0o755
)

// Read implements provider.Handler.
func (d directory) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	return provider.ReadOne(ctx, d, req)
}

// ReadBatch implements provider.BatchReader.
func (d directory) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	return readAll(ctx, d, items)
}

// observe implements observer.
func (directory) observe(
	rd *reader, ctx *provider.Context, r provider.Resource, base string, want disk.Perm,
) (provider.Observation, error) {
	var st unix.Stat_t
	if err := rd.dir.Stat(base, &st); err != nil {
		return provider.Observation{}, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return provider.Observation{}, provider.Errorf(provider.NeedsChange,
			"the path holds %s, not a directory; remove it, or describe it by another type",
			disk.KindOf(&st))
	}
	obs := provider.Observation{Exists: true, Attributes: make(map[string]any, 4)}
	rd.known.observe(obs.Attributes, r, want, &st, true)
	if !yes(r, "recurse_purge") || r.Purged && !ctx.DryRun() {
		return obs, nil
	}
	dir, err := rd.dir.OpenDir(base)
	switch {
	case errors.Is(err, unix.EACCES) && rd.dir.Locked(&st, want):
		return obs, nil // its mode differs; its entries are read after the mode is corrected
	case err != nil:
		return obs, err
	}
	defer dir.Close()
	if ctx.DryRun() {
		if obs.Mark, err = markOfTree(ctx, dir.FD, r); err != nil || r.Purged {
			return obs, err
		}
	}
	names, err := surplus(dir.FD, r)
	if len(names) > 0 {
		obs.Attributes["surplus"] = shownNames(names)
	}
	return obs, err
}

// surplus returns the paths below a directory that must be removed, sorted.
func surplus(dir int, r provider.Resource) ([]string, error) {
	var out []string
	err := keeperOf(r).each(dir, "", func(_ int, _, path string) error {
		out = append(out, path)
		return nil
	})
	slices.Sort(out)
	return out, err
}

func shownNames(names []string) []any {
	var out []any
	for _, name := range names[:min(len(names), maxSurplus)] {
		out = append(out, disk.Shown(name))
	}
	if more := len(names) - maxSurplus; more > 0 {
		out = append(out, fmt.Sprintf("… and %d more", more))
	}
	return out
}

// Diff implements provider.Differ: surplus entries are a difference, too.
func (directory) Diff(
	_ *provider.Context, desired provider.Resource, observed provider.Observation,
) (map[string]diff.Diff, error) {
	out := differences(desired, observed, "owner", "group", "mode")
	if s := observed.Attributes["surplus"]; s != nil {
		if out == nil {
			out = map[string]diff.Diff{}
		}
		out["surplus"] = diff.Diff{Current: s}
	}
	return out, nil
}

// Create implements provider.Handler.
func (d directory) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	return provider.CreateOne(ctx, d, req)
}

// Update implements provider.Handler.
func (d directory) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	return provider.UpdateOne(ctx, d, req)
}

// Delete implements provider.Handler.
func (d directory) Delete(
	ctx *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	return provider.DeleteOne(ctx, d, req)
}

// ApplyBatch implements provider.BatchApplier.
func (d directory) ApplyBatch(
	ctx context.Context, items []provider.BatchChange,
) []provider.Applied {
	return carryOut(ctx, d, items)
}

// prepare implements stepper. It makes a new directory under a hidden name, so that the directory
// has its owner and mode when it becomes visible.
func (directory) prepare(t *task) error {
	var err error
	switch t.Change {
	case diff.Purged:
		return nil
	case diff.Updated:
		if t.file, err = t.Dir.OpenDir(t.Base); errors.Is(err, unix.EACCES) && t.want.Mode >= 0 {
			t.file.FD, err = t.Dir.Unlock(t.Base, new(unix.Stat_t))
		}
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Fstat(t.file.FD, &st); err != nil {
			return err
		}
		if t.want.Takes(&st) { // the previous owner may have given themselves rights
			if err := disk.DropAccessLists(t.file); err != nil {
				return err
			}
		}
		return t.want.Set(t.file)
	}
	if err := t.Dir.Tidy(t.Base); err != nil {
		return err
	}
	if err := t.Dir.MakeDir(disk.Leftover(t.Base)); err != nil {
		return err
	}
	t.named = true
	if t.file, err = t.Dir.OpenDir(disk.Leftover(t.Base)); err != nil {
		return err
	}
	if err := t.file.Empty(); err != nil {
		return err
	}
	if err := t.Dir.Disinherit(t.file, t.want.UID); err != nil {
		return err
	}
	full := t.want
	if full.Mode < 0 {
		var st unix.Stat_t
		if err := unix.Fstat(t.file.FD, &st); err != nil {
			return err
		}
		// inherited from its parent directory
		full.Mode = defaultDirMode | int(st.Mode&unix.S_ISGID)
	}
	return full.Set(t.file)
}

// publish implements stepper.
func (d directory) publish(t *task) error {
	switch t.Change {
	case diff.Updated:
		return clearOut(t)
	case diff.Purged:
		if yes(t.Resource, "recurse_purge") {
			return removeAll(t)
		}
		return t.Dir.RemoveDir(t.Base)
	}
	err := t.Dir.Take(t.Base)
	switch {
	case errors.Is(err, unix.ENOTDIR):
		return provider.Errorf(provider.NeedsChange,
			"the path does not hold a directory; remove it, or describe it by another type")
	case !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST):
		return err
	}
	// The directory already exists and has entries: an earlier run made it.
	t.file.Close()
	if t.file, err = t.Dir.OpenDir(t.Base); err != nil {
		return err
	}
	if err := t.want.Set(t.file); err != nil {
		return err
	}
	return t.file.Sync()
}
