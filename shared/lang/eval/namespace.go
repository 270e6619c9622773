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

// namespace holds the names of a module or of a part of one.
type namespace struct {
	name     string // as it is written: a::b
	parent   *namespace
	types    map[string]any // *types.Entity, *types.Typedef, *implementation or *Plugin
	visible  map[string]*view
	block    *block // its statements; nil for a namespace without a file
	scope    *scope
	file     *file
	children map[string]*namespace
	// importable are, of the root, full names of types that could be imported.
	importable []string
}

// view is a namespace that can be seen from another one.
type view struct {
	target *namespace
	at     *diag.Pos // of the import; nil for what is seen without one
}

// file is a text with its tokens, for places.
type file struct {
	path   string
	syntax *syntax.File
	places []diag.Pos // with room for more: each by itself would take longer
}

// token returns the place of a token.
func (f *file) token(i int32) *diag.Pos {
	return f.place(f.syntax.Tokens[i].Pos)
}

// place returns a place of the file.
func (f *file) place(p syntax.Pos) *diag.Pos {
	const together = 32
	if len(f.places) == cap(f.places) {
		f.places = make([]diag.Pos, 0, together)
	}
	f.places = append(f.places, diag.Pos{File: f.path, Line: int(p.Line), Column: int(p.Column)})
	return &f.places[len(f.places)-1]
}

// onLine returns where a node begins if that is on the line of a token, and else the token: the
// line is what the reference says, the column what people look at.
func (f *file) onLine(n syntax.Node, i int32) *diag.Pos {
	if from := n.Tokens().From; f.syntax.Tokens[from].Pos.Line == f.syntax.Tokens[i].Pos.Line {
		return f.token(from)
	}
	return f.token(i)
}

// pos returns where a node begins.
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

// namespaceOf returns the namespace of a name, made if it is not there.
func (p *program) namespaceOf(name string) *namespace {
	n := p.root
	for part := range strings.SplitSeq(name, "::") {
		n = n.child(part)
	}
	return n
}

// within splits a name into its namespace, "" for none, and what is behind it.
func within(name string) (ns, last string) {
	if i := strings.LastIndex(name, "::"); i >= 0 {
		return name[:i], name[i+2:]
	}
	return "", name
}

// typeOf finds a type, an implementation or a plugin by its name.
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

// elsewhere says where a name may be meant to come from: a namespace that is imported, one that
// could be, or, if none has it, the nearest name of all.
func (n *namespace) elsewhere(name string, near []string) string {
	seen := map[string]bool{} // full names as they are written here
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

// foreign says what other languages' names of types are here.
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
	"object":  "did you mean dict? What is known of its members is better told by an entity",
	"str":     "did you mean string?",
	"text":    "did you mean string?",
}

// nearestLast returns the full name whose last part is nearest to a name; "" if none is near.
func nearestLast(name string, full []string) string {
	best, least := "", len(name)/3+1
	for _, f := range full {
		if _, last := within(f); distance(name, last) < least {
			best, least = f, distance(name, last)
		}
	}
	return best
}

// top returns the root of all namespaces.
func (n *namespace) top() *namespace {
	for n.parent != nil {
		n = n.parent
	}
	return n
}

// everything returns the full names of all types that an import could give, in order.
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

// importHint says how a namespace that is not known here is made so, or which one may be meant.
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

// DidYouMean names the nearest of several names; "" if none is near.
func DidYouMean(name string, names []string) string {
	if best := nearest(name, names); best != "" {
		return "did you mean " + best + "?"
	}
	return ""
}

// nearest returns the nearest of several names; "" if none is near.
func nearest(name string, names []string) string {
	best, least := "", min(len(name)/3+2, len(name)) // one in which all is different is not near
	for _, n := range names {
		if d := distance(name, n); d < least || d == least && best != "" && n < best {
			best, least = n, d
		}
	}
	return best
}

// distance counts the letters in which two names differ.
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

// namespaceSeen returns a namespace that can be seen from this one.
func (n *namespace) namespaceSeen(name string, at *diag.Pos) (*namespace, *fail) {
	if v := n.visible[name]; v != nil {
		return v.target, nil
	}
	f := failed(CodeNamespace, at, "the namespace %s is not known here", name).heavy(20)
	return nil, f.advise("%s", n.importHint(name, ""))
}
