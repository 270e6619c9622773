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

// Env is what the plugins of std need to know of the project: it is the Env of its eval.Program.
type Env struct {
	Dir string // of the project
	// Modules are the folders of modules, by their names.
	Modules map[string]string
	// Environment is the name of the environment that the model is compiled for; "" if it is for
	// none.
	Environment string
	// Fact returns a fact of the resource that an instance becomes, and whether it is known. It may
	// be nil: then no facts are known.
	Fact func(of types.Object, name string) (types.Value, bool, error)
	// Later returns what stands for a fact until the resource is deployed, and whether there is
	// such a thing for the instance. It may be nil.
	Later func(of types.Object, name string) (types.Reference, bool)
	// Services is what the module lsm knows of instances of services (lsm.Services); nil for none.
	Services any
	// Ordered says that the model is compiled for instances of services, so that texts in it come
	// from orders. They name secrets only within the lists of the model; see SecretName.
	Ordered bool
	// Holder returns the attribute of an ordered instance that holds a text, for messages; "" if
	// none does. It may be nil.
	Holder func(text string) string
	// Passwords keeps the passwords that are made; nil: a file in the folder of the project does.
	Passwords Passwords

	templates *jinja.Environment
}

// Passwords keeps passwords by their names. They never change.
type Passwords interface {
	// Password returns the password of a name; "" if there is none.
	Password(ctx context.Context, name string) (string, error)
	// Make keeps a password, unless there is one of the name, and returns the one that is kept.
	Make(ctx context.Context, name, password string) (string, error)
}

//go:embed templates
var ownTemplates embed.FS

// NewEnv returns the surroundings of a project in a folder.
func NewEnv(dir string, modules map[string]string) *Env {
	e := &Env{Dir: dir, Modules: modules}
	e.templates = &jinja.Environment{Load: e.template, Missing: e.missing}
	return e
}

// maxFile bounds a file that a model reads.
const maxFile = 64 << 20

// template reads a template: module/path, or /path of the project itself.
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

// missing says why there is no template of a name, which is not ./path any more.
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

// folder returns that of a module; that of the project for "".
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

// of returns the surroundings of a call; those of no project if the program was given none.
func of(c *eval.Context) *Env {
	if e, ok := c.Env.(*Env); ok {
		return e
	}
	return NewEnv("", nil)
}

// own returns a path in which ./ is that of the module that calls.
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

// File returns where a file stands that a call names as std::file does, and that it is a file of
// its module: links do not lead out of there.
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

// file returns where a file of a module stands: in its folder files.
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

// inside refuses a path in a module if links lead out of the module: a model reads what the module
// brings, and nothing else of the machine. What the project itself has is its author's.
func (e *Env) inside(module, path string) error {
	if module == "" {
		return nil
	}
	dir, err := filepath.EvalSymlinks(e.folder(module)) // the module itself may be a link
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return err
	}
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) { // the reader says it, with what there is
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
