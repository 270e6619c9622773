// Package bundle packs all files that a compile of a model reads into one file, stored by its
// digest. So orders are compiled with the exported model, whatever its folder contains by then.
//
//	bundle.go  bundles, and their unpacked folders
//	walk.go    the files of a folder that are packed
//	check.go   bundles from untrusted senders
//
// A bundle contains the main file, project.yml, the folders files and templates of the project, the
// lock file with its declarations of types, and the imported V1 modules. If a module has Python code, which may read any file, the bundle
// contains the whole project folder. Otherwise it never contains hidden files, compiled Python or the files
// in Skip. It also omits the virtual environment with its V2 modules, and the data folder of the
// project with generated passwords.
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

// Model describes the files to pack.
type Model struct {
	Main    string // the main file, in the folder of the project
	Modules []*module.Module
	Env     string   // the virtual environment for the compile; "" for none
	Skip    []string // files and folders that are not packed
	// Files are packed as well, also hidden ones: paths in the folder of the project, with slashes.
	Files []string
}

// Packed is a bundle.
type Packed struct {
	Digest string // SHA-256 of Data
	Data   []byte
	Files  int
}

// manifest describes the content of a bundle, and the folders that the model uses besides.
type manifest struct {
	Format int    `json:"format"`
	Main   string `json:"main"`
	// Env and Data are folders outside of the bundle; "" if there are none.
	Env  string `json:"environment,omitempty"`
	Data string `json:"data,omitempty"`
}

const (
	format = 1
	opPack = "pack the model"
)

// Pack packs a model. The same files give the same bundle. It fails with fault.Invalid if the model
// is too large.
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

// resolved returns the absolute path of name without symbolic links.
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

// pack writes the collected files.
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

// Opened is an unpacked bundle.
type Opened struct {
	Main   string   // the path to compile
	Beside []string // folders of modules
	Env    string   // the virtual environment; "" if there is none
}

const opUnpack = "unpack the model"

// Unpack writes a bundle to the folder dir, and returns the paths to compile. If dir holds all its
// files unchanged, Unpack writes nothing. The model keeps data between compiles in the data folder
// of its project. If that folder is not on this machine, it keeps them in data.
//
// Unpack replaces a damaged folder. A file that is missing, or empty after a power failure, would
// make the model smaller, and a deploy would then remove resources.
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

// Whole reports whether the folder dir has all files of a bundle unchanged. It may have other
// files, such as compiled Python.
func Whole(packed []byte, dir string) bool {
	info, err := os.Stat(filepath.Join(dir, projectDir, dataDir)) // follows the link
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

// open returns the paths to compile in an unpacked bundle.
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

// manifestOf parses a manifest.
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

// unpack writes a bundle to a folder.
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

// link creates the link to the data folder: that of the project if it exists, else fallback.
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

// Shown returns the path of a file of an unpacked model as its authors know it: relative to the
// project folder.
func (o *Opened) Shown(file string) string {
	for _, dir := range append([]string{filepath.Dir(o.Main)}, o.Beside...) {
		if rest, ok := strings.CutPrefix(file, dir+string(filepath.Separator)); ok {
			return filepath.ToSlash(rest)
		}
	}
	return file
}

// Text returns a text about an unpacked model with the paths that its authors know.
func (o *Opened) Text(text string) string {
	for _, dir := range append([]string{filepath.Dir(o.Main)}, o.Beside...) {
		text = strings.ReplaceAll(text, dir+string(filepath.Separator), "")
	}
	return text
}
