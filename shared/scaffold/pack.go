package scaffold

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/pattern"
)

// southbound is the Go module on which packs are built.
const southbound = "southbound"

var packName = pattern.Lazy(`\A[a-z][a-z0-9_]*\z`)

// Pack writes a new Go module into the directory dir/name: a program with the handlers of
// Southbound. Unless empty is set, it also has a handler of its own, name::Thing. source is a
// checkout of Southbound; "" for the one that contains dir. Pack returns the written files.
func Pack(dir, name, source string, empty bool) ([]string, error) {
	if name == southbound {
		return nil, fault.New(fault.Usage, "new pack", "%q is the name of Southbound's own module",
			name).WithHint("choose another name, such as acme")
	}
	if !packName().MatchString(name) ||
		namesOf(name+"::Thing").Package != strings.ReplaceAll(name, "_", "") {
		return nil, fault.New(fault.Usage, "new pack", "%q cannot name a pack", name).
			WithHint("lower-case letters, digits and _, such as acme")
	}
	if goLibrary(name) {
		return nil, fault.New(fault.Usage, "new pack", "a package of Go's library is called %q, so "+
			"no package of a module of that name can be imported", name).
			WithHint("choose another name, such as my%s", name)
	}
	root := filepath.Join(dir, name)
	if _, err := os.Lstat(root); err == nil {
		return nil, fault.New(fault.Conflict, "new pack", "%s is there already", root).
			WithHint("choose another name, or remove it")
	}
	checkout, err := checkoutOf(dir, source)
	if err != nil {
		return nil, err
	}
	n := namesOf(name + "::Thing")
	n.Name, n.Module, n.Empty = name, name, empty
	w := &writer{}
	w.modules(root, checkout, name)
	w.add(filepath.Join(root, "main.go"), "main.go.tmpl", n)
	w.add(filepath.Join(root, "README.md"), "README.md.tmpl", n)
	w.add(filepath.Join(root, "handlers", "handlers.go"), "handlers.go.tmpl", n)
	w.add(filepath.Join(root, "handlers", "handlers_test.go"), "handlers_test.go.tmpl", n)
	out, err := w.write()
	if err != nil || empty {
		return out, err
	}
	more, err := Handler(root, name+"::Thing", nil)
	for _, f := range more {
		if f != filepath.Join(root, "handlers", "handlers.go") {
			out = append(out, f)
		}
	}
	return out, err
}

// goLibrary reports whether import paths of Go's standard library begin with a name.
func goLibrary(name string) bool {
	return slices.Contains(strings.Fields(`archive bufio builtin bytes cmd cmp compress container
		context crypto database debug embed encoding errors expvar flag fmt go hash html image
		index internal io iter log maps math mime net os path plugin reflect regexp runtime simd
		slices sort strconv strings structs sync syscall testing text time unicode unique unsafe
		uuid vendor weak`), name)
}

// checkoutOf returns the directory of Southbound's sources.
func checkoutOf(dir, source string) (string, error) {
	const hint = "--southbound DIR names a checkout of Southbound"
	from := source
	if from == "" {
		from = dir
	}
	root, path, err := Module(from)
	switch {
	case err != nil && source == "":
		return "", fault.New(fault.Usage, "new pack", "the sources of Southbound are not known").
			WithHint("%s", hint)
	case err != nil:
		return "", err
	case path != southbound:
		return "", fault.New(fault.Usage, "new pack", "%s is the module %s and not Southbound",
			root, path).WithHint("%s", hint)
	}
	return root, nil
}

var (
	requireBlock = pattern.Lazy(`(?ms)^require \(\n.*?^\)\n`)
	goLine       = pattern.Lazy(`(?m)^go .*$`)
)

// modules adds go.mod and go.sum, with the versions that Southbound uses.
func (w *writer) modules(root, checkout, name string) {
	if w.err != nil {
		return
	}
	mod, err := os.ReadFile(filepath.Join(checkout, "go.mod"))
	var sum []byte
	if err == nil {
		sum, err = os.ReadFile(filepath.Join(checkout, "go.sum"))
	}
	if err != nil {
		w.err = fault.Wrap(fault.Usage, "read the modules of Southbound", err)
		return
	}
	to := checkout
	if rel, err := filepath.Rel(root, checkout); err == nil && strings.Count(rel, "..") <= 2 &&
		!strings.HasPrefix(rel, "/") {
		to = filepath.ToSlash(rel)
	}
	if strings.ContainsAny(to, " ()\"'`,") {
		to = strconv.Quote(to)
	}
	var b strings.Builder
	b.WriteString("module " + name + "\n\n" + goLine().FindString(string(mod)) +
		"\n\nrequire southbound v0.0.0\n\nreplace southbound => " + to + "\n")
	for _, block := range requireBlock().FindAllString(string(mod), -1) {
		b.WriteString("\n" + block)
	}
	w.files = append(w.files, file{name: filepath.Join(root, "go.mod"), text: []byte(b.String())},
		file{name: filepath.Join(root, "go.sum"), text: sum})
}
