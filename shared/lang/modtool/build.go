package modtool

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
	"southbound/shared/lang/pep440"
)

// BuildOptions configure Build.
type BuildOptions struct {
	Output       string // the output folder; "" is dist in the folder of the module
	Dev          bool   // a development build, with the time in its version
	Wheel, Sdist bool   // neither: both
	Now          time.Time
}

// source is a module to be packed, with its files by their paths in the package.
type source struct {
	module  *module.Module
	version pep440.Version
	files   map[string][]byte // of inmanta_plugins/NAME
	own     map[string][]byte // further files of a source distribution
	setup   []byte
}

// moved are the folders of a module that its package holds next to the code.
var moved = []string{"model", "files", "templates"}

// Build builds a wheel and a source distribution of the module in a folder, and returns the files.
// A module V1 is packed as the module V2 into which Convert turns it. Build needs no Python.
func (t *Tool) Build(dir string, o BuildOptions) ([]string, error) {
	m, warnings, err := module.Open(dir)
	t.warn(warnings)
	if err != nil {
		return nil, err
	}
	if o.Output == "" {
		o.Output = filepath.Join(dir, "dist")
	}
	s, err := readSource(m, o)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Output, 0o755); err != nil {
		return nil, fault.Wrap(fault.Unavailable, "build the module", err)
	}
	var out []string
	write := func(name string, text []byte) error {
		out = append(out, filepath.Join(o.Output, name))
		return Replace(out[len(out)-1], text)
	}
	if o.Wheel || !o.Sdist {
		err = write(s.distribution()+"-py3-none-any.whl", s.wheel())
	}
	if err == nil && (o.Sdist || !o.Wheel) {
		err = write(s.distribution()+".tar.gz", s.sdist())
	}
	for _, name := range out {
		t.Say("%s", name)
	}
	return out, err
}

// distribution returns the prefix of the names of package files.
func (s *source) distribution() string {
	return strings.ReplaceAll(
		metadata.PackageOf(s.module.Name),
		"-",
		"_",
	) + "-" + s.version.String()
}

func readSource(m *module.Module, o BuildOptions) (*source, error) {
	s := &source{
		module:  m,
		version: m.Version(),
		files:   map[string][]byte{},
		own:     map[string][]byte{},
	}
	setup, err := s.readSetup()
	if err != nil {
		return nil, err
	}
	if o.Dev {
		if o.Now.IsZero() {
			o.Now = time.Now()
		}
		tag := "dev" + o.Now.UTC().Format("20060102150405")
		if s.version, err = pep440.Parse(m.Version().Base().String() + "." + tag); err != nil {
			return nil, err
		}
		setup = setOption(setOption(setup, "egg_info", "tag_build", "."+tag), "metadata", "version",
			m.Version().Base().String())
	}
	s.setup = setup
	for _, name := range moved {
		if _, err := os.Stat(filepath.Join(m.Code, name)); err == nil {
			return nil, fault.New(fault.Invalid, "build the module",
				"there is a folder %s in %s, which is where %s of the module comes to be in "+
					"the package", name, m.Code, name).
				WithHint("give the Python package %s another name", name)
		}
		if err := s.add(filepath.Join(m.Dir, name), name); err != nil {
			return nil, err
		}
	}
	if err := s.add(m.Code, ""); err != nil {
		return nil, err
	}
	if s.files["__init__.py"] == nil {
		s.files["__init__.py"] = []byte{}
	}
	s.files[metadata.FileV2] = setup
	s.own[metadata.FileV2] = setup
	s.own["MANIFEST.in"] = []byte(
		"graft " + module.PluginsPackage + "/" + m.Name + "\nglobal-exclude *.pyc\n",
	)
	for _, name := range []string{"README.md", "LICENSE", changelogFile} {
		if text, err := os.ReadFile(filepath.Join(m.Dir, name)); err == nil {
			s.own[name] = text
		}
	}
	if s.own[pyprojectFile], err = pyprojectOf(m.Dir); err != nil {
		return nil, err
	}
	return s, nil
}

// readSetup returns the setup.cfg of the module; for a module V1 the one that Convert would write.
func (s *source) readSetup() ([]byte, error) {
	file := filepath.Join(s.module.Dir, metadata.FileV2)
	if s.module.Generation == 2 {
		setup, err := os.ReadFile(file)
		return setup, fault.Wrap(fault.Unavailable, "build the module", err)
	}
	setup, err := setupOf(s.module)
	if err != nil {
		return nil, err
	}
	converted := *s.module
	if converted.Meta, _, err = metadata.ReadModuleV2(file, setup); err != nil {
		return nil, err
	}
	s.module = &converted
	return setup, nil
}

// add reads the files of a folder into a folder of the package.
func (s *source) add(dir, into string) error {
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := d.Name() == "__pycache__" || strings.HasSuffix(d.Name(), ".egg-info") ||
			d.Name() == ".git"
		if d.IsDir() && hidden && at != dir {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(at) == ".pyc" {
			return nil
		}
		text, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, at)
		if err == nil {
			s.files[path.Join(into, filepath.ToSlash(name))] = text
		}
		return err
	})
	if os.IsNotExist(err) {
		return nil
	}
	return fault.Wrap(fault.Unavailable, "build the module", err)
}

func sorted(files map[string][]byte) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// epoch is the time of all files in packages, so that equal files give equal packages.
var epoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// wheel returns the wheel.
func (s *source) wheel() []byte {
	var b, record bytes.Buffer
	z := zip.NewWriter(&b)
	write := func(name string, text []byte) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: epoch}
		h.SetMode(0o644)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, _ = w.Write(text) // a write to a bytes.Buffer cannot fail
		}
		sum := sha256.Sum256(text)
		fmt.Fprintf(
			&record,
			"%s,sha256=%s,%d\n",
			name,
			base64.RawURLEncoding.EncodeToString(sum[:]),
			len(text),
		)
	}
	in := module.PluginsPackage + "/" + s.module.Name + "/"
	for _, name := range sorted(s.files) {
		write(in+name, s.files[name])
	}
	info := s.distribution() + ".dist-info/"
	write(info+"METADATA", s.metadata())
	write(
		info+"WHEEL",
		[]byte(
			"Wheel-Version: 1.0\nGenerator: southbound\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		),
	)
	write(info+"top_level.txt", []byte(module.PluginsPackage+"\n"))
	record.WriteString(info + "RECORD,,\n")
	write(info+"RECORD", record.Bytes())
	_ = z.Close() // a write to a bytes.Buffer cannot fail
	return b.Bytes()
}

// metadata returns the METADATA file of the package.
func (s *source) metadata() []byte {
	var b bytes.Buffer
	meta := s.module.Meta
	fmt.Fprintf(
		&b,
		"Metadata-Version: 2.1\nName: %s\nVersion: %s\n",
		metadata.PackageOf(s.module.Name),
		s.version,
	)
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(strings.Fields(text), " "))
		}
	}
	line("Summary", meta.Description)
	line("License", meta.License)
	for _, r := range meta.Requires {
		line("Requires-Dist", r.Requirement.String())
	}
	sections, _ := metadata.ReadSections(metadata.FileV2, s.setup) // it was parsed before
	var extras []string
	for name := range sections["options.extras_require"] {
		extras = append(extras, name)
	}
	slices.Sort(extras)
	for _, name := range extras {
		line("Provides-Extra", name)
		for _, text := range strings.Split(sections["options.extras_require"][name].Value, "\n") {
			if r, err := metadata.ParsePackage(text); err == nil {
				marker := fmt.Sprintf("extra == %q", name)
				if r.Marker != nil {
					marker = "(" + r.Marker.String() + ") and " + marker
				}
				r.Marker = nil
				line("Requires-Dist", r.Requirement.String()+" ; "+marker)
			}
		}
	}
	if text := s.own["README.md"]; text != nil {
		b.WriteString("Description-Content-Type: text/markdown\n\n")
		b.Write(text)
	}
	return b.Bytes()
}

// sdist returns the source distribution.
func (s *source) sdist() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	write := func(name string, text []byte) {
		h := &tar.Header{
			Name: s.distribution() + "/" + name, Mode: 0o644, Size: int64(len(text)),
			ModTime:  epoch,
			Typeflag: tar.TypeReg, Format: tar.FormatPAX,
		}
		if err := t.WriteHeader(h); err == nil {
			_, _ = t.Write(text) // a write to a bytes.Buffer cannot fail
		}
	}
	write("PKG-INFO", s.metadata())
	for _, name := range sorted(s.own) {
		write(name, s.own[name])
	}
	for _, name := range sorted(s.files) {
		write(module.PluginsPackage+"/"+s.module.Name+"/"+name, s.files[name])
	}
	_, _ = t.Close(), z.Close() // a write to a bytes.Buffer cannot fail
	return b.Bytes()
}
