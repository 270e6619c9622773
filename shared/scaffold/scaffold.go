// Package scaffold generates the sources of new handlers and packs. The sources build and pass
// their tests; authors then adapt them.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"go/format"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"southbound/shared/fault"
	"southbound/shared/pattern"
	"southbound/shared/resource"
)

//go:embed templates
var templates embed.FS

// names are the parameters of the templates.
type names struct {
	Type    string // net::Vlan
	Space   string // net
	Package string // net
	Func    string // Vlan
	Var     string // vlan
	Words   string // vlan
	Plural  string // vlans
	File    string // vlan
	Name    string // of a pack
	Module  string
	Empty   bool // a pack without a type
}

// Described returns the words of a type with their article, for the start of a sentence.
func (n names) Described() string {
	if strings.Contains("aeiou", n.Words[:1]) {
		return "An " + n.Words
	}
	return "A " + n.Words
}

func namesOf(typ string) names {
	parts := strings.Split(typ, "::")
	last := parts[len(parts)-1]
	n := names{Type: typ, Space: strings.Join(parts[:len(parts)-1], "::"),
		Package: strings.ToLower(parts[len(parts)-2])}
	for _, word := range strings.Split(last, "_") {
		if word != "" {
			n.Func += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	words := splitWords(n.Func)
	n.Var = strings.ToLower(words[0]) + strings.Join(words[1:], "")
	n.Words, n.File = strings.ToLower(strings.Join(words, " ")), strings.ToLower(strings.Join(words,
		"_"))
	n.Plural = strings.ToLower(strings.Join(words, "-")) + "s"
	n.Package = strings.ReplaceAll(n.Package, "_", "")
	if token.IsKeyword(n.Package) || n.Package == "main" || n.Package == "internal" ||
		n.Package == "vendor" || n.Package == "init" {
		n.Package += "types"
	}
	if strings.HasSuffix(n.File, "_test") || goos(n.File) {
		n.File += "_type" // the Go tools interpret such a suffix
	}
	return n
}

// goos reports whether the suffix of a file name restricts it to a system.
func goos(file string) bool {
	last := file[strings.LastIndexByte(file, '_')+1:]
	switch last {
	case "linux", "windows", "darwin", "freebsd", "netbsd", "openbsd", "solaris", "android", "ios",
		"js", "wasip1", "plan9", "aix", "unix", "amd64", "arm64", "arm", "386", "wasm", "s390x",
		"riscv64":
		return strings.Contains(file, "_")
	}
	return false
}

// splitWords splits VlanPort into Vlan and Port.
func splitWords(s string) []string {
	var out []string
	runes := []rune(s)
	from := 0
	for i := 1; i < len(runes); i++ {
		if unicode.IsUpper(runes[i]) &&
			(unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			out = append(out, string(runes[from:i]))
			from = i
		}
	}
	return append(out, string(runes[from:]))
}

var moduleLine = pattern.Lazy(`(?m)^module\s+"?([^\s"]+)`)

// Module returns the directory and the path of the Go module that contains dir; fault.NotFound if
// there is none.
func Module(dir string) (root, path string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", "", fault.Wrap(fault.Usage, "find the module", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		text, err := os.ReadFile(filepath.Join(at, "go.mod"))
		switch {
		case err == nil:
			m := moduleLine().FindSubmatch(text)
			if m == nil {
				return "", "", fault.New(fault.Usage, "find the module", "%s names no module",
					filepath.Join(at, "go.mod"))
			}
			return at, string(m[1]), nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", "", fault.Wrap(fault.Usage, "find the module", err)
		case at == filepath.Dir(at):
			return "", "", fault.New(fault.NotFound, "find the module", "%s is in no Go module",
				dir).
				WithHint("`southbound new pack NAME` makes one; go into it, or into a checkout " +
					"of Southbound")
		}
	}
}

// Handler writes a handler for a new type into the module that contains dir, below handlers, and
// adds it to handlers/handlers.go. It returns the new and changed files. If a file exists, or typ
// is in known, it returns fault.Conflict and writes nothing.
func Handler(dir, typ string, known []string) ([]string, error) {
	if !resource.ValidType(typ) {
		return nil, fault.New(fault.Usage, "new handler", "%q is not a name of a type", typ).
			WithHint("two or more names joined by ::, such as net::Vlan")
	}
	root, module, err := Module(dir)
	if err != nil {
		return nil, err
	}
	n := namesOf(typ)
	n.Module = module
	if slices.Contains(known, typ) {
		return nil, fault.New(fault.Conflict, "new handler",
			"%s is a type that this program has already, and no program can have two of one name",
			typ).WithHint("choose another name, such as %s", nameBeside(typ, module))
	}
	spaces := strings.Split(strings.ToLower(strings.ReplaceAll(n.Space, "_", "")), "::")
	spaces[len(spaces)-1] = n.Package
	into := filepath.Join(append([]string{root, "handlers"}, spaces...)...)
	w := &writer{}
	w.add(filepath.Join(into, n.File+".go"), "handler.go.tmpl", n)
	w.add(filepath.Join(into, n.File+"_test.go"), "handler_test.go.tmpl", n)
	w.add(filepath.Join(into, n.File+".yaml"), "example.yaml.tmpl", n)
	if existing, _ := fs.Glob(os.DirFS(into), "*.go"); len(existing) == 0 {
		w.add(filepath.Join(into, "doc.go"), "doc.go.tmpl", n)
	}
	w.register(filepath.Join(root, "handlers", "handlers.go"),
		module+"/handlers/"+strings.Join(spaces, "/"), n)
	return w.write()
}

// nameBeside returns an alternative name for a type whose name is taken.
func nameBeside(typ, module string) string {
	space := path.Base(module)
	if !packName().MatchString(space) || module == southbound {
		space = "acme"
	}
	own := space + typ[strings.LastIndex(typ, "::"):]
	if own == typ {
		own += "2"
	}
	return own
}

// writer collects files before it writes any of them.
type writer struct {
	files []file
	err   error
}

type file struct {
	name    string
	text    []byte
	changed bool // the file existed
}

// add adds a new file from a template.
func (w *writer) add(name, tmpl string, n names) {
	if w.err != nil {
		return
	}
	if _, err := os.Lstat(name); err == nil {
		w.err = fault.New(fault.Conflict, "write", "%s is there already", name).
			WithHint("choose another name, or remove it")
		return
	}
	t, err := template.New(tmpl).ParseFS(templates, "templates/"+tmpl)
	var b bytes.Buffer
	if err == nil {
		err = t.Execute(&b, n)
	}
	text := b.Bytes()
	if err == nil && strings.HasSuffix(name, ".go") {
		text, err = format.Source(text)
	}
	if err != nil {
		w.err = fault.Wrap(fault.Internal, "write "+name, err)
		return
	}
	w.files = append(w.files, file{name: name, text: text})
}

// write writes all files and returns their names.
func (w *writer) write() ([]string, error) {
	if w.err != nil {
		return nil, w.err
	}
	var out []string
	for _, f := range w.files {
		if err := os.MkdirAll(filepath.Dir(f.name), 0o755); err != nil { // readable by all
			return out, fault.Wrap(fault.Unavailable, "make a directory", err)
		}
		if err := put(f); err != nil {
			return out, fault.Wrap(fault.Unavailable, "write a file", err)
		}
		out = append(out, f.name)
	}
	return out, nil
}

// put writes one file. A new file must not exist yet.
func put(f file) error {
	flag := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if f.changed {
		flag = os.O_WRONLY | os.O_TRUNC
	}
	out, err := os.OpenFile(f.name, flag, 0o644) // readable by all
	if err != nil {
		return err
	}
	_, err = out.Write(f.text)
	return errors.Join(err, out.Close())
}
