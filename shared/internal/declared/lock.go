package declared

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/schema"
)

// LockFile is the name of the lock file, which is beside southbound.yaml. It is YAML or JSON:
//
//	southbound_lock: 1
//	providers:
//	  - name: demo
//	    bridge: tf
//	    address: registry.opentofu.org/acme/demo
//	    version: 1.2.3
//	    constraint: "~> 1.2"
//	    hashes: ["h1:..."]
//	    declarations: {file: .southbound/types/demo, digest: "sha256:..."}
const LockFile = "southbound.lock"

// lockFormat is the format of lock files that this program reads.
const lockFormat = 1

// Bounds of a lock file.
const (
	maxLock      = 1 << 20
	maxProviders = maxKept
	maxHashes    = 1000
	maxText      = 500
	maxAll       = 32 << 20 // all files of declarations together
)

// Lock lists the files of declarations that a project uses.
type Lock struct {
	Providers []Provider
	Digest    string // of the lock file: SHA-256 in hexadecimal
}

// Provider is an entry of a lock file: a program of another ecosystem, and the declarations of its
// types.
type Provider struct {
	Name       string   // its local name
	Bridge     string   // the bridge that serves its types, the first part of their names
	Address    string   // where it comes from
	Version    string   // the version in use
	Constraint string   // the versions that the author allows; "": any
	Hashes     []string // of its program, in the form of its ecosystem

	File        string // the file of declarations, with slashes, in the directory of the lock file
	Digest      string // of that file: "sha256:" and 64 hexadecimal digits
	Declaration *schema.Declaration
}

// Types returns the types that a lock declares; none for nil.
func (l *Lock) Types() []*schema.Compiled {
	if l == nil {
		return nil
	}
	var out []*schema.Compiled
	for i := range l.Providers {
		out = append(out, l.Providers[i].Declaration.Types()...)
	}
	return out
}

// Hashes returns the hashes of the files of declarations of a lock; none for nil.
func (l *Lock) Hashes() []string {
	if l == nil {
		return nil
	}
	var out []string
	for i := range l.Providers {
		out = append(out, l.Providers[i].Declaration.Hash)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Files returns the lock file and the files of declarations that it lists, with slashes, in the
// directory of the lock file; none for nil.
func (l *Lock) Files() []string {
	if l == nil {
		return nil
	}
	out := []string{LockFile}
	for i := range l.Providers {
		out = append(out, l.Providers[i].File)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ReadLock reads the lock file in a directory, and the files of declarations that it lists, which it
// compiles; see Parse. Without a lock file it returns nil. It returns all problems together, as
// diag.Problems with their places.
func ReadLock(dir string, program *schema.Registry) (*Lock, error) {
	return readLock(dir, &lockReader{program: program})
}

// ReadEntries reads the lock file in a directory without the files of declarations: no Declaration of
// its providers is set. Commands that write the lock file use it, since these files may be damaged.
func ReadEntries(dir string) (*Lock, error) { return readLock(dir, &lockReader{entries: true}) }

func readLock(dir string, r *lockReader) (*Lock, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil //nolint:nilerr // the command that reads the documents reports it
	}
	defer root.Close()
	text, err := readBounded(root, LockFile, maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	path := filepath.Join(dir, LockFile)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "read "+path, err)
	}
	r.path, r.dir, r.root, r.lock = path, dir, root, &Lock{Digest: HashOf(text)}
	r.read(text)
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return r.lock, nil
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(root *os.Root, name string, limit int64) ([]byte, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("it is larger than %d KiB", limit>>10)
	}
	return text, err
}

// lockReader reads a lock file, and collects its problems.
type lockReader struct {
	path, dir string
	root      *os.Root
	program   *schema.Registry
	entries   bool // leave the files of declarations out
	lock      *Lock
	problems  diag.Problems
	all       int                 // bytes of declarations so far
	names     map[string]diag.Pos // of providers
	types     map[string]diag.Pos // where each type is declared
}

func (r *lockReader) place(n *yaml.Node) diag.Pos {
	return diag.Pos{File: r.path, Line: n.Line, Column: n.Column}
}

func (r *lockReader) bad(n *yaml.Node, hint, format string, args ...any) {
	r.problems.Add(diag.Problem{Pos: r.place(n), Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (r *lockReader) read(text []byte) {
	r.names, r.types = map[string]diag.Pos{}, map[string]diag.Pos{}
	var doc, more yaml.Node
	in := yaml.NewDecoder(bytes.NewReader(text))
	if err := in.Decode(&doc); err != nil || len(doc.Content) == 0 {
		r.problems.Add(diag.Problem{Pos: diag.Pos{File: r.path, Line: 1, Column: 1},
			Message: "this is not valid YAML", Hint: "write it again with the command that made it"})
		return
	}
	if err := in.Decode(&more); !errors.Is(err, io.EOF) {
		r.problems.Add(diag.Problem{Pos: diag.Pos{File: r.path, Line: 1, Column: 1},
			Message: "a lock file is one document", Hint: "leave the others out"})
		return
	}
	n := doc.Content[0]
	m := r.members(n, "a lock file", "southbound_lock", "providers")
	if m == nil {
		return
	}
	switch format := m["southbound_lock"]; {
	case format == nil:
		r.bad(n, "add `southbound_lock: 1`", "the lock file lacks its format")
		return
	case format.Value != fmt.Sprint(lockFormat):
		r.bad(format, "update this program, or write the lock file again",
			"this program reads lock files of format %d", lockFormat)
		return
	}
	list := r.list(m["providers"], "providers", maxProviders)
	for _, e := range list {
		r.provider(e)
	}
}

// members returns the members of a map by name; nil if it is not one.
func (r *lockReader) members(n *yaml.Node, what string, known ...string) map[string]*yaml.Node {
	if n.Kind != yaml.MappingNode {
		r.bad(n, "write members such as `"+known[0]+": …`", "%s is a map", what)
		return nil
	}
	out := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case !slices.Contains(known, key.Value):
			hint := "members are " + strings.Join(known, ", ")
			if near := schema.Nearest(key.Value, known); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			r.bad(key, hint, "%s has no member %.60q", what, key.Value)
		case out[key.Value] != nil:
			r.bad(key, "remove one of the two", "%s has two members %q", what, key.Value)
		default:
			out[key.Value] = n.Content[i+1]
		}
	}
	return out
}

// list returns the items of a list; none for nil.
func (r *lockReader) list(n *yaml.Node, what string, limit int) []*yaml.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind != yaml.SequenceNode:
		r.bad(n, "write items that begin with a hyphen", "%s is a list", what)
		return nil
	case len(n.Content) > limit:
		r.bad(n, "use several projects", "%s has more than %d items", what, limit)
		return nil
	}
	return n.Content
}

// text returns a text of one line.
func (r *lockReader) text(in, n *yaml.Node, what string, required bool) string {
	switch {
	case n == nil && required:
		r.bad(in, "add `"+what+": …`", "%s is missing", what)
	case n == nil:
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" || len(n.Value) > maxText ||
		strings.ContainsFunc(n.Value, func(c rune) bool { return !unicode.IsPrint(c) }):
		r.bad(n, fmt.Sprintf("write at most %d characters", maxText), "%s is a line of text", what)
	default:
		return n.Value
	}
	return ""
}

func (r *lockReader) provider(n *yaml.Node) {
	m := r.members(n, "a provider", "name", "bridge", "address", "version", "constraint", "hashes",
		"declarations")
	if m == nil {
		return
	}
	before := len(r.problems)
	p := Provider{
		Name: r.text(n, m["name"], "name", true), Bridge: r.text(n, m["bridge"], "bridge", true),
		Address:    r.text(n, m["address"], "address", true),
		Version:    r.text(n, m["version"], "version", true),
		Constraint: r.text(n, m["constraint"], "constraint", false),
	}
	for _, h := range r.list(m["hashes"], "hashes", maxHashes) {
		p.Hashes = append(p.Hashes, r.text(h, h, "a hash", true))
	}
	if first, twice := r.names[p.Name]; twice {
		r.bad(m["name"], "remove one of the two", "the provider %s is there twice, first at %s", p.Name,
			first)
	} else if p.Name != "" {
		r.names[p.Name] = r.place(m["name"])
	}
	if m["declarations"] == nil {
		r.bad(n, "add `declarations: {file: …, digest: …}`", "declarations is missing")
		return
	}
	d := r.members(m["declarations"], "declarations", "file", "digest")
	if d == nil {
		return
	}
	p.File = r.text(m["declarations"], d["file"], "file", true)
	p.Digest = r.text(m["declarations"], d["digest"], "digest", true)
	if len(r.problems) == before && r.declarations(&p, d["file"], d["digest"]) {
		r.lock.Providers = append(r.lock.Providers, p)
	}
}

// declarations reads the declarations of a provider.
func (r *lockReader) declarations(p *Provider, file, digest *yaml.Node) bool {
	const again = "fetch it again with the command that made the lock file"
	if !filepath.IsLocal(filepath.FromSlash(p.File)) {
		r.bad(file, "name a file below the directory of the lock file",
			"%q is outside of the directory of the lock file", p.File)
		return false
	}
	if r.entries {
		return true
	}
	text, err := readBounded(r.root, filepath.FromSlash(p.File), MaxBytes)
	if err != nil {
		r.bad(file, again, "the declarations of %s cannot be read: %v", p.Name, err)
		return false
	}
	if p.Digest != "sha256:"+HashOf(text) {
		r.bad(digest, again, "the digest of the declarations of %s in %s differs from the lock file",
			p.Name, p.File)
		return false
	}
	if r.all += len(text); r.all > maxAll {
		r.bad(file, "use several projects", "the declarations are larger than %d MiB together",
			maxAll>>20)
		return false
	}
	name := filepath.Join(r.dir, filepath.FromSlash(p.File))
	p.Declaration, err = Parse(name, text, r.program)
	if err != nil {
		problems, _ := diag.Of(err)
		r.problems = append(r.problems, problems...)
		return false
	}
	fine := true
	for _, t := range p.Declaration.Types() {
		at := t.At("")
		hint := "rename one of the two"
		first, twice := r.types[t.Name]
		switch {
		case Prefix(t.Name) != p.Bridge:
			r.problems.Add(diag.Problem{Pos: at, Resource: t.Name,
				Hint:    "fetch the declarations of " + p.Name + " again",
				Message: fmt.Sprintf("its name does not begin with %s::, the bridge of %s", p.Bridge, p.Name)})
			fine = false
		case twice:
			r.problems.Add(diag.Problem{Pos: at, Resource: t.Name, Hint: hint, Related: diag.At(first),
				Message: fmt.Sprintf("the type is declared twice, first at %s", first)})
			fine = false
		default:
			r.types[t.Name] = at
		}
	}
	return fine
}
