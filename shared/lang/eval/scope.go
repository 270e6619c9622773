package eval

import (
	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// block is a lexical scope with the variables that the source text declares. It belongs to the
// statements of a file, a body, a comprehension, the arguments of a constructor, or the attributes
// of an instance.
type block struct {
	parent   *block
	names    map[string]int // indexes of its own variables
	instance bool           // its names are the attributes of an instance, known at run time
	ns       *namespace
	// statements declare its variables; nil if its variables do not come from statements.
	statements []syntax.Statement
}

// scope is a block at run time, with its variables.
type scope struct {
	parent   *scope
	vars     []variable
	instance *Instance
}

// owner returns the instance whose implementation contains a scope; nil outside of implementations.
func (s *scope) owner() *Instance {
	for ; s != nil; s = s.parent {
		if s.instance != nil {
			return s.instance
		}
	}
	return nil
}

// depth returns the nesting depth of implementations in this scope.
func (s *scope) depth() int {
	if o := s.owner(); o != nil {
		return int(o.depth) + 1
	}
	return 0
}

// open creates a scope of a block.
func (b *block) open(parent *scope) *scope {
	return &scope{parent: parent, vars: make([]variable, len(b.names))}
}

// spot is the static location of a variable.
type spot struct {
	name string
	up   int // number of scopes to go up; -1 for a variable of global
	// index of the variable in that scope; -1 for an attribute of an instance, or if up is -1
	index  int
	global *namespace
	last   string // the name of the variable in global
	// numeral is a number in the notation of another language, which ends with the name
	numeral string
	// declared is the variable that is assigned after the name, if the name stands like the type of
	// a declaration
	declared string
	block    *block // the block that uses the name; nil if the name was found
	// values are those of the type that a loop goes over; nil if there are none
	values *types.List
	isType bool // the name is that of a typedef, and a loop goes over it
}

// find resolves the name of a variable in a block.
func (b *block) find(name string, at *diag.Pos) (spot, *fail) {
	s := spot{name: name, index: -1, global: b.ns, last: name}
	if ns, last := within(name); ns != "" {
		target, f := b.ns.namespaceSeen(ns, at)
		s.global, s.last, s.up = target, last, -1
		return s, f
	}
	for at := b; at != nil; at = at.parent {
		if at.instance {
			s.block = b
			return s, nil
		}
		if i, ok := at.names[name]; ok {
			s.index = i
			return s, nil
		}
		s.up++
	}
	s.up, s.block = -1, b
	return s, nil
}

// lookUp returns the variable at a spot. at is the position of its name.
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
	if p.values != nil {
		return known(p.values), nil
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
	if p.isType {
		f.message += ", and the type of that name does not list its values"
		return nil, f.advise("a loop goes over a type such as typedef %s as string matching self in "+
			"[\"a\", \"b\"]", p.last)
	}
	if inner := p.inner(); inner != nil {
		return nil, f.advise("%s", inner.hint).with(inner.at, inner.message)
	}
	if _, plugin := p.global.types[p.last].(*Plugin); plugin {
		return nil, f.advise("it is a plugin, which is called: write %s(...)", p.name)
	}
	if p.global.block != nil {
		f.hint = DidYouMean(p.last, p.near(s))
	}

	return nil, f
}

// near returns the names that the author may have meant.
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

// dynamic resolves a variable by a name that is only known at run time; nil if there is none.
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

// binder converts syntax to nodes: it resolves names, and assigns slots of a frame to each node.
//
// Large: it has a method for each kind of statement and expression. The methods share the open
// frames.
type binder struct {
	program *program
	file    *file
	block   *block
	slots   int
	args    []argument // arguments of the constructors that are being bound
	at      *diag.Pos  // position of the variable of the loop that is being bound
	problem func(*fail)
}

// report records a problem, and returns a placeholder node so that binding continues.
func (b *binder) report(f *fail) node {
	b.problem(f)
	return &constant{result: types.Null{}, shape: shape{at: f.at}}
}

// slot allocates the next slot of the frame.
func (b *binder) slot() int {
	b.slots++
	return b.slots - 1
}

// own binds an expression with its own frame.
func (b *binder) own(do func() node) node {
	saved := b.slots
	b.slots = 0
	n := do()
	b.slots = saved
	return n
}

// inside runs do with another block as the current one.
func (b *binder) inside(in *block, do func()) {
	saved := b.block
	b.block = in
	do()
	b.block = saved
}

// root binds an expression with its own frame.
func (b *binder) root(x syntax.Expression, h *hint) node {
	return b.own(func() node { return b.node(x, h) })
}

// hint is the attribute that gets the value of an expression. A constructor may need the other end
// of the relation, or the namespace of the entity, from the hint.
type hint struct {
	of   syntax.Expression // the instance, as parsed; nil if it is constructed in the block in
	in   *block
	name string
	typ  types.Type // nil if the type is only known at run time
}

// shape is the common part of nodes: the slots in the frame, and the position in the source text.
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
	// emit puts the variables that the value depends on into the frame, and starts the computations
	// of these variables.
	emit(e *engine, s *scope, f frame) *fail
	// gradual is emit for a collector that receives values one by one. It returns false if the node
	// does not pass values to the collector, so that the caller must pass the value.
	gradual(e *engine, s *scope, f frame, c collector) (bool, *fail)
	// value computes the value when all variables of the frame are ready; nil if the expression has
	// no value.
	value(e *engine, s *scope, f frame) (types.Value, *fail)
}

// node binds an expression in the current frame.
func (b *binder) node(x syntax.Expression, h *hint) node {
	from := b.slots
	n := b.bind(x, h)
	n.fit(from, b.slots)
	return n
}
