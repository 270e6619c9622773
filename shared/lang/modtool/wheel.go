package modtool

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
)

// wheel is a downloaded wheel.
type wheel struct {
	file
	module   string
	zip      *zip.Reader
	requires []metadata.Requirement
	code     string // a file with Python code; "" if there is none
}

// maxFiles and maxUnpacked limit the files and the unpacked bytes of a wheel.
const (
	maxFiles    = 100000
	maxUnpacked = 1 << 30
)

// pure unpacks the required modules and links the modules own in editable form, all without pip. It
// returns false, and changes nothing, if pip is needed: for Python code or other packages, unless
// NoPython is set.
func (i *installer) pure(
	ctx context.Context, env string,
	own []*module.Module, needs, constraints []metadata.Requirement,
) (bool, error) {
	if i.meta.Pip.UseSystem && !i.o.NoPython {
		return false, nil
	}
	open := slices.Concat(needs, moduleNeeds(own...))
	chosen, pure, err := i.choose(ctx, own, open, slices.Concat(open, constraints))
	if err != nil || !pure {
		return false, err
	}
	names := make([]string, 0, len(chosen))
	for name := range chosen {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		w := chosen[name]
		if i.put[name] == w.name {
			continue // done in an earlier round
		}
		if err := w.unpack(env); err != nil {
			return false, err
		}
		i.put[name] = w.name
		i.Say("%s %s from %s", w.module, w.version, w.name)
	}
	for _, m := range own {
		if i.put[m.Name] == m.Dir {
			continue
		}
		if err := link(env, m, i.Say); err != nil {
			return false, err
		}
		i.put[m.Name] = m.Dir
	}
	return true, nil
}

// choose fetches the wheels of modules and of their requirements; false if pip is needed.
func (i *installer) choose(
	ctx context.Context, own []*module.Module, open, limits []metadata.Requirement,
) (map[string]*wheel, bool, error) {
	index, chosen := i.index(), map[string]*wheel{}
	isOwn := func(name string) bool {
		return slices.ContainsFunc(own, func(m *module.Module) bool { return m.Name == name })
	}
	for len(open) > 0 {
		r := open[0]
		open = open[1:]
		if r.Module == "" || r.URL != "" {
			if i.o.NoPython && r.URL == "" {
				continue
			}
			return nil, false, nil
		}
		if w := chosen[r.Module]; i.BuiltIn(r.Module) || isOwn(r.Module) ||
			w != nil && r.Set.Contains(w.version) {
			continue
		}
		w, err := i.fetch(ctx, index, r.Module, limits)
		if err != nil {
			return nil, false, err
		}
		if w.code != "" && !i.o.NoPython {
			return nil, false, nil
		}
		chosen[r.Module] = w
		limits, open = append(limits, w.requires...), append(open, w.requires...)
	}
	return chosen, true, nil
}

// fetch downloads the best wheel of a module that satisfies all requirements.
func (i *installer) fetch(
	ctx context.Context, x *index, name string, limits []metadata.Requirement,
) (*wheel, error) {
	files, err := x.files(ctx, metadata.PackageOf(name))
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(
		slices.Clone(limits),
		func(r metadata.Requirement) bool { return r.Module != name },
	)
	f, ok := best(files, metadata.Set(own), wantsPre(i.meta))
	if !ok {
		return nil, conflict(name, own, files)
	}
	body, err := f.fetch(ctx)
	if err != nil {
		return nil, err
	}
	return openWheel(f, name, body)
}

// fetch downloads a file, and verifies the hash that the index states.
func (f file) fetch(ctx context.Context) ([]byte, error) {
	body, _, found, err := get(ctx, f.url, "*/*", maxWheel)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fault.New(fault.NotFound, "fetch "+f.name,
			"the index names it and does not have it")
	}
	sum := sha256.Sum256(body)
	if got := hex.EncodeToString(sum[:]); f.sha256 != "" && !strings.EqualFold(got, f.sha256) {
		return nil, fault.New(fault.Damaged, "fetch "+f.name,
			"it differs from the index: its SHA-256 is %s, not %s", got, f.sha256)
	}
	return body, nil
}

// conflict returns the error for a module without an allowed version, with its requirements.
func conflict(name string, asked []metadata.Requirement, files []file) error {
	var versions []string
	for _, f := range files {
		versions = append(versions, f.version.String())
	}
	p := module.NewDemands(asked, nil).Conflict(name, versions)
	if len(files) == 0 {
		p = diag.Problem{
			Code:    metadata.CodeRequires,
			Message: "no index has a wheel of " + metadata.PackageOf(name),
			Hint:    "see pip in project.yml",
		}
		if len(asked) > 0 {
			p.Pos = asked[0].At
		}
	}
	return oneProblem(p)
}

// openWheel checks a wheel and reads its metadata.
func openWheel(f file, name string, body []byte) (*wheel, error) {
	bad := func(why string) error {
		return fault.New(fault.Damaged, "open "+f.name, "%s", why)
	}
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, bad("it is not a wheel: " + err.Error())
	}
	w := &wheel{file: f, module: name, zip: z}
	size := uint64(0)
	for _, entry := range z.File {
		size += entry.UncompressedSize64
		switch {
		case !filepath.IsLocal(entry.Name) || strings.Contains(entry.Name, `\`) ||
			entry.Mode()&os.ModeType&^os.ModeDir != 0:
			return nil, bad("it has a file that leads out of it: " + entry.Name)
		case size > maxUnpacked || len(z.File) > maxFiles:
			return nil, bad("it is too large")
		case strings.HasSuffix(entry.Name, ".py") && entry.UncompressedSize64 > 0,
			strings.HasSuffix(entry.Name, ".pyc"):
			w.code = entry.Name
		case strings.HasSuffix(entry.Name, ".dist-info/METADATA"):
			if err := w.metadata(entry); err != nil {
				return nil, err
			}
		}
	}
	return w, nil
}

// metadata reads the requirements of the package.
func (w *wheel) metadata(entry *zip.File) error {
	r, err := entry.Open()
	if err != nil {
		return fault.Wrap(fault.Damaged, "open "+w.name, err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, metadata.MaxText))
	if err != nil {
		return fault.Wrap(fault.Damaged, "open "+w.name, err)
	}
	head, _, _ := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n\n")
	for i, line := range strings.Split(head, "\n") {
		value, ok := strings.CutPrefix(line, "Requires-Dist:")
		if !ok {
			continue
		}
		req, err := metadata.ParsePackage(strings.TrimSpace(value))
		if err != nil {
			return fault.Wrap(fault.Damaged, "open "+w.name, err)
		}
		req.At = diag.Pos{File: w.name + "/METADATA", Line: i + 1}
		if req.Holds(module.MarkerEnvironment()) && pepCore(req.Name) {
			w.requires = append(w.requires, req)
		}
	}
	return nil
}

// pepCore reports whether a package is needed without Python: inmanta-core is not.
func pepCore(name string) bool { return name != library && name != "inmanta" }

// unpack installs a wheel into an environment: first into a temporary folder, its .dist-info last.
func (w *wheel) unpack(env string) error {
	site := module.Pure(env)
	doing := "unpack " + w.name
	temporary := filepath.Join(site, ".new-"+w.module)
	if err := os.RemoveAll(temporary); err != nil {
		return fault.Wrap(fault.Unavailable, doing, err)
	}
	defer os.RemoveAll(temporary)
	for _, entry := range w.zip.File {
		if entry.FileInfo().IsDir() {
			continue
		}
		if err := unpackFile(filepath.Join(temporary, entry.Name), entry); err != nil {
			return fault.Wrap(fault.Unavailable, doing, err)
		}
	}
	code := filepath.Join(module.PluginsPackage, w.module)
	if !fileThere(filepath.Join(temporary, code, metadata.FileV2)) {
		return fault.New(
			fault.Damaged,
			doing,
			"it has no %s/%s, so it is not the package of a module",
			code,
			metadata.FileV2,
		)
	}
	place := filepath.Join(site, code)
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return fault.Wrap(fault.Unavailable, doing, err)
	}
	if err := removePackage(site, w.module); err != nil {
		return fault.Wrap(fault.Unavailable, doing, err)
	}
	if err := os.Rename(filepath.Join(temporary, code), place); err != nil {
		return fault.Wrap(fault.Unavailable, doing, err)
	}
	infos, err := matching(temporary, "*.dist-info")
	if err != nil {
		return fault.Wrap(fault.Unavailable, doing, err)
	}
	for _, info := range infos {
		if err := os.Rename(info, filepath.Join(site, filepath.Base(info))); err != nil {
			return fault.Wrap(fault.Unavailable, doing, err)
		}
	}
	return nil
}

// removePackage removes a package. It first renames the code out of its place, as a whole.
func removePackage(site, name string) error {
	pattern := strings.ReplaceAll(metadata.PackageOf(name), "-", "?") + "-*.dist-info"
	infos, err := matching(site, pattern)
	if err == nil {
		err = removeAll(infos)
	}
	if err != nil {
		return err
	}
	place, aside := filepath.Join(
		site,
		module.PluginsPackage,
		name,
	), filepath.Join(site, ".old-"+name)
	if !fileThere(place) {
		return nil
	}
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	if err := os.Rename(place, aside); err != nil {
		return err
	}
	return os.RemoveAll(aside)
}

func unpackFile(path string, entry *zip.File) error {
	r, err := entry.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	return writeFile(path, r)
}
