package modtool

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
)

// DownloadOptions configure Download and DownloadAll.
type DownloadOptions struct {
	Dir     string // the target folder; "" is downloadpath of the project, or the working directory
	Install bool   // also install it in editable form
	Dev     bool   // allow development releases
}

// Download fetches a module, named with or without constraints, and restores the layout of its
// source tree: a folder of its name with model, files and templates, and its Python code under
// inmanta_plugins. It prefers a source distribution to a wheel of the same version, since it has
// more files (tests, a changelog). Download returns the folder, which must not exist yet.
func (t *Tool) Download(
	ctx context.Context, requirement string, o DownloadOptions,
) (string, error) {
	r, wrong, hint := metadata.ParseModule(requirement)
	if wrong != "" {
		return "", fault.New(fault.Usage, "download the module", "%s", wrong).WithHint("%s", hint)
	}
	meta := metadata.NoProject(t.Dir)
	if fileThere(meta.File) {
		var err error
		if meta, err = t.folder().open(); err != nil {
			return "", err
		}
		if o.Dir == "" {
			o.Dir = meta.Download()
		}
	}
	if o.Dir == "" {
		o.Dir = t.Dir
	}
	p := &pipTool{Tool: t, meta: meta}
	return p.download(ctx, r, o)
}

// DownloadAll downloads the sources of the modules V2 that the project imports: in the installed
// versions, or the best versions of missing modules. It skips modules whose sources exist, in the
// folder or in editable form. It returns the new folders.
func (t *Tool) DownloadAll(ctx context.Context, o DownloadOptions) ([]string, error) {
	meta, err := t.folder().open()
	if err != nil {
		return nil, err
	}
	s, err := t.folder().load(meta)
	if err != nil {
		return nil, err
	}
	if o.Dir == "" {
		o.Dir = meta.Download()
	}
	wanted := map[string]string{} // requirements by module; names has the order
	var names []string
	want := func(name, requirement string) {
		if !fileThere(filepath.Join(o.Dir, name)) {
			names, wanted[name] = append(names, name), requirement
		}
	}
	for _, m := range s.modules {
		if m.Generation == 2 && !m.Editable {
			want(m.Name, m.Name+" =="+m.Version().String())
		}
	}
	for _, name := range s.missing {
		want(name, name)
	}
	p := &pipTool{Tool: t, meta: meta}
	var out []string
	for _, name := range names {
		r, wrong, _ := metadata.ParseModule(wanted[name])
		if wrong != "" {
			return out, fault.New(fault.Internal, "download the module "+name, "%s", wrong)
		}
		dir, err := p.download(ctx, r, o)
		if err != nil {
			return out, err
		}
		out = append(out, dir)
	}
	return out, nil
}

func (p *pipTool) download(
	ctx context.Context, r metadata.Requirement, o DownloadOptions,
) (string, error) {
	into := filepath.Join(o.Dir, r.Module)
	doing := "download the module " + r.Module
	if _, err := os.Lstat(into); err == nil {
		return "", fault.New(fault.Conflict, doing, "%s is there already", into).
			WithHint("remove it, or name another folder with --directory")
	}
	f, body, err := p.fetchSource(ctx, r, o.Dev)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return "", fault.Wrap(fault.Unavailable, doing, err)
	}
	if err := tidy(o.Dir, ".new-"+r.Module+"-*"); err != nil {
		return "", err
	}
	temporary, err := os.MkdirTemp(o.Dir, ".new-"+r.Module+"-")
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, doing, err)
	}
	defer os.RemoveAll(temporary)
	if f.wheel {
		err = unpackWheel(temporary, f, r.Module, body)
	} else {
		err = unpackSource(temporary, f.name, body)
	}
	if err != nil {
		return "", err
	}
	if err := restore(temporary, f.name, r.Module); err != nil {
		return "", err
	}
	if err := os.Chmod(temporary, 0o755); err != nil { // the mode that git gives to folders
		return "", fault.Wrap(fault.Unavailable, doing, err)
	}
	if err := os.Rename(temporary, into); err != nil {
		return "", fault.Wrap(fault.Unavailable, doing, err)
	}
	p.Say("%s %s is in %s", r.Module, f.version, into)
	if o.Install {
		return into, p.InstallModule(ctx, into, true)
	}
	return into, nil
}

// fetchSource fetches the best version of a module that its requirement allows.
func (p *pipTool) fetchSource(
	ctx context.Context, r metadata.Requirement, dev bool,
) (file, []byte, error) {
	x := p.index()
	pkg := metadata.PackageOf(r.Module)
	wheels, err := x.files(ctx, pkg)
	if err != nil {
		return file{}, nil, err
	}
	files := slices.Concat(x.sources[pkg], wheels) // best takes the first file of a version
	f, ok := best(files, r.Set, dev || wantsPre(p.meta))
	if !ok {
		var versions []string
		for _, f := range files {
			versions = append(versions, f.version.String())
		}
		why := "no index has it"
		if len(versions) > 0 {
			why = "the index has " + strings.Join(versions, ", ")
		}
		return file{}, nil, fault.New(fault.NotFound, "download "+r.Requirement.String(), "%s",
			why).
			WithHint("see pip in project.yml, or PIP_INDEX_URL; --pre takes development " +
				"releases as well")
	}
	body, err := f.fetch(ctx)
	return f, body, err
}

// unpackWheel unpacks the files of a module from a wheel.
func unpackWheel(dir string, f file, name string, body []byte) error {
	w, err := openWheel(f, name, body)
	if err != nil {
		return err
	}
	for _, entry := range w.zip.File {
		below := strings.HasPrefix(entry.Name, module.PluginsPackage+"/")
		if entry.FileInfo().IsDir() || !below {
			continue
		}
		if err := unpackFile(filepath.Join(dir, entry.Name), entry); err != nil {
			return fault.Wrap(fault.Unavailable, "unpack "+f.name, err)
		}
	}
	return nil
}

// unpackSource unpacks a source distribution: the contents of its single top folder.
func unpackSource(dir, name string, body []byte) error {
	bad := func(why string) error { return fault.New(fault.Damaged, "unpack "+name, "%s", why) }
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return bad("it is not a source distribution: " + err.Error())
	}
	archive, size := tar.NewReader(z), int64(0)
	for count := 0; ; count++ {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return bad(err.Error())
		}
		if size += h.Size; size > maxUnpacked || count > maxFiles {
			return bad("it is too large")
		}
		_, path, below := strings.Cut(h.Name, "/")
		switch {
		case h.Typeflag == tar.TypeXGlobalHeader, h.Typeflag == tar.TypeDir:
			continue
		case !below || !filepath.IsLocal(path) || strings.Contains(path, `\`):
			return bad("it has a file that leads out of it: " + h.Name)
		case h.Typeflag != tar.TypeReg:
			return bad(h.Name + " is not a file")
		}
		if err := writeFile(filepath.Join(dir, path), archive); err != nil {
			return fault.Wrap(fault.Unavailable, "unpack "+name, err)
		}
	}
}

func writeFile(path string, r io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, io.LimitReader(r, maxUnpacked))
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// restore reverts the changes of a build to the folder of a module. It moves model, files,
// templates and setup.cfg out of the Python package, and removes the metadata of the build.
func restore(dir, name, of string) error {
	code := filepath.Join(dir, module.PluginsPackage, of)
	if !fileThere(code) {
		return fault.New(fault.Damaged, "unpack "+name, "it has no %s/%s, as modules have",
			module.PluginsPackage, of)
	}
	doing := "unpack " + name
	for _, part := range append([]string{metadata.FileV2}, moved...) {
		inside, place := filepath.Join(code, part), filepath.Join(dir, part)
		if !fileThere(inside) {
			continue
		}
		if err := os.RemoveAll(place); err != nil {
			return fault.Wrap(fault.Unavailable, doing, err)
		}
		if err := os.Rename(inside, place); err != nil {
			return fault.Wrap(fault.Unavailable, doing, err)
		}
	}
	left, err := matching(dir, "*.egg-info", "PKG-INFO")
	if err == nil {
		err = removeAll(left)
	}
	if err != nil {
		return fault.Wrap(fault.Unavailable, doing, err)
	}
	return writePyproject(dir)
}
