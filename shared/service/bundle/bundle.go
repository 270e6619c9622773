// Package bundle packs all that a compile of a model reads into one file, which is stored by its
// digest, so that what customers order is compiled with the model that was exported, and not with
// what its folder holds by then.
//
//	bundle.go  what is packed, and how it is found again
//	walk.go    which files of a folder travel
//	check.go   what somebody has sent
//
// What travels: the main file, project.yml, the folders files and templates of the project, and the
// modules V1 that are imported. If one of the modules has Python code, which may read anything, the
// whole folder of the project travels. Hidden files, compiled Python and what Skip names never do.
// What stays where it is: the virtual environment, with the modules V2 in it, and the folder data
// of the project, in which generated passwords are.
package bundle

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/lang/module"
)

// Bounds of a bundle.
const (
	MaxBytes = 64 << 20
	MaxFiles = 10000
)

// Names in a bundle.
const (
	manifestFile = "bundle.json"
	projectDir   = "project"
	modulesDir   = "modules"
	dataDir      = "data"
)

// Model is what is packed.
type Model struct {
	Main    string // the main file, in the folder of the project
	Modules []*module.Module
	Env     string   // the virtual environment that it is compiled with; "" for none
	Skip    []string // files and folders that stay
}

// Packed is a bundle.
type Packed struct {
	Digest string // SHA-256 of Data
	Data   []byte
	Files  int
}

// manifest says what is in a bundle, and what the model has besides.
type manifest struct {
	Format int    `json:"format"`
	Main   string `json:"main"`
	// Env and Data are folders that did not travel; "" if there are none.
	Env  string `json:"environment,omitempty"`
	Data string `json:"data,omitempty"`
}

const (
	format = 1
	opPack = "pack the model"
)

// Pack packs a model. The same files give the same bundle. Invalid is the error for a model that is
// too large.
func Pack(m Model) (*Packed, error) {
	dir, err := resolved(filepath.Dir(m.Main))
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, opPack, err)
	}
	says := manifest{Format: format, Main: filepath.Base(m.Main)}
	if says.Env, err = absolute(m.Env); err != nil {
		return nil, fault.Wrap(fault.Invalid, opPack, err)
	}
	if info, err := os.Stat(filepath.Join(dir, dataDir)); err == nil && info.IsDir() {
		says.Data = filepath.Join(dir, dataDir)
	}
	w := &walker{files: map[string]string{}}
	for _, s := range append([]string{filepath.Join(dir, dataDir), says.Env}, m.Skip...) {
		if s, err := resolved(s); err == nil {
			w.skip = append(w.skip, s)
		}
	}
	if err := w.project(m, dir); err != nil {
		return nil, err
	}
	for _, one := range m.Modules {
		if err := w.module(one, dir); err != nil {
			return nil, err
		}
	}
	return w.pack(says)
}

// resolved returns where a path is, without links.
func resolved(name string) (string, error) {
	if name == "" {
		return "", fs.ErrNotExist
	}
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(name)
}

func absolute(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	return filepath.Abs(name)
}

// pack writes the files that were found.
func (w *walker) pack(says manifest) (*Packed, error) {
	var out bytes.Buffer
	t := tar.NewWriter(&out)
	head, err := json.Marshal(says)
	if err == nil {
		err = put(t, manifestFile, head)
	}
	for _, name := range w.names() {
		var text []byte
		if text, err = os.ReadFile(w.files[name]); err != nil {
			break
		}
		if err = put(t, name, text); err != nil {
			break
		}
		if out.Len() > MaxBytes {
			return nil, tooLarge("more than %d MiB", MaxBytes>>20)
		}
	}
	if e := t.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, opPack, err)
	}
	sum := sha256.Sum256(out.Bytes())
	return &Packed{
		Digest: hex.EncodeToString(sum[:]), Data: out.Bytes(), Files: len(w.files),
	}, nil
}

func put(t *tar.Writer, name string, text []byte) error {
	const readable = 0o644
	h := tar.Header{
		Name: name, Mode: readable, Size: int64(len(text)), Typeflag: tar.TypeReg,
		Format: tar.FormatPAX,
	}
	if err := t.WriteHeader(&h); err != nil {
		return err
	}
	_, err := t.Write(text)
	return err
}

func tooLarge(what string, args ...any) error {
	return fault.New(fault.Invalid, opPack, "the folder of the model has "+what, args...).
		WithHint("keep the model in a folder of its own")
}

// Opened is a bundle that was unpacked.
type Opened struct {
	Main   string   // the path to compile
	Beside []string // folders of modules
	Env    string   // the virtual environment; "" if there is none
}

const opUnpack = "unpack the model"

// Unpack writes a bundle to the folder dir, unless it is there with all its files as they were, and
// returns what to compile. What the model keeps between compiles is in data, unless its project has
// a folder for that on this machine. What is not whole is replaced: a file that is missing, or
// empty after the machine has lost its power, would have the model say less than it does, and so
// remove what is deployed.
func Unpack(packed []byte, dir, data string) (Opened, error) {
	if Whole(packed, dir) {
		return open(dir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return Opened{}, fault.Wrap(fault.Unavailable, opUnpack, err)
	}
	temporary, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	if err != nil {
		return Opened{}, fault.Wrap(fault.Unavailable, opUnpack, err)
	}
	defer os.RemoveAll(temporary)
	if err := unpack(packed, temporary, data); err != nil {
		return Opened{}, err
	}
	err = os.RemoveAll(dir)
	if err == nil {
		err = os.Rename(temporary, dir)
	}
	if err != nil {
		return Opened{}, fault.Wrap(fault.Unavailable, opUnpack, err)
	}
	return open(dir)
}

// Whole reports whether the folder dir has all files of a bundle as they were. It may have others:
// what was compiled of Python.
func Whole(packed []byte, dir string) bool {
	info, err := os.Stat(filepath.Join(dir, projectDir, dataDir)) // where the link leads
	if err != nil || !info.IsDir() {
		return false
	}
	err = each(packed, func(name string, text []byte) error {
		is, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil && !bytes.Equal(is, text) {
			err = fs.ErrInvalid
		}
		return err
	})
	return err == nil
}

// open returns what to compile of a bundle that was unpacked.
func open(dir string) (Opened, error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return Opened{}, fault.Wrap(fault.Unavailable, opUnpack, err)
	}
	says, err := manifestOf(text)
	if err != nil {
		return Opened{}, err
	}
	return Opened{
		Main:   filepath.Join(dir, projectDir, says.Main),
		Beside: []string{filepath.Join(dir, modulesDir)}, Env: says.Env,
	}, nil
}

// manifestOf reads a manifest.
func manifestOf(text []byte) (manifest, error) {
	var says manifest
	if err := json.Unmarshal(text, &says); err != nil || says.Format != format {
		return says, fault.New(fault.Damaged, opUnpack,
			"the stored model is not one of this program").
			WithHint("export the services again")
	}
	return says, nil
}

// each calls f for each file of a bundle.
func each(packed []byte, f func(name string, text []byte) error) error {
	in := tar.NewReader(bytes.NewReader(packed))
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || h.Typeflag != tar.TypeReg {
			return fault.New(fault.Damaged, opUnpack, "the stored model is not one: %v", err).
				WithHint("export the services again")
		}
		text, err := io.ReadAll(in)
		if err == nil {
			err = f(h.Name, text)
		}
		if err != nil {
			return fault.Wrap(fault.Unavailable, opUnpack, err)
		}
	}
}

// unpack writes a bundle below a folder.
func unpack(packed []byte, dir, data string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fault.Wrap(fault.Unavailable, opUnpack, err)
	}
	defer root.Close()
	var head []byte
	if err := each(packed, func(name string, text []byte) error {
		if name == manifestFile {
			head = text
		}
		return write(root, name, text)
	}); err != nil {
		return err
	}
	says, err := manifestOf(head)
	if err != nil {
		return err
	}
	return fault.Wrap(fault.Unavailable, opUnpack, link(dir, says.Data, data))
}

func write(root *os.Root, name string, text []byte) error {
	if folder := path.Dir(name); folder != "." {
		if err := root.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	return root.WriteFile(name, text, 0o600)
}

// link gives a model the folder in which it keeps data: that of its project, where this is.
func link(dir, own, fallback string) error {
	if info, err := os.Stat(own); own == "" || err != nil || !info.IsDir() {
		own = fallback
		if err := os.MkdirAll(own, 0o700); err != nil {
			return err
		}
	}
	own, err := filepath.Abs(own)
	if err != nil {
		return err
	}
	return os.Symlink(own, filepath.Join(dir, projectDir, dataDir))
}

// Shown returns the path of a file of an unpacked model as its authors know it: from the folder of
// the project.
func (o *Opened) Shown(file string) string {
	for _, dir := range append([]string{filepath.Dir(o.Main)}, o.Beside...) {
		if rest, ok := strings.CutPrefix(file, dir+string(filepath.Separator)); ok {
			return filepath.ToSlash(rest)
		}
	}
	return file
}

// Text returns a text about an unpacked model with the paths of its files as their authors know
// them.
func (o *Opened) Text(text string) string {
	for _, dir := range append([]string{filepath.Dir(o.Main)}, o.Beside...) {
		text = strings.ReplaceAll(text, dir+string(filepath.Separator), "")
	}
	return text
}
