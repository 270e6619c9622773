package fs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Directory declares fs::Directory.
func Directory() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Name:        "fs::Directory",
			Description: "A directory: its owner, group and mode, and, when asked, that nothing else is in it.",
			Attributes: append([]schema.Attribute{
				pathAttribute(),
				modeAttribute(),
				{Name: "recurse_purge", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
					Description: "removes everything in it whose name is not in keep, and everything when it is purged"},
				{Name: "keep", Type: "Optional[Array[String[1]]]", Behaviour: schema.Parameter, Description: "names that recurse_purge leaves alone"},
				{Name: "surplus", Type: "Optional[Array[String]]", Behaviour: schema.ReadOnly, Description: "names in it that recurse_purge would remove"},
			}, ownerAttributes()...),
			Validate:  cleanPath,
			Relations: parentRelation,
		},
		Handler: directory{},
	}
}

type directory struct{}

// Read implements provider.Handler.
func (directory) Read(_ *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	r := req.Resource
	path := textOf(r, "path")
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
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return provider.Observation{}, provider.Errorf(provider.NeedsChange, "there is something at %s that is not a directory; remove it, or describe it as what it is", path)
	}
	obs := provider.Observation{Exists: true, Attributes: map[string]any{}}
	observe(obs.Attributes, r, w, st.Uid, st.Gid, st.Mode)
	surplus, err := surplusOf(r)
	if len(surplus) > 0 {
		obs.Attributes["surplus"] = surplus
	}
	return obs, explain("read "+path, err)
}

// Diff implements provider.Differ: what is in it too much differs, too.
func (directory) Diff(_ *provider.Context, desired provider.Resource, observed provider.Observation) (map[string]provider.Difference, error) {
	out := map[string]provider.Difference{}
	for _, name := range []string{"owner", "group", "mode"} {
		if want := desired.Attributes[name]; want != nil && want != observed.Attributes[name] {
			out[name] = provider.Difference{Current: observed.Attributes[name], Desired: want}
		}
	}
	if s := observed.Attributes["surplus"]; s != nil {
		out["surplus"] = provider.Difference{Current: s, Desired: nil}
	}
	return out, nil
}

func surplusOf(r provider.Resource) ([]any, error) {
	if purge, _ := r.Attributes["recurse_purge"].(bool); !purge || r.Purged {
		return nil, nil
	}
	keep, _ := r.Attributes["keep"].([]any)
	entries, err := os.ReadDir(textOf(r, "path"))
	if err != nil {
		return nil, err
	}
	var out []any
	for _, e := range entries {
		if !slices.Contains(keep, any(e.Name())) {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// Create implements provider.Handler.
func (directory) Create(_ *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	path := textOf(req.Resource, "path")
	if err := unix.Mkdir(path, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return provider.Result{}, explain("make "+path, err)
	}
	if err := setDir(path, req.Resource, 0o755); err != nil {
		return provider.Result{}, err
	}
	return provider.Result{}, explain("sync "+filepath.Dir(path), syncDir(filepath.Dir(path)))
}

// Update implements provider.Handler.
func (directory) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	path := textOf(req.Resource, "path")
	if err := setDir(path, req.Resource, -1); err != nil {
		return provider.Result{}, err
	}
	surplus, err := surplusOf(req.Resource)
	if err != nil {
		return provider.Result{}, explain("read "+path, err)
	}
	for _, name := range surplus {
		s, _ := name.(string)
		ctx.Info("removing what is not kept", "path", filepath.Join(path, s))
		if err := os.RemoveAll(filepath.Join(path, s)); err != nil {
			return provider.Result{}, explain("remove "+filepath.Join(path, s), err)
		}
	}
	return provider.Result{}, nil
}

func setDir(path string, r provider.Resource, usual int) error {
	w, err := wantedOf(r)
	if err != nil {
		return err
	}
	if w.mode < 0 {
		w.mode = usual
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return explain("open "+path, err)
	}
	defer unix.Close(fd)
	return explain("change "+path, w.set(fd))
}

// Delete implements provider.Handler: a directory that is not empty is only removed with recurse_purge.
func (directory) Delete(_ *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	path := textOf(req.Resource, "path")
	if all, _ := req.Resource.Attributes["recurse_purge"].(bool); all {
		return provider.Result{}, explain("remove "+path, os.RemoveAll(path))
	}
	if err := unix.Rmdir(path); err != nil && !errors.Is(err, unix.ENOENT) {
		return provider.Result{}, explain("remove "+path, err)
	}
	return provider.Result{}, explain("sync "+filepath.Dir(path), syncDir(filepath.Dir(path)))
}
