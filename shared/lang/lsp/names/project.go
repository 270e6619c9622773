package names

import (
	"slices"
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// Project holds the symbols that the texts of a model and its modules define.
type Project struct {
	Files  []*File
	byPath map[string]*File
	spaces map[string]*space
	// Duplicates are repeated definitions of a name.
	Duplicates []Duplicate

	given
	uses     map[*File]*Uses
	builtIns map[string]*Symbol
}

// Duplicate is a repeated definition of a name that First defines.
type Duplicate struct {
	Symbol, First *Symbol
}

// space is a namespace.
type space struct {
	symbol  *Symbol
	file    *File
	types   map[string]*Symbol // entities, typedefs, implementations, plugins
	visible map[string]string  // namespaces by their names in this one
	scope   *scope             // of its statements
}

// reader adds the definitions in texts to a project.
type reader struct{ *Project }

// New reads the definitions in texts. It ignores a plugin if its namespace does not exist, or if
// the namespace has a type of its name.
func New(files []*File, plugins []eval.Plugin, special map[string]types.Type) *Project {
	p := &Project{
		Files: files, byPath: map[string]*File{}, spaces: map[string]*space{},
		uses: map[*File]*Uses{}, builtIns: map[string]*Symbol{}, given: given{plugins, special},
	}
	for _, name := range []string{"string", "int", "float", "number", "bool", "list", "dict"} {
		p.builtIns[name] = &Symbol{Kind: Primitive, Name: name}
	}
	r := reader{p}
	for _, f := range files {
		r.declare(f)
	}
	r.standard()
	for i := range plugins {
		r.plugin(&plugins[i])
	}
	for name := range special {
		ns, last := within(name)
		if s := p.spaces[ns]; s != nil && s.types[last] == nil {
			s.types[last] = &Symbol{Kind: Primitive, Name: last, Space: ns}
		}
	}
	for _, f := range files {
		r.imports(f)
	}
	for _, step := range []func(*File, syntax.Statement){r.inherit, r.attributes, r.relate} {
		for _, f := range files {
			for _, st := range f.Tree.Body {
				step(f, st)
			}
		}
	}
	return p
}

// File returns the text at a path; nil if the project has none there.
func (p *Project) File(path string) *File { return p.byPath[path] }

// Entity returns the entity of a full name; nil if there is none.
func (p *Project) Entity(full string) *Symbol {
	ns, last := within(full)
	s := p.spaces[ns]
	if s == nil || s.types[last] == nil || s.types[last].Kind != Entity {
		return nil
	}
	return s.types[last]
}

func within(name string) (ns, last string) {
	if i := strings.LastIndex(name, "::"); i >= 0 {
		return name[:i], name[i+2:]
	}
	return "", name
}

// declare records the names that a text defines. If two texts have one namespace, the first one
// counts.
func (p reader) declare(f *File) {
	p.byPath[f.Path] = f
	if p.spaces[f.Namespace] != nil {
		return
	}
	s := &space{file: f, types: map[string]*Symbol{}, visible: map[string]string{}}
	s.symbol = &Symbol{Kind: Namespace, Name: f.Namespace, Space: f.Namespace, File: f}
	if f.Tree.Doc != nil {
		s.symbol.Doc = f.Tree.Doc.Value
	}
	s.scope = &scope{vars: map[string]*Symbol{}, space: s}
	p.spaces[f.Namespace] = s
	for _, st := range f.Tree.Body {
		switch st := st.(type) {
		case *syntax.Entity:
			x := f.symbol(Entity, &st.Name, st.Span, st.Doc)
			x.byName = map[string]*Symbol{}
			p.define(s, x)
		case *syntax.Typedef:
			x := f.symbol(Typedef, &st.Name, st.Span, st.Doc)
			x.detail = st.Matching
			p.define(s, x)
		case *syntax.Implementation:
			p.define(s, f.symbol(Implementation, &st.Name, st.Span, st.Doc))
		}
	}
	s.scope.declare(f, f.Tree.Body, f.Namespace)
}

func (p reader) define(s *space, x *Symbol) {
	if first := s.types[x.Name]; first != nil {
		p.Duplicates = append(p.Duplicates, Duplicate{x, first})
		return
	}
	s.types[x.Name] = x
}

// symbol returns the symbol of a definition in a text.
func (f *File) symbol(k Kind, name *syntax.Ident, whole syntax.Span, doc *syntax.Text) *Symbol {
	x := &Symbol{Kind: k, Name: name.Text, Space: f.Namespace, File: f, Span: whole}
	x.From, x.To = f.place(name)
	x.NameToken = name.From
	if doc != nil {
		x.Doc = doc.Value
	}
	return x
}

// place returns the byte range of a node.
func (f *File) place(n syntax.Node) (from, to int) {
	return int(f.Tree.Pos(n).Offset), int(f.Tree.End(n).Offset)
}

// source returns the text of a node, on one line.
func (f *File) source(n syntax.Node) string {
	from, to := f.place(n)
	return strings.Join(strings.Fields(f.Tree.Text[from:to]), " ")
}

// standard adds std::Entity, which no text defines.
func (p reader) standard() {
	s := p.spaces["std"]
	if s == nil {
		s = &space{types: map[string]*Symbol{}, visible: map[string]string{}}
		s.symbol = &Symbol{Kind: Namespace, Name: "std", Space: "std"}
		s.scope = &scope{vars: map[string]*Symbol{}, space: s}
		p.spaces["std"] = s
	}
	base := &Symbol{
		Kind: Entity, Name: "Entity", Space: "std", byName: map[string]*Symbol{},
		Doc: "The entity that all others extend.",
	}
	s.types["Entity"] = base
	docs := map[string]string{
		"requires": "Resources that must be deployed before this one.",
		"provides": "Resources that are deployed after this one.",
	}
	for _, name := range []string{"requires", "provides"} {
		base.add(&Symbol{
			Kind: Relation, Name: name, Space: "std", Doc: docs[name],
			Type: Type{Of: base, List: true},
		})
	}
	base.byName["requires"].Inverse = base.byName["provides"]
	base.byName["provides"].Inverse = base.byName["requires"]
}

// add adds an attribute to an entity, unless the entity has one of this name.
func (s *Symbol) add(a *Symbol) {
	a.Owner = s
	if s.byName[a.Name] == nil {
		s.byName[a.Name] = a
		s.own = append(s.own, a)
	}
}

func (p reader) plugin(q *eval.Plugin) {
	ns, name := within(q.Name)
	s := p.spaces[ns]
	if s == nil || s.types[name] != nil {
		return
	}
	s.types[name] = &Symbol{Kind: Plugin, Name: name, Space: ns, Doc: q.Doc, Plugin: q}
}

// imports records the namespaces that are visible in a text.
func (p reader) imports(f *File) {
	s := p.spaces[f.Namespace]
	if s.file != f {
		return
	}
	s.visible[f.Namespace] = f.Namespace
	s.visible["std"] = "std"
	for _, st := range f.Tree.Body {
		if i, ok := st.(*syntax.Import); ok {
			name := i.Module.Text
			if i.As != nil {
				name = i.As.Text
			}
			s.visible[name] = i.Module.Text
		}
	}
}

// space returns the namespace that a name refers to in another one; nil if there is none.
func (p *Project) space(from *space, name string) *space {
	full, ok := from.visible[name]
	if !ok {
		return nil
	}
	return p.spaces[full]
}

// find finds an entity, a type, an implementation or a plugin by its name.
func (p *Project) find(from *space, name string) *Symbol {
	ns, last := within(name)
	if ns != "" {
		if s := p.space(from, ns); s != nil {
			return s.types[last]
		}
		return nil
	}
	if b := p.builtIns[name]; b != nil {
		return b
	}
	for at := from.symbol.Name; ; at, _ = within(at) {
		if s := p.spaces[at]; s != nil && s.types[name] != nil {
			return s.types[name]
		}
		if at == "" {
			return nil
		}
	}
}

// entity returns the entity of a name; nil if there is none.
func (p *Project) entity(from *space, name *syntax.Path) *Symbol {
	if s := p.find(from, name.Text); s != nil && s.Kind == Entity {
		return s
	}
	return nil
}

// defined returns the symbol that a statement of a text defines; nil if the name was defined
// before.
func (p *Project) defined(f *File, name *syntax.Ident) *Symbol {
	x := p.spaces[f.Namespace].types[name.Text]
	if from, _ := f.place(name); x == nil || x.File != f || x.From != from {
		return nil
	}
	return x
}

// inherit sets the parents of entities, the base types of typedefs and the entities of
// implementations.
func (p reader) inherit(f *File, st syntax.Statement) {
	s := p.spaces[f.Namespace]
	switch st := st.(type) {
	case *syntax.Entity:
		e := p.defined(f, &st.Name)
		if e == nil {
			return
		}
		for i := range st.Extends {
			x := p.entity(s, &st.Extends[i])
			if x != nil && !slices.Contains(e.Parents, x) && !x.Is(e) {
				e.Parents = append(e.Parents, x)
			}
		}
		if len(st.Extends) == 0 {
			e.Parents = []*Symbol{p.spaces["std"].types["Entity"]}
		}
		for _, parent := range e.Parents {
			parent.children = append(parent.children, e)
		}
	case *syntax.Typedef:
		if x := p.defined(f, &st.Name); x != nil {
			x.Type.Of = p.find(s, st.Base.Text)
		}
	case *syntax.Implementation:
		if x := p.defined(f, &st.Name); x != nil {
			x.Of = p.entity(s, &st.Entity)
		}
	}
}

// attributes adds attributes and indexes to entities.
func (p reader) attributes(f *File, st syntax.Statement) {
	s := p.spaces[f.Namespace]
	switch st := st.(type) {
	case *syntax.Entity:
		e := p.defined(f, &st.Name)
		if e == nil {
			return
		}
		for _, at := range st.Attributes {
			a := f.symbol(Attribute, &at.Name, at.Span, nil)
			a.Type = Type{p.find(s, at.Type.Name.Text), at.Type.List, at.Type.Nullable}
			if at.Default != nil {
				a.detail = at.Default
			}
			e.add(a)
		}
	case *syntax.Index:
		e := p.entity(s, &st.Entity)
		if e == nil {
			return
		}
		var names []string
		for _, a := range st.Attributes {
			names = append(names, a.Text)
		}
		e.Indexes = append(e.Indexes, names)
	}
}

// relate adds the ends of relations to entities.
func (p reader) relate(f *File, st syntax.Statement) {
	r, ok := st.(*syntax.Relation)
	if !ok {
		return
	}
	s := p.spaces[f.Namespace]
	left, right := p.entity(s, &r.Left.Entity), p.entity(s, &r.Right.Entity)
	if left == nil || right == nil {
		return
	}
	near := f.end(r, &r.Left, right)
	left.add(near)
	if r.Right.Name.Text != "" {
		far := f.end(r, &r.Right, left)
		right.add(far)
		near.Inverse, far.Inverse = far, near
	}
}

// end returns the end of a relation that leads to an entity.
func (f *File) end(r *syntax.Relation, st *syntax.End, to *Symbol) *Symbol {
	a := f.symbol(Relation, &st.Name, r.Span, r.Doc)
	up := st.Bounds.Upper
	a.Type = Type{Of: to, List: up == nil || !up.IsInt64() || up.Int64() != 1}
	a.detail = &st.Bounds
	return a
}
