package eval

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// namespace holds the names of a module or of a submodule.
type namespace struct {
	name     string // the full name: a::b
	parent   *namespace
	types    map[string]any // *types.Entity, *types.Typedef, *implementation or *Plugin
	visible  map[string]*view
	block    *block // the statements of its file; nil if it has no file
	scope    *scope
	file     *file
	children map[string]*namespace
	// importable, which only the root has, are the full names of types in modules that are not
	// imported.
	importable []string
}

// view is a namespace that is visible in another namespace.
type view struct {
	target *namespace
	at     *diag.Pos // position of the import; nil if the namespace is visible without an import
}

// file is a parsed file; it allocates the positions of its tokens.
type file struct {
	path   string
	syntax *syntax.File
	places []diag.Pos // the current block of positions, since single allocations are slower
}

// token returns the position of a token.
func (f *file) token(i int32) *diag.Pos {
	return f.place(f.syntax.Tokens[i].Pos)
}

// place returns the diag.Pos of a position in the file.
func (f *file) place(p syntax.Pos) *diag.Pos {
	const together = 32
	if len(f.places) == cap(f.places) {
		f.places = make([]diag.Pos, 0, together)
	}
	f.places = append(f.places, diag.Pos{File: f.path, Line: int(p.Line), Column: int(p.Column)})
	return &f.places[len(f.places)-1]
}

// onLine returns the start of a node if the node starts on the line of the token, else the position
// of the token. The reference compiler reports the line of the token, and the start of the node is
// the better column.
func (f *file) onLine(n syntax.Node, i int32) *diag.Pos {
	if from := n.Tokens().From; f.syntax.Tokens[from].Pos.Line == f.syntax.Tokens[i].Pos.Line {
		return f.token(from)
	}
	return f.token(i)
}

// pos returns the start of a node.
func (f *file) pos(n syntax.Node) *diag.Pos { return f.token(n.Tokens().From) }

func (n *namespace) child(name string) *namespace {
	if c := n.children[name]; c != nil {
		return c
	}
	full := name
	if n.parent != nil {
		full = n.name + "::" + name
	}
	c := &namespace{
		name:     full,
		parent:   n,
		types:    map[string]any{},
		children: map[string]*namespace{},
	}
	c.visible = map[string]*view{full: {target: c}}
	n.children[name] = c
	return c
}

// namespaceOf returns the namespace with this name, and creates it if it does not exist.
func (p *program) namespaceOf(name string) *namespace {
	n := p.root
	for part := range strings.SplitSeq(name, "::") {
		n = n.child(part)
	}
	return n
}

// within splits a full name into its namespace, "" if it has none, and its last part.
func within(name string) (ns, last string) {
	if i := strings.LastIndex(name, "::"); i >= 0 {
		return name[:i], name[i+2:]
	}
	return "", name
}

// typeOf returns the type, implementation or plugin with this name.
func (n *namespace) typeOf(name string, at *diag.Pos) (any, *fail) {
	ns, last := within(name)
	if ns != "" {
		v := n.visible[ns]
		if v == nil {
			f := failed(
				CodeUnknownType,
				at,
				"there is no %s here: the namespace %s is not imported",
				name,
				ns,
			).heavy(20)
			return nil, f.advise("%s", n.importHint(ns, last))
		}
		if t := v.target.types[last]; t != nil {
			return t, nil
		}
		f := failed(CodeUnknownType, at, "the namespace %s has no %s", ns, last).heavy(20)
		return nil, f.advise("%s", DidYouMean(last, v.target.typeNames()))
	}
	if t := types.Builtin(name); t != nil {
		return t, nil
	}
	var all []string
	for at := n; at != nil; at = at.parent {
		if t := at.types[name]; t != nil {
			return t, nil
		}
		all = append(all, at.typeNames()...)
	}
	f := failed(CodeUnknownType, at, "there is no %s in the namespace %s", name, n.name).heavy(20)
	return nil, f.advise("%s", n.elsewhere(name, all))
}

func (n *namespace) typeNames() []string {
	var out []string
	for name := range n.types {
		out = append(out, name)
	}
	return out
}

// elsewhere returns a hint for a name that is not defined. It prefers an imported namespace that
// has the name, then one that can be imported. Otherwise, it knows type names of other languages,
// and suggests similar names.
func (n *namespace) elsewhere(name string, near []string) string {
	seen := map[string]bool{} // full names in the notation of this namespace
	for as, v := range n.visible {
		for t := range v.target.types {
			seen[as+"::"+t] = true
		}
	}
	all := slices.Sorted(maps.Keys(seen))
	for _, full := range all {
		if _, last := within(full); last == name {
			return "did you mean " + full + "?"
		}
	}
	others := n.top().everything()
	for _, full := range others {
		if ns, last := within(full); last == name {
			return fmt.Sprintf("did you mean %s? write `import %s` at the top of the file", full,
				ns)
		}
	}
	if hint, ok := foreign[name]; ok {
		return hint
	}
	if hint := DidYouMean(name, append(near, types.Builtins()...)); hint != "" {
		return hint
	}
	if hint := nearestLast(name, all); hint != "" {
		return "did you mean " + hint + "?"
	}
	if hint := nearestLast(name, others); hint != "" {
		ns, _ := within(hint)
		return fmt.Sprintf("did you mean %s? write `import %s` at the top of the file", hint, ns)
	}
	return ""
}

// foreign maps type names of other languages to hints.
var foreign = map[string]string{
	"any": "an attribute has one type: string, int, float, bool, dict, an entity or a " +
		"typedef; only parameters of plugins are of any",
	"array":   "did you mean a list, such as string[]?",
	"boolean": "did you mean bool?",
	"char":    "did you mean string?",
	"double":  "did you mean float?",
	"integer": "did you mean int?",
	"long":    "did you mean int?",
	"map":     "did you mean dict?",
	"object":  "did you mean dict? For known members define an entity",
	"str":     "did you mean string?",
	"text":    "did you mean string?",
}

// nearestLast returns the full name whose last part is most similar to a name; "" if none is
// similar.
func nearestLast(name string, full []string) string {
	best, least := "", len(name)/3+1
	for _, f := range full {
		if _, last := within(f); distance(name, last) < least {
			best, least = f, distance(name, last)
		}
	}
	return best
}

// top returns the root namespace.
func (n *namespace) top() *namespace {
	for n.parent != nil {
		n = n.parent
	}
	return n
}

// everything returns the sorted full names of all types that can be imported.
func (n *namespace) everything() []string {
	out := slices.Clone(n.importable)
	var walk func(n *namespace)
	walk = func(n *namespace) {
		for t := range n.types {
			if n.name != Main && n.name != "" {
				out = append(out, n.name+"::"+t)
			}
		}
		for _, c := range n.children {
			walk(c)
		}
	}
	walk(n)
	slices.Sort(out)
	return slices.Compact(out)
}

// importHint returns a hint for a namespace that is not visible: the import to add, or a similar
// name.
func (n *namespace) importHint(ns, last string) string {
	var names []string
	for as := range n.visible {
		names = append(names, as)
	}
	for _, full := range n.top().everything() {
		if of, _ := within(full); of == ns {
			return "write `import " + ns + "` at the top of the file"
		}
	}
	slices.Sort(names)
	if near := nearest(ns, names); near != "" {
		return "did you mean " + near + "?"
	}
	var all []string
	for _, full := range n.top().everything() {
		if of, name := within(full); last == "" || name == last {
			all = append(all, of)
		}
	}
	if near := nearest(ns, all); near != "" {
		return fmt.Sprintf("did you mean %s? write `import %s` at the top of the file", near, near)
	}
	return "write `import " + ns + "` at the top of the file, if there is such a module"
}

// DidYouMean returns a hint with the most similar of several names; "" if none is similar.
func DidYouMean(name string, names []string) string {
	if best := nearest(name, names); best != "" {
		return "did you mean " + best + "?"
	}
	return ""
}

// nearest returns the most similar of several names; "" if none is similar.
func nearest(name string, names []string) string {
	best, least := "", min(len(name)/3+2, len(name)) // names that share no letter are not similar
	for _, n := range names {
		if d := distance(name, n); d < least || d == least && best != "" && n < best {
			best, least = n, d
		}
	}
	return best
}

// distance returns the edit distance of two names.
func distance(a, b string) int {
	const limit = 64
	if len(a) > limit || len(b) > limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost++
			}
			last = row[j+1]
			row[j+1] = min(cost, last+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// namespaceSeen returns the namespace that is visible under this name.
func (n *namespace) namespaceSeen(name string, at *diag.Pos) (*namespace, *fail) {
	if v := n.visible[name]; v != nil {
		return v.target, nil
	}
	f := failed(CodeNamespace, at, "the namespace %s is not known here", name).heavy(20)
	return nil, f.advise("%s", n.importHint(name, ""))
}
