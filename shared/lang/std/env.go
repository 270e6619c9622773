package std

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/jinja"
	"southbound/shared/lang/types"
)

// Env holds the project data that the plugins of std need. It is the Env of the eval.Program.
type Env struct {
	Dir string // folder of the project
	// Modules maps the names of modules to their folders.
	Modules map[string]string
	// Environment is the name of the environment that the model is compiled for; "" if there is
	// none.
	Environment string
	// Fact returns a fact of the resource that an instance becomes, and whether the fact is known.
	// If Fact is nil, no facts are known.
	Fact func(of types.Object, name string) (types.Value, bool, error)
	// Later returns a reference to a fact, which is resolved when the resource is deployed. It
	// returns false if the instance has no such reference. It may be nil.
	Later func(of types.Object, name string) (types.Reference, bool)
	// Services holds the service instances for the module lsm (lsm.Services); nil if there are
	// none.
	Services any
	// Ordered reports that the model is compiled for instances of services. Texts in the model may
	// then come from orders, so plugins only accept names of secrets that the model itself writes
	// or lists; see SecretName.
	Ordered bool
	// Holder names the attribute of an ordered instance that has a text or a part of it, for
	// messages. It returns "" if there is none. It may be nil.
	Holder func(text string) string
	// Passwords stores generated passwords. If it is nil, a file in the folder of the project
	// stores them.
	Passwords Passwords
	// Read receives the value of each environment variable that the model reads, which may be a
	// secret. It may be nil.
	Read func(value string)

	templates *jinja.Environment
}

// Passwords stores passwords by name. Stored passwords never change.
type Passwords interface {
	// Password returns the password with this name; "" if there is none.
	Password(ctx context.Context, name string) (string, error)
	// Make stores a password, unless the name has one, and returns the stored password.
	Make(ctx context.Context, name, password string) (string, error)
}

//go:embed templates
var ownTemplates embed.FS

// NewEnv returns the Env of the project in a folder.
func NewEnv(dir string, modules map[string]string) *Env {
	e := &Env{Dir: dir, Modules: modules}
	e.templates = &jinja.Environment{Load: e.template, Missing: e.missing}
	return e
}

// maxFile is the largest size in bytes of a file that a model can read.
const maxFile = 64 << 20

// template reads a template: module/path, or /path for a template of the project.
func (e *Env) template(name string) (string, error) {
	module, rest, _ := strings.Cut(name, "/")
	if dir := e.folder(module); dir != "" && filepath.IsLocal(rest) {
		path := filepath.Join(dir, "templates", rest)
		if err := e.inside(module, path); err != nil {
			return "", err
		}
		text, err := read(path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || module != "std" {
			return text, err
		}
	}
	if module == "std" && filepath.IsLocal(rest) {
		text, err := ownTemplates.ReadFile("templates/" + rest)
		return string(text), err
	}
	return "", fs.ErrNotExist
}

// missing returns the reason why a template does not exist. The caller has resolved a leading ./ in
// the name.
func (e *Env) missing(name string) string {
	module, rest, ok := strings.Cut(name, "/")
	dir := e.folder(module)
	switch {
	case !ok:
		return "the path of a template begins with the name of a module, with ./ for the module " +
			"that calls, or with / for the project: module/" + name
	case module == ".":
		return "in templates, a path begins with the name of a module, or with / for the project"
	case dir == "" && module == "":
		return "there is no project with a folder templates"
	case dir == "":
		near := eval.DidYouMean(module, slices.Sorted(maps.Keys(e.Modules)))
		return strings.TrimSuffix("there is no module "+module+" here; "+near, "; ")
	case !filepath.IsLocal(rest):
		return "the path leads out of the folder templates"
	}
	path := filepath.Join(dir, "templates", rest)
	if of, err := filepath.Rel(e.Dir, path); err == nil && filepath.IsLocal(of) {
		path = of
	}
	return "there is no file " + path
}

// folder returns the folder of a module; the folder of the project for "".
func (e *Env) folder(module string) string {
	if module == "" {
		return e.Dir
	}
	return e.Modules[module]
}

func read(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return "", fmt.Errorf("%s is not a file of at most %d bytes", path, maxFile)
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// of returns the Env of a call; an empty one if the program has none.
func of(c *eval.Context) *Env {
	if e, ok := c.Env.(*Env); ok {
		return e
	}
	return NewEnv("", nil)
}

// own replaces a leading ./ in a path with the name of the calling module.
func (e *Env) own(c *eval.Context, path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "./")
	if !ok {
		return path, nil
	}
	module, _, _ := strings.Cut(c.Namespace, "::")
	if e.Modules[module] == "" {
		return "", fmt.Errorf("%q begins with ./, which is the folder of a module; "+
			"this is not in a module: write the name of one before the path", path)
	}
	return module + "/" + rest, nil
}

// File returns the absolute path of a file that a call names like std::file. It returns an error if
// the file does not exist, or if a link leads out of the folder files of the module.
func File(c *eval.Context, path string) (string, error) {
	e := of(c)
	full, err := e.file(c, path)
	if err != nil {
		return "", err
	}
	module, _, _ := strings.Cut(path, "/")
	if module == "." {
		module, _, _ = strings.Cut(c.Namespace, "::")
	}
	folder, err := filepath.EvalSymlinks(filepath.Join(e.folder(module), "files"))
	if err != nil {
		return "", fmt.Errorf("there is no folder files for the path %q", path)
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return "", err
	}
	file, err := filepath.EvalSymlinks(full)
	if err != nil {
		return "", fmt.Errorf("there is no file %s", full)
	}
	if rel, err := filepath.Rel(folder, file); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("the file %s is a link that leads out of %s", full, folder)
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a file that can be read", full)
	}
	return file, nil
}

// file returns the absolute path of a file in the folder files of a module.
func (e *Env) file(c *eval.Context, path string) (string, error) {
	full, err := e.own(c, path)
	if err != nil {
		return "", err
	}
	module, rest, _ := strings.Cut(full, "/")
	dir := e.folder(module)
	switch {
	case dir == "":
		return "", fmt.Errorf("there is no module %s for the path %q", module, path)
	case rest != "" && !filepath.IsLocal(rest):
		return "", fmt.Errorf("the path %q leads out of the module %s", path, module)
	}
	path, err = filepath.Abs(filepath.Join(dir, "files", rest))
	if err == nil {
		err = e.inside(module, path)
	}
	return path, err
}

// inside rejects a path in a module if links lead out of the module, because a module must not read
// other files of the machine. Paths of the project itself are not checked, since the author of the
// project controls them.
func (e *Env) inside(module, path string) error {
	if module == "" {
		return nil
	}
	dir, err := filepath.EvalSymlinks(e.folder(module)) // the folder of the module may be a link
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return err
	}
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) { // the caller reports the missing file
		return nil
	}
	if err == nil {
		target, err = filepath.Abs(target)
	}
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(dir, target); err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("%s is a link that leads out of the module %s: put the file into the "+
			"module", path, module)
	}
	return nil
}
