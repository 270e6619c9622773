package fs

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Symlink declares fs::Symlink.
func Symlink() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Name:        "fs::Symlink",
			Description: "A symbolic link. What it points to need not exist.",
			Attributes: append([]schema.Attribute{
				pathAttribute(),
				{Name: "target", Type: "String[1]", Description: "what it points to"},
			}, ownerAttributes()...),
			Validate:  cleanPath,
			Relations: parentRelation,
		},
		Handler: symlink{},
	}
}

type symlink struct{}

// Read implements provider.Handler.
func (symlink) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	r := req.Resource
	path := textOf(r, "path")
	if !ctx.DryRun() {
		_ = unix.Unlink(leftover(path))
	}
	w, err := wantedOf(r)
	if err != nil {
		return provider.Observation{}, err
	}
	var st unix.Stat_t
	err = unix.Lstat(path, &st)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return provider.Observation{}, nil
	case err != nil:
		return provider.Observation{}, explain("read "+path, err)
	case st.Mode&unix.S_IFMT != unix.S_IFLNK:
		return provider.Observation{}, provider.Errorf(provider.NeedsChange, "there is something at %s that is not a symbolic link; remove it, or describe it as what it is", path)
	}
	target, err := os.Readlink(path)
	obs := provider.Observation{Exists: true, Attributes: map[string]any{"target": target}}
	observe(obs.Attributes, r, w, st.Uid, st.Gid, st.Mode)
	return obs, explain("read "+path, err)
}

// Create implements provider.Handler.
func (symlink) Create(_ *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	return provider.Result{}, link(req.Resource)
}

// Update implements provider.Handler.
func (symlink) Update(_ *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	return provider.Result{}, link(req.Resource)
}

// link makes the link under its hidden name and renames it into place, so that there is one at every instant.
func link(r provider.Resource) error {
	path := textOf(r, "path")
	w, err := wantedOf(r)
	if err != nil {
		return err
	}
	tmp := leftover(path)
	_ = unix.Unlink(tmp)
	if err := unix.Symlink(textOf(r, "target"), tmp); err != nil {
		return explain("link "+path, err)
	}
	if w.uid >= 0 || w.gid >= 0 {
		if err := unix.Lchown(tmp, w.uid, w.gid); err != nil {
			_ = unix.Unlink(tmp)
			return explain("link "+path, err)
		}
	}
	if err := rename(tmp, path); err != nil {
		return err
	}
	return explain("sync "+filepath.Dir(path), syncDir(filepath.Dir(path)))
}

// Delete implements provider.Handler.
func (symlink) Delete(_ *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	path := textOf(req.Resource, "path")
	if err := unix.Unlink(path); err != nil && !errors.Is(err, unix.ENOENT) {
		return provider.Result{}, explain("remove "+path, err)
	}
	return provider.Result{}, explain("sync "+filepath.Dir(path), syncDir(filepath.Dir(path)))
}
