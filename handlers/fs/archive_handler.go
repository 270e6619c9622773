package fs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
	"southbound/shared/resource"
)

// maxDrifted is how many names are shown.
const maxDrifted = 20

// Read implements provider.Handler.
func (h archive) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	r := req.Resource
	if _, _, err := disk.Place(text(r, "path")); err != nil {
		return provider.Observation{}, err
	}
	if c := text(r, "creates"); c != "" && !r.Purged {
		if !path.IsAbs(c) {
			c = path.Join(text(r, "path"), c)
		}
		_, err := os.Lstat(c)
		if err == nil {
			return provider.Observation{Exists: true,
				Attributes: map[string]any{"source": r.Attributes["source"]}}, nil
		}
		if !disk.Gone(err) {
			return provider.Observation{}, disk.Explain("look for its created path", err)
		}
	}
	obs, err := h.observe(ctx, r)
	return obs, disk.Explain("read the files unpacked into "+text(r, "path"), err)
}

func (h archive) observe(ctx *provider.Context, r provider.Resource) (provider.Observation, error) {
	if dir, base, err := disk.Place(text(r, "path")); err == nil && !ctx.DryRun() {
		if err := h.tidyTarget(dir, base, manifestName(r)); err != nil {
			return provider.Observation{}, err
		}
	}
	t, err := h.openTree(ctx, r, text(r, "path"))
	if err != nil {
		return provider.Observation{}, disk.UnlessGone(err)
	}
	defer t.close()
	m, err := t.manifest()
	if err != nil || m == nil || text(r, "creates") != "" && !r.Purged {
		return provider.Observation{}, err
	}
	obs := provider.Observation{Exists: true, Attributes: map[string]any{}}
	if r.Purged {
		return obs, nil
	}
	same, err := m.isOf(ctx, r)
	if err != nil {
		return provider.Observation{}, err
	}
	strip, _ := r.Attributes["strip"].(int64)
	switch {
	case !m.Complete:
		obs.Attributes["source"] = "unfinished sha256:" + m.Source
		return obs, nil
	case !same || m.Strip != strip:
		obs.Attributes["source"] = "sha256:" + m.Source
		return obs, nil
	}
	obs.Attributes["source"] = r.Attributes["source"]
	drifted, err := t.drifted(m.Entries)
	if err != nil {
		return provider.Observation{}, err
	}
	var names []any
	for _, e := range m.Entries {
		if drifted[e.Name] && len(names) < maxDrifted {
			names = append(names, disk.Shown(e.Name))
		}
	}
	if names != nil {
		obs.Attributes["drifted"] = names
	}
	return obs, nil
}

// isOf reports whether the unpacked archive is the desired one. An archive with a URL is compared
// by its checksum.
func (m *manifest) isOf(ctx context.Context, r provider.Resource) (bool, error) {
	if isURL(text(r, "source")) {
		sum := text(r, "checksum")
		return sum == "sha256:"+m.Source || m.SHA512 != "" && sum == "sha512:"+m.SHA512, nil
	}
	want, err := hashOfSource(ctx, r)
	return m.Source == want, err
}

// hashOfSource returns the SHA-256 of the desired archive.
func hashOfSource(ctx context.Context, r provider.Resource) (string, error) {
	switch source := r.Attributes["source"].(type) {
	case resource.File:
		return source.Hash, nil
	case string:
		f, err := openSource(source)
		if err != nil {
			return "", err
		}
		defer f.Close()
		h := sha256.New()
		_, err = copyAll(ctx, h, f)
		return hex.EncodeToString(h.Sum(nil)), err
	}
	return "", provider.Errorf(provider.NeedsChange, "source is neither a path nor a file")
}

// Create implements provider.Handler.
func (h archive) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	err := h.apply(ctx, req.Resource)
	return provider.Result{}, disk.Explain("unpack into "+text(req.Resource, "path"), err)
}

// Update implements provider.Handler.
func (h archive) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	return h.Create(ctx, provider.CreateRequest{Resource: req.Resource})
}

func (h archive) apply(ctx *provider.Context, r provider.Resource) error {
	dir, base, err := disk.Place(text(r, "path"))
	if err != nil {
		return err
	}
	s, err := spool(ctx, r)
	if err != nil {
		return err
	}
	defer s.close()
	c, err := s.inspect(ctx, r) // the whole archive, before any change
	if err != nil {
		return err
	}
	if err := h.tidyTarget(dir, base, manifestName(r)); err != nil {
		return err
	}
	t, err := h.openTree(ctx, r, text(r, "path"))
	if disk.Gone(err) {
		if err := h.makeTarget(ctx, r, dir, base); err != nil {
			return err
		}
		t, err = h.openTree(ctx, r, text(r, "path"))
	}
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.folder.Writable(); err != nil {
		return err
	}
	old, err := t.manifest()
	if err != nil {
		return err
	}
	return t.bring(ctx, r, s, c, old)
}

// makeTarget makes the directory to unpack into. It appears together with the list, which records
// that.
func (h archive) makeTarget(ctx *provider.Context, r provider.Resource, dir, base string) error {
	d, err := disk.OpenFolder(h.sys, dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.MakeDir(disk.Leftover(base)); err != nil {
		return err
	}
	f, err := d.OpenDir(disk.Leftover(base))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Chmod(defaultDirMode); err != nil {
		return err
	}
	t, err := h.openTree(ctx, r, path.Join(dir, disk.Leftover(base)))
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.writeManifest(&manifest{Format: manifestFormat, Made: true}); err != nil {
		return err
	}
	if err := d.Rename(disk.Leftover(base), base); err != nil {
		return err
	}
	return d.Sync()
}

// tidyTarget removes the remains of a directory whose creation or removal crashed.
func (h archive) tidyTarget(dir, base, list string) error {
	d, err := disk.OpenFolder(h.sys, dir)
	if err != nil {
		return disk.UnlessGone(err)
	}
	defer d.Close()
	var st unix.Stat_t
	if err := d.Stat(disk.Leftover(base), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return disk.UnlessGone(err)
	}
	f, err := d.OpenDir(disk.Leftover(base))
	if err != nil {
		return disk.UnlessGone(err)
	}
	defer f.Close()
	within := &disk.Folder{Sys: h.sys, FD: f.FD}
	for _, name := range []string{disk.Leftover(list), list} {
		if err := within.Remove(name); err != nil {
			return err
		}
	}
	return d.RemoveDir(disk.Leftover(base))
}

// Delete implements provider.Handler: it removes the unpacked things. It also removes the directory
// if that was made for them and is empty then.
func (h archive) Delete(
	ctx *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	return provider.Result{},
		disk.Explain("remove the files unpacked into "+text(req.Resource, "path"),
			h.purge(ctx, req.Resource))
}

func (h archive) purge(ctx *provider.Context, r provider.Resource) error {
	dir, base, err := disk.Place(text(r, "path"))
	if err != nil {
		return err
	}
	r.Purged = true
	t, err := h.openTree(ctx, r, text(r, "path"))
	if err != nil {
		return disk.UnlessGone(err)
	}
	defer t.close()
	m, err := t.manifest()
	if err != nil || m == nil {
		return err
	}
	// After a crash within an update, the list has the names of both archives in no order.
	slices.SortStableFunc(m.Entries, func(a, b entry) int {
		return strings.Compare(a.Name, b.Name)
	})
	for _, e := range slices.Backward(m.Entries) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.take(e); err != nil {
			return err
		}
	}
	if err := t.remove(asideOf(t.list)); err != nil {
		return err
	}
	if m.Made {
		if names, err := fs.ReadDir(t.root.FS(), "."); err != nil || len(names) == 1 {
			return errors.Join(err, h.removeTarget(dir, base, t.list))
		}
	}
	if err := t.remove(t.list); err != nil {
		return err
	}
	return t.folder.Sync()
}

// removeTarget removes the directory that was made for an archive, with the list in it. After a
// crash, no directory with its name remains.
func (h archive) removeTarget(dir, base, list string) error {
	d, err := disk.OpenFolder(h.sys, dir)
	if err != nil {
		return disk.UnlessGone(err)
	}
	defer d.Close()
	if err := h.tidyTarget(dir, base, list); err != nil {
		return err
	}
	if err := d.Rename(base, disk.Leftover(base)); err != nil {
		return disk.UnlessGone(err)
	}
	if err := h.tidyTarget(dir, base, list); err != nil {
		return err
	}
	return d.Sync()
}
