package project_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generate makes a model: mostly meaningful, and often wrong in one place.
func generate(r *rand.Rand) string {
	g := &generator{r: r, wrong: r.IntN(4) == 0}
	if r.IntN(3) == 0 {
		g.soup()
		return g.b.String()
	}
	g.entities()
	g.relations()
	g.implementations()
	g.main()
	return g.b.String()
}

// generator makes one model.
type generator struct {
	r      *rand.Rand
	b      strings.Builder
	wrong  bool // mistakes are made
	types  []string
	kinds  []*kindOf
	vars   []variable
	fresh  int
	indent int
}

// kindOf is an entity.
type kindOf struct {
	name   string
	parent *kindOf
	attrs  []attribute
	index  []string
	rels   []*relation
}

type attribute struct{ name, typ, def string }

type relation struct {
	from, to    *kindOf
	name, back  string
	bounds      string
	backBounds  string
	many, multi bool // to many at this end, at the other
}

// variable is one that the model has by now.
type variable struct {
	name string
	typ  string
	kind *kindOf
}

func (g *generator) line(format string, args ...any) {
	g.b.WriteString(strings.Repeat("    ", g.indent))
	fmt.Fprintf(&g.b, format, args...)
	g.b.WriteByte('\n')
}

func (g *generator) one(options ...string) string { return options[g.r.IntN(len(options))] }
func (g *generator) chance(n int) bool            { return g.r.IntN(n) == 0 }

// mistake reports, seldom, that something is to be wrong.
func (g *generator) mistake() bool { return g.wrong && g.chance(40) }

func (g *generator) entities() {
	if g.chance(3) {
		g.line(
			"typedef %s as %s matching %s",
			"small",
			"int",
			g.one(
				"self < 10",
				"self >= 0 and self < 100",
				"self in [1, 2, 3, 4, 5]",
				"not (self > 50)",
				"self % 2 == 0 or self < 9",
			),
		)
		g.types = append(g.types, "small")
	}
	if g.chance(4) {
		g.line(
			"typedef word as string matching %s",
			g.one("/^[a-z]+$/", `/\w{1,8}/`, "self != \"bad\"", "/(a|b|c|x).*/"),
		)
		g.types = append(g.types, "word")
	}
	n := 1 + g.r.IntN(3)
	for i := range n {
		k := &kindOf{name: string(rune('A' + i))}
		if i > 0 && g.chance(3) {
			k.parent = g.kinds[g.r.IntN(i)]
		}
		g.kinds = append(g.kinds, k)
		g.entity(k)
	}
	for _, k := range g.kinds {
		if len(k.attrs) > 0 && g.chance(3) {
			k.index = []string{k.attrs[0].name}
			g.line("index %s(%s)", k.name, k.attrs[0].name)
			if g.mistake() {
				g.line("index %s(%s)", k.name, g.one("nope", "items"))
			}
		}
	}
}

func (g *generator) entity(k *kindOf) {
	extends := ""
	if k.parent != nil {
		extends = " extends " + k.parent.name
	}
	g.line("entity %s%s:", k.name, extends)
	g.indent++
	for i := range g.r.IntN(4) {
		a := attribute{
			name: fmt.Sprintf("%s%d", strings.ToLower(k.name), i),
			typ: g.one(
				append(g.types, "int", "string", "bool", "float", "int[]", "string?", "dict",
					"int?", "list")...),
		}
		if g.chance(3) {
			a.def = g.literal(a.typ)
			g.line("%s %s = %s", a.typ, a.name, a.def)
		} else {
			g.line("%s %s", a.typ, a.name)
		}
		k.attrs = append(k.attrs, a)
	}
	if g.mistake() {
		g.line("%s %s", g.one("nope", "int"), g.one("oops", "a0"))
	}
	g.indent--
	g.line("end")
}

func (k *kindOf) all() []attribute {
	if k.parent == nil {
		return k.attrs
	}
	return append(k.parent.all(), k.attrs...)
}

func (k *kindOf) relations() []*relation {
	if k.parent == nil {
		return k.rels
	}
	return append(k.parent.relations(), k.rels...)
}

func (g *generator) relations() {
	n := g.r.IntN(4)
	for i := range n {
		rel := &relation{from: g.kinds[g.r.IntN(len(g.kinds))], to: g.kinds[g.r.IntN(len(g.kinds))]}
		rel.name, rel.bounds = fmt.Sprintf(
			"r%d",
			i,
		), g.one("0:", "0:", "0:", "0:1", "1", "1:", "0:2")
		rel.many = rel.bounds != "1" && rel.bounds != "0:1"
		if g.chance(2) {
			rel.back, rel.backBounds = fmt.Sprintf("q%d", i), g.one("0:", "0:1", "0:", "1")
			rel.multi = rel.backBounds == "0:"
			g.line(
				"%s.%s [%s] -- %s.%s [%s]",
				rel.from.name,
				rel.name,
				rel.bounds,
				rel.to.name,
				rel.back,
				rel.backBounds,
			)
			rel.to.rels = append(
				rel.to.rels,
				&relation{
					from:   rel.to,
					to:     rel.from,
					name:   rel.back,
					bounds: rel.backBounds,
					many:   rel.multi,
				},
			)
		} else {
			g.line("%s.%s [%s] -- %s", rel.from.name, rel.name, rel.bounds, rel.to.name)
		}
		rel.from.rels = append(rel.from.rels, rel)
	}
}
