package jinja

import (
	"maps"
	"slices"
)

// Jinja2 reads all names that a part of a template mentions when that part starts: a template, a
// block, a round of a loop, a call of a macro. So an unknown name matters even in a branch that is
// not executed. This file computes these names, as the module idtracking of Jinja2 does.

// meaning is the source of a name's value in a part.
type meaning int

const (
	given   meaning = iota // a parameter, or the variable of a loop
	unset                  // none, until the part sets it
	outside                // an outer part
	looked                 // the host
)

// names are the names of a part of a template, or those that a branch adds to them.
type names struct {
	outer *names // of the enclosing part
	base  *names // the names that the branch adds to
	means map[string]meaning
	order []string
	// stored are the names that the part sets.
	stored map[string]bool
}

func namesWithin(outer *names) *names {
	return &names{outer: outer, means: map[string]meaning{}, stored: map[string]bool{}}
}

func (n *names) branch() *names {
	b := namesWithin(n.outer)
	b.base = n
	return b
}

// own reports whether the part itself has a name, not an enclosing one.
func (n *names) own(name string) bool {
	for ; n != nil; n = n.base {
		if _, ok := n.means[name]; ok {
			return true
		}
	}
	return false
}

func (n *names) has(name string) bool {
	for ; n != nil; n = n.outer {
		if n.own(name) {
			return true
		}
	}
	return false
}

func (n *names) sets(name string) bool {
	for ; n != nil; n = n.base {
		if n.stored[name] {
			return true
		}
	}
	return false
}

func (n *names) define(name string, as meaning) {
	if !n.own(name) {
		n.order = append(n.order, name)
	}
	n.means[name] = as
}

func (n *names) parameter(name string) {
	n.stored[name] = true
	n.define(name, given)
}

func (n *names) load(name string) {
	if !n.has(name) {
		n.define(name, looked)
	}
}

func (n *names) store(name string) {
	n.stored[name] = true
	switch {
	case n.own(name):
	case n.outer.has(name):
		n.define(name, outside)
	default:
		n.define(name, unset)
	}
}

// join merges the names of branches. Before a branch sets a name, the name has its meaning in the
// enclosing part.
func (n *names) join(branches ...*names) {
	var sets []string
	for _, b := range branches {
		for name := range b.stored {
			if !n.sets(name) {
				sets = append(sets, name)
			}
		}
	}
	for _, b := range branches {
		for _, name := range b.order {
			n.define(name, b.means[name])
		}
		maps.Copy(n.means, b.means)
		maps.Copy(n.stored, b.stored)
	}
	for _, name := range sets {
		n.means[name] = looked
		if n.outer.has(name) {
			n.means[name] = outside
		}
	}
}

// toLookUp returns the names to look up in the host, in the order of the text.
func (n *names) toLookUp() []string {
	var out []string
	for _, name := range n.order {
		if n.means[name] == looked {
			out = append(out, name)
		}
	}
	return out
}

// track computes the names of a template and of all of its parts.
func (t *Template) track() {
	top := namesWithin(nil)
	top.parameter("self")
	t.looksUp = tracked(top, t.body)
	for _, b := range t.blocks {
		n := namesWithin(nil)
		n.parameter("self")
		n.parameter("super")
		b.looksUp = tracked(n, b.body)
	}
}

// tracked computes the names of a part with known parameters, and of the parts in it. It returns
// the names to look up in the host.
func tracked(n *names, body []node, also ...expr) []string {
	for _, x := range also {
		n.mention(x)
	}
	n.all(body)
	partsOf(n, body)
	return n.toLookUp()
}

func (n *names) all(body []node) {
	for _, stmt := range body {
		stmt.reads(n)
	}
}

func partsOf(n *names, body []node) {
	for _, stmt := range body {
		stmt.parts(n)
	}
}

// assign records the targets of an assignment.
func (n *names) assign(to target, name func(string)) {
	switch to := to.(type) {
	case nameTarget:
		name(string(to))
	case tupleTarget:
		for _, t := range to {
			n.assign(t, name)
		}
	case attrTarget:
		n.load(to.of)
	}
}

func (line) reads(*names) {}
func (line) parts(*names) {}

func (n *printNode) reads(in *names) { in.mention(n.what) }

func (n *ifNode) reads(in *names) {
	in.mention(n.test)
	then, rest := in.branch(), in.branch()
	then.all(n.then)
	rest.all(n.rest)
	in.join(then, rest)
}

func (n *ifNode) parts(in *names) {
	partsOf(in, n.then)
	partsOf(in, n.rest)
}

func (n *forNode) reads(in *names) { in.mention(n.over) }

func (n *forNode) parts(in *names) {
	body, test := namesWithin(in), namesWithin(in)
	body.parameter("loop")
	body.assign(n.target, body.parameter)
	n.looksUp = tracked(body, n.body)
	test.assign(n.target, test.parameter)
	n.testLooksUp = tracked(test, nil, n.test)
	n.elseLooksUp = tracked(namesWithin(in), n.otherwise)
}

func (n *setNode) reads(in *names) {
	in.mention(n.value)
	in.assign(n.target, in.store)
}

func (n *setBlockNode) reads(in *names) { in.assign(n.target, in.store) }

func (n *setBlockNode) parts(in *names) { n.looksUp = tracked(namesWithin(in), n.body) }

func (n *withNode) reads(in *names) {
	for _, x := range n.values {
		in.mention(x)
	}
}

func (n *withNode) parts(in *names) {
	body := namesWithin(in)
	for _, to := range n.targets {
		body.assign(to, body.parameter)
	}
	n.looksUp = tracked(body, n.body)
}

func (n *macroNode) reads(in *names) { in.store(n.macro.name) }
func (n *macroNode) parts(in *names) { n.macro.track(in) }

func (m *macro) track(in *names) {
	body := namesWithin(in)
	for _, name := range m.params {
		body.parameter(name)
	}
	for _, name := range []string{"caller", "kwargs", "varargs"} {
		body.parameter(name)
	}
	m.looksUp = tracked(body, m.body, m.defaults...)
}

func (n *callNode) reads(in *names) { in.mention(n.call) }
func (n *callNode) parts(in *names) { n.body.track(in) }

func (n *filterNode) reads(in *names) { in.mention(n.filter) }
func (n *filterNode) parts(in *names) { n.looksUp = tracked(namesWithin(in), n.body) }

func (n *autoescapeNode) parts(in *names) { n.looksUp = tracked(namesWithin(in), n.body, n.on) }

func (n *extendsNode) reads(in *names) { in.mention(n.parent) }
func (n *includeNode) reads(in *names) { in.mention(n.what) }

func (n *importNode) reads(in *names) {
	in.mention(n.what)
	in.store(n.as)
}

func (n *fromNode) reads(in *names) {
	in.mention(n.what)
	for _, name := range n.names {
		in.store(name[1])
	}
}

// mention records the names that an expression reads.
func (n *names) mention(x expr) {
	if e, ok := x.(*nameExpr); ok {
		n.load(e.name)
		return
	}
	for _, inner := range operands(x) {
		n.mention(inner)
	}
}

// operands returns the direct subexpressions of an expression.
func operands(x expr) []expr {
	switch x := x.(type) {
	case *tupleExpr:
		return x.items
	case *listExpr:
		return x.items
	case *dictExpr:
		return append(slices.Clone(x.keys), x.values...)
	case *condExpr:
		return []expr{x.test, x.then, x.rest}
	case *binExpr:
		return []expr{x.left, x.right}
	case *logicExpr:
		return []expr{x.left, x.right}
	case *notExpr:
		return []expr{x.of}
	case *signExpr:
		return []expr{x.of}
	case *concatExpr:
		return x.items
	case *compareExpr:
		return append([]expr{x.first}, x.rest...)
	case *attrExpr:
		return []expr{x.of}
	case *itemExpr:
		return []expr{x.of, x.at}
	case *sliceExpr:
		return []expr{x.of, x.from, x.to, x.step}
	case *callExpr:
		return append([]expr{x.of}, x.args.operands()...)
	case *filterExpr:
		return append([]expr{x.of}, x.args.operands()...)
	case *testExpr:
		return append([]expr{x.of}, x.args.operands()...)
	}
	return nil
}

func (a arguments) operands() []expr {
	out := append(slices.Clone(a.args), a.list, a.dict)
	for _, n := range a.named {
		out = append(out, n.value)
	}
	return out
}

// lookUp looks up names in the host, each once in a rendering. An unknown value ends the rendering.
// It returns the names that have the host's value in this part although an enclosing template has
// set them. There are such names only if the variables are in the scope of the call.
func (s *state) lookUp(names []string) ([]namedValue, error) {
	var before []namedValue
	for _, name := range names {
		_, set := s.scope.get(name)
		if set && !s.models.seen || !set && s.models.known[name] {
			continue
		}
		v, ok, err := s.host.Lookup(name)
		if err == nil {
			err = known(v)
		}
		if err != nil {
			return nil, err
		}
		if set && ok {
			before = append(before, namedValue{name, v})
		}
		if _, none := s.host.(functionsOnly); !none {
			s.models.known[name] = true
		}
	}
	return before, nil
}

func (c *scope) setAll(values []namedValue) {
	for _, v := range values {
		c.set(v.name, v.value)
	}
}
