package project_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// generateModules makes a model of several modules: entities, types, variables and implementations
// that refer to each other over namespaces, by all names that the language has for them.
func generateModules(r *rand.Rand) (main string, files map[string]string) {
	g := &modular{generator: generator{r: r}, wrong: r.IntN(3) == 0}
	g.name("")
	for _, m := range []string{"m", "n", "k"}[:1+r.IntN(3)] {
		g.name(m)
		for _, sub := range []string{"m", "s", "s::t"}[:r.IntN(4)] {
			g.name(m + "::" + sub)
		}
	}
	g.types()
	g.relate()
	for range 3 + r.IntN(8) {
		g.statement(g.anywhere())
	}
	for range 1 + r.IntN(4) {
		g.statement(g.spaces[0])
	}
	return g.spaces[0].text(), g.files()
}

// modular makes the texts of namespaces.
type modular struct {
	generator
	wrong  bool
	spaces []*space // the first is that of main.cf
	kinds  []*symbol
	defs   []*symbol
	vars   []*symbol
	impls  []*symbol
}

// space is a namespace.
type space struct {
	name    string
	imports map[string]string // what is imported, and under which name
	body    strings.Builder
	known   map[string]bool // names of types and variables that it has
}

// symbol is what has a name in a namespace.
type symbol struct {
	in     *space
	name   string
	typ    string    // of a variable or an attribute: int or string
	kind   *symbol   // the entity of a variable, or for which an implementation is
	parent *symbol   // of an entity
	attrs  []*symbol // of an entity
	rels   []*symbol // relations to many of an entity: kind is to what
	index  bool      // the first attribute is an index
}

func (g *modular) name(name string) {
	g.spaces = append(g.spaces, &space{
		name: name, imports: map[string]string{}, known: map[string]bool{},
	})
}

func (g *modular) anywhere() *space { return g.spaces[g.r.IntN(len(g.spaces))] }

// seeing returns a namespace that can name symbols: those of main.cf have no name elsewhere.
func (g *modular) seeing(symbols ...*symbol) *space {
	for _, o := range symbols {
		if o.in.name == "" {
			return o.in
		}
	}
	return g.anywhere()
}

// sees reports whether a namespace can name a symbol; it does without if something is to be wrong.
func (g *modular) sees(s *space, of *symbol) bool {
	return s.name == "" || of.in.name != "" || g.slip()
}

// entity returns one that a namespace can name; nil if there is none.
func (g *modular) entity(s *space) *symbol {
	for range 5 {
		if len(g.kinds) == 0 {
			break
		}
		if k := g.kinds[g.r.IntN(len(g.kinds))]; g.sees(s, k) {
			return k
		}
	}
	return nil
}

// slip reports, seldom, that something is to be wrong.
func (g *modular) slip() bool { return g.wrong && g.chance(25) }

// vars returns the names of variables of the namespace.
func (s *space) vars() map[string]bool {
	out := maps.Clone(s.known)
	maps.DeleteFunc(out, func(name string, _ bool) bool { return len(name) > 1 || name < "a" })
	return out
}

func (s *space) line(format string, args ...any) { fmt.Fprintf(&s.body, format+"\n", args...) }

func (s *space) text() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.imports)) {
		if as := s.imports[name]; as != name {
			fmt.Fprintf(&b, "import %s as %s\n", name, as)
		} else {
			fmt.Fprintf(&b, "import %s\n", name)
		}
	}
	return b.String() + s.body.String()
}

// files returns the texts of the modules.
func (g *modular) files() map[string]string {
	out := map[string]string{}
	for _, s := range g.spaces[1:] {
		parts := strings.Split(s.name, "::")
		path := strings.Join(append([]string{parts[0], "model"}, parts[1:]...), "/")
		if len(parts) == 1 || g.chance(3) || strings.HasSuffix(s.name, "::s") {
			path += "/_init"
		}
		out[path+".cf"] = s.text()
		out[parts[0]+"/module.yml"] = "name: " + parts[0] + "\nversion: 1.0.0\nlicense: ASL\n"
	}
	return out
}

// fresh defines a name; false if the namespace has it. Names are few, so that they hide others.
func (g *modular) fresh(s *space, name string) bool {
	if s.known[name] && !g.slip() {
		return false
	}
	s.known[name] = true
	return true
}

// spell returns a name by which a namespace can call a symbol, and imports what that needs.
func (g *modular) spell(from *space, of *symbol) string {
	if g.slip() {
		return g.one(of.name, of.in.name+"::"+of.name, "nope::"+of.name, "m::s::"+of.name)
	}
	if of.in == from && (from.name == "" || !g.chance(5)) {
		return of.name
	}
	above := strings.HasPrefix(from.name, of.in.name+"::")
	if above && !from.known[of.name] && of.typ == "" && g.chance(2) {
		return of.name // of a namespace around it
	}
	if of.in.name == "" {
		return "__config__::" + of.name
	}
	as, ok := from.imports[of.in.name]
	if !ok && !g.slip() {
		as = of.in.name
		if g.chance(4) {
			as = g.one("x", "y", "z", "m") + fmt.Sprint(len(from.imports))
		}
		from.imports[of.in.name] = as
	}
	if as == "" {
		as = of.in.name
	}
	return as + "::" + of.name
}

// types defines types and entities.
func (g *modular) types() {
	for range 2 + g.r.IntN(3) {
		s := g.anywhere()
		name := g.one("small", "word")
		if !g.fresh(s, name) {
			continue
		}
		d := &symbol{in: s, name: name, typ: map[string]string{"small": "int",
			"word": "string"}[name]}
		base := d.typ
		if o := g.sameType(s, d.typ); o != nil && g.chance(3) {
			base = g.spell(s, o)
		}
		condition := g.one("self < 100", "self != 3", "self >= 0 or self == -3")
		if d.typ == "string" {
			condition = g.one("/[a-z]*$/", `self != "no"`, "std::length(self) < 9")
		}
		s.line("typedef %s as %s matching %s", name, base, condition)
		g.defs = append(g.defs, d)
	}
	for range 2 + g.r.IntN(5) {
		s, k := g.anywhere(), &symbol{name: g.one("A", "B", "C")}
		if !g.fresh(s, k.name) {
			continue
		}
		k.in = s
		extends := ""
		if k.parent = g.entity(s); k.parent != nil && g.chance(2) {
			k.parent = nil
		} else if k.parent != nil {
			extends = " extends " + g.spell(s, k.parent)
		}
		s.line("entity %s%s:", k.name, extends)
		for i := range 1 + g.r.IntN(2) {
			a := &symbol{name: fmt.Sprintf("a%d%d", len(g.kinds), i), typ: g.one("int", "string")}
			typ := a.typ
			if d := g.sameType(s, a.typ); d != nil && g.chance(2) {
				typ = g.spell(s, d)
			}
			s.line("    %s %s%s", typ, a.name, g.one("", "", " = "+g.literal(a.typ)))
			k.attrs = append(k.attrs, a)
		}
		s.line("end")
		if g.chance(3) {
			k.index = true
			at := g.seeing(k)
			at.line("index %s(%s)", g.spell(at, k), k.attrs[0].name)
		}
		g.kinds = append(g.kinds, k)
	}
	for _, k := range g.kinds {
		g.implement(k)
	}
}

func (g *modular) sameType(s *space, typ string) *symbol {
	for _, d := range g.defs {
		if d.typ == typ && g.sees(s, d) && g.chance(2) {
			return d
		}
	}
	return nil
}

// implement writes implementations of an entity, in any namespace.
func (g *modular) implement(k *symbol) {
	s := g.seeing(k)
	if g.chance(3) {
		s.line("implement %s using std::none", g.spell(s, k))
		return
	}
	i := &symbol{in: s, name: g.one("i", "j") + fmt.Sprint(len(g.impls)), kind: k}
	s.line("implementation %s for %s:", i.name, g.spell(s, k))
	a := k.attrs[0].name
	s.line("    %s", g.one(`std::print("`+i.name+` {{ self.`+a+` }}")`, "x = "+a, "y = self."+a,
		"std::print("+g.one(append(slices.Sorted(maps.Keys(s.vars())), a)...)+")"))
	s.line("end")
	g.impls = append(g.impls, i)
	at := g.seeing(k, i)
	also := ""
	if k.parent != nil && g.chance(3) {
		also = ", parents"
	}
	at.line("implement %s using %s%s", g.spell(at, k), g.spell(at, i), also)
}

// relate makes relations to many between entities, written in any namespace.
func (g *modular) relate() {
	for n := range g.r.IntN(3) {
		if len(g.kinds) == 0 {
			return
		}
		from, to := g.kinds[g.r.IntN(len(g.kinds))], g.kinds[g.r.IntN(len(g.kinds))]
		s := g.seeing(from, to)
		back := ""
		if g.chance(2) {
			back = fmt.Sprintf(".q%d [0:1]", n)
		}
		r := &symbol{in: s, name: fmt.Sprintf("r%d", n), kind: to}
		s.line("%s.%s [0:] -- %s%s", g.spell(s, from), r.name, g.spell(s, to), back)
		from.rels = append(from.rels, r)
	}
}

func (k *symbol) all() (attrs, rels []*symbol) {
	if k.parent != nil {
		attrs, rels = k.parent.all()
	}
	return append(slices.Clone(attrs), k.attrs...), append(slices.Clone(rels), k.rels...)
}

// value returns an expression of a type: often a variable of another namespace.
func (g *modular) value(s *space, typ string) string {
	for _, v := range g.vars {
		switch {
		case !g.sees(s, v):
		case v.typ == typ && g.chance(2):
			return g.one(g.spell(s, v), map[string]string{
				"int": g.spell(s, v) + " + 1", "string": `"<{{ ` + g.spell(s, v) + ` }}>"`,
			}[typ])
		case v.kind != nil && g.chance(4):
			attrs, _ := v.kind.all()
			if a := attrs[g.r.IntN(len(attrs))]; a.typ == typ {
				return g.spell(s, v) + "." + a.name
			}
		}
	}
	return g.literal(typ)
}

func (g *modular) construct(s *space, k *symbol, depth int) string {
	attrs, rels := k.all()
	var args []string
	for _, a := range attrs {
		args = append(args, a.name+"="+g.value(s, a.typ))
	}
	for _, r := range rels {
		if depth > 0 && g.sees(s, r.kind) && g.chance(2) {
			made := g.construct(s, r.kind, depth-1)
			if g.chance(3) { // its namespace follows from the relation
				made = r.kind.name + made[strings.IndexByte(made, '('):]
			}
			args = append(args, r.name+"="+made)
		}
	}
	return g.spell(s, k) + "(" + strings.Join(args, ", ") + ")"
}

func (g *modular) statement(s *space) {
	name := g.one("x", "y", "z", "a", "b", "m", "n")
	if !g.fresh(s, name) {
		return
	}
	v := &symbol{in: s, name: name}
	switch n := g.r.IntN(6); {
	case n < 3 && g.entity(s) != nil:
		for v.kind == nil {
			v.kind = g.entity(s)
		}
		s.line("%s = %s", name, g.construct(s, v.kind, 1))
	case n == 3 && len(g.kinds) > 0 && g.kinds[0].index && g.sees(s, g.kinds[0]):
		v.kind = g.kinds[0]
		a := v.kind.attrs[0]
		s.line("%s = %s[%s=%s]", name, g.spell(s, v.kind), a.name, g.literal(a.typ))
	case n == 4 && len(g.vars) > 0:
		o := g.vars[g.r.IntN(len(g.vars))]
		if !g.sees(s, o) {
			return
		}
		v.typ, v.kind = o.typ, o.kind
		s.line("%s = %s", name, g.spell(s, o))
		if v.kind != nil {
			k := g.kinds[g.r.IntN(len(g.kinds))]
			s.line(`std::print(std::is_instance(%s, "%s::%s"))`, name,
				cmp.Or(k.in.name, "__config__"), k.name)
		}
	default:
		v.typ = g.one("int", "string")
		s.line("%s = %s", name, g.value(s, v.typ))
		if g.chance(3) {
			inner := g.one("x", "y", "q")
			s.line("if %s == %s:\n    %s = 7\n    std::print(%s)\nend", name,
				g.value(s, v.typ), inner, inner)
		}
	}
	g.vars = append(g.vars, v)
	if v.kind == nil {
		return
	}
	_, rels := v.kind.all()
	for _, r := range rels {
		if g.chance(3) && g.sees(s, r.kind) {
			s.line("%s.%s += %s", name, r.name, g.construct(s, r.kind, 0))
		}
	}
}
