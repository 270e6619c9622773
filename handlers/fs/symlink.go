package fs

import (
	"context"
	"errors"
	"strings"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Symlink declares fs::Symlink.
func Symlink() provider.Definition {
	path := validPath(false)
	return provider.Definition{
		Type: schema.Type{
			Name:        "fs::Symlink",
			Description: "A symbolic link. Its target need not exist. It is replaced atomically.",
			Attributes: append([]schema.Attribute{
				pathAttribute(),
				{Name: "target", Type: "String[1]",
					Description: "its target, as stored in the link"},
			}, ownerAttributes()...),
			Features: []string{"batch", "noop"},
			Machine:  true,
			Validate: func(a map[string]any) []diag.Problem {
				return append(path(a), validTarget(a)...)
			},
			Relations: ownedRelations(),
			Thing:     thingAt,
			Keeps:     schema.KeepsPaths("path"),
			Space:     atPath,
		},
		Handler: symlink{},
	}
}

func validTarget(attrs map[string]any) []diag.Problem {
	if target, _ := attrs["target"].(string); strings.IndexByte(target, 0) >= 0 {
		return []diag.Problem{{Attribute: "target",
			Message: "a target cannot have a zero byte in it", Hint: "leave it out"}}
	}
	return nil
}

// symlink is the handler of fs::Symlink.
type symlink struct{ sys *disk.System }

func (s symlink) system() *disk.System { return s.sys }

// Read implements provider.Handler.
func (s symlink) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	return provider.ReadOne(ctx, s, req)
}

// ReadBatch implements provider.BatchReader.
func (s symlink) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	return readAll(ctx, s, items)
}

// observe implements observer.
func (symlink) observe(
	rd *reader, _ *provider.Context, r provider.Resource, base string, want disk.Perm,
) (provider.Observation, error) {
	var st unix.Stat_t
	if err := rd.dir.Stat(base, &st); err != nil {
		return provider.Observation{}, err
	}
	if err := isLink(&st); err != nil {
		return provider.Observation{}, err
	}
	target, err := rd.dir.ReadLink(base, rd.buf)
	if err != nil {
		return provider.Observation{}, err
	}
	obs := provider.Observation{Exists: true, Attributes: map[string]any{"target": target}}
	rd.known.observe(obs.Attributes, r, want, &st, false)
	return obs, nil
}

func isLink(st *unix.Stat_t) error {
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return nil
	}
	return provider.Errorf(provider.NeedsChange,
		"the path holds %s, not a symbolic link; remove it, or describe it by another type",
		disk.KindOf(st))
}

// Create implements provider.Handler.
func (s symlink) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	return provider.CreateOne(ctx, s, req)
}

// Update implements provider.Handler.
func (s symlink) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	return provider.UpdateOne(ctx, s, req)
}

// Delete implements provider.Handler.
func (s symlink) Delete(
	ctx *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	return provider.DeleteOne(ctx, s, req)
}

// ApplyBatch implements provider.BatchApplier.
func (s symlink) ApplyBatch(ctx context.Context, items []provider.BatchChange) []provider.Applied {
	return carryOut(ctx, s, items)
}

// prepare implements stepper; a link needs no sync except that of its directory.
func (symlink) prepare(*task) error { return nil }

// publish implements stepper.
func (symlink) publish(t *task) error {
	var st unix.Stat_t
	err := t.Dir.Stat(t.Base, &st)
	missing := errors.Is(err, unix.ENOENT)
	if err == nil {
		err = isLink(&st)
	}
	if err != nil && !missing {
		return err
	}
	target := text(t.Resource, "target")
	full := t.want
	switch {
	case t.Change == diff.Purged:
		return t.Dir.Remove(t.Base)
	case missing && t.want == disk.Perm{UID: -1, GID: -1, Mode: t.want.Mode}:
		if err := t.Dir.SymLink(target, t.Base); !errors.Is(err, unix.EEXIST) {
			return err
		}
	case !missing && t.Change == diff.Updated && !t.differs("target"):
		return t.Dir.Own(t.Base, t.want, t.want)
	case !missing:
		full, _ = t.want.Keep(&st, t.Dir.Sys.UID())
	}
	if err := t.Dir.Tidy(t.Base); err != nil {
		return err
	}
	t.named = true
	if err := t.Dir.SymLink(target, disk.Leftover(t.Base)); err != nil {
		return err
	}
	if err := t.Dir.Own(disk.Leftover(t.Base), full, t.want); err != nil {
		return err
	}
	return t.Dir.Take(t.Base)
}
