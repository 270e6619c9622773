package eval

import (
	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// block is where statements see variables, as far as the text tells: the statements of a file, a
// body, a comprehension, the arguments of a constructor, or the attributes of an instance.
type block struct {
	parent   *block
	names    map[string]int // of its own variables
	instance bool           // its names are the attributes of an instance, which only a run knows
	ns       *namespace
	// statements are those that declare its variables; nil where they are not statements.
	statements []syntax.Statement
}

// scope is a block at work.
type scope struct {
	parent   *scope
	vars     []variable
	instance *Instance
}

// owner returns the instance in whose implementation a scope is; nil outside.
func (s *scope) owner() *Instance {
	for ; s != nil; s = s.parent {
		if s.instance != nil {
			return s.instance
		}
	}
	return nil
}

// depth returns how many implementations are one in the other here.
func (s *scope) depth() int {
	if o := s.owner(); o != nil {
		return int(o.depth) + 1
	}
	return 0
}

// open makes the scope of a block.
func (b *block) open(parent *scope) *scope {
	return &scope{parent: parent, vars: make([]variable, len(b.names))}
}

// spot is where the text says that a variable is.
type spot struct {
	name string
	up   int // how many scopes up
	// of the variable there; -1 for an attribute of an instance, or when up leads nowhere
	index  int
	global *namespace
	last   string // its name in global
	// numeral is what other languages read as a number, of which the name is the end
	numeral string
	// declared is the variable that is assigned behind the name, as if it were its type
	declared string
}

// find finds a variable from a block.
func (b *block) find(name string, at *diag.Pos) (spot, *fail) {
	s := spot{name: name, index: -1, global: b.ns, last: name}
	if ns, last := within(name); ns != "" {
		target, f := b.ns.namespaceSeen(ns, at)
		s.global, s.last, s.up = target, last, -1
		return s, f
	}
	for at := b; at != nil; at = at.parent {
		if at.instance {
			return s, nil
		}
		if i, ok := at.names[name]; ok {
			s.index = i
			return s, nil
		}
		s.up++
	}
	s.up = -1
	return s, nil
}

// lookUp returns the variable at a spot. at is where its name stands.
func (p *spot) lookUp(s *scope, at *diag.Pos) (*variable, *fail) {
	if p.up >= 0 {
		for range p.up {
			s = s.parent
		}
		if p.index >= 0 {
			return &s.vars[p.index], nil
		}
		if v := s.instance.variable(p.name); v != nil {
			return v, nil
		}
	}
	if p.global.block != nil {
		if i, ok := p.global.block.names[p.last]; ok {
			return &p.global.scope.vars[i], nil
		}
	}
	f := &fail{
		code:    CodeUnknownName,
		message: "the variable " + p.name + " is not defined",
		weight:  20,
		mark:    at,
	}
	if p.numeral != "" {
		f.message += ", and " + p.numeral + " is not a number"
		return nil, f.advise("%s", syntax.NumeralHint)
	}
	if p.declared != "" {
		return nil, f.advise("%s", syntax.Declaration(p.declared))
	}
	if _, plugin := p.global.types[p.last].(*Plugin); plugin {
		return nil, f.advise("it is a plugin, which is called: write %s(...)", p.name)
	}
	if p.global.block != nil {
		f.hint = DidYouMean(p.last, p.near(s))
	}

	return nil, f
}

// near returns the names that could be meant.
func (p *spot) near(s *scope) []string {
	var out []string
	for name := range p.global.block.names {
		out = append(out, name)
	}
	if p.up >= 0 && s.instance != nil {
		for _, a := range s.instance.entity.All() {
			out = append(out, a.Name)
		}
	}
	return out
}

// dynamic finds a variable by a name that only a run knows; nil if there is none.
func (b *block) dynamic(name string, s *scope) *variable {
	at, f := b.find(name, nil)
	if f != nil {
		return nil
	}
	v, f := at.lookUp(s, nil)
	if f != nil {
		return nil
	}
	return v
}

// binder turns syntax into nodes: it finds what names mean and gives each node its places in a
// frame.
//
// Large: it has a method for each kind of statement and expression, which share the frames that are
// open.
type binder struct {
	program *program
	file    *file
	block   *block
	slots   int
	args    []argument // of the constructors at hand
	at      *diag.Pos  // of the variable of the loop at hand
	problem func(*fail)
}

// report notes a problem, and goes on.
func (b *binder) report(f *fail) node {
	b.problem(f)
	return &constant{result: types.Null{}, shape: shape{at: f.at}}
}

// slot gives the next place of the frame.
func (b *binder) slot() int {
	b.slots++
	return b.slots - 1
}

// own binds something that has a frame of its own.
func (b *binder) own(do func() node) node {
	saved := b.slots
	b.slots = 0
	n := do()
	b.slots = saved
	return n
}

// inside binds something in another block.
func (b *binder) inside(in *block, do func()) {
	saved := b.block
	b.block = in
	do()
	b.block = saved
}

// root binds an expression in a frame of its own.
func (b *binder) root(x syntax.Expression, h *hint) node {
	return b.own(func() node { return b.node(x, h) })
}

// hint is the attribute that a value is for: a constructor may take the other end of the relation
// from it, and the namespace of its name.
type hint struct {
	of   syntax.Expression // the instance, as it is written; nil if it is being made in block
	in   *block
	name string
	typ  types.Type // nil if only a run knows it
}

// shape is what all nodes have: their places in the frame, and their place in the text.
type shape struct {
	from, size int
	at         *diag.Pos
}

func (s *shape) slots() (int, int) { return s.from, s.size }
func (s *shape) pos() *diag.Pos    { return s.at }
func (s *shape) fit(from, to int)  { s.from, s.size = from, to-from }

// node is a bound expression.
type node interface {
	slots() (from, size int)
	fit(from, to int)
	pos() *diag.Pos
	// emit puts the variables that the value needs into the frame, and starts what has to be done
	// for them.
	emit(e *engine, s *scope, f frame) *fail
	// gradual is emit for a consumer that takes values one by one. It returns false if the consumer
	// has to be given the value by whoever computes it.
	gradual(e *engine, s *scope, f frame, c collector) (bool, *fail)
	// value computes the value when all variables of the frame are ready; nil for no value at all.
	value(e *engine, s *scope, f frame) (types.Value, *fail)
}

// node binds an expression in the frame at hand.
func (b *binder) node(x syntax.Expression, h *hint) node {
	from := b.slots
	n := b.bind(x, h)
	n.fit(from, b.slots)
	return n
}
