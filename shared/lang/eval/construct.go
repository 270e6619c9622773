package eval

import (
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// constructNode creates an instance, or finds the existing one in an index.
type constructNode struct {
	shape
	entity  *types.Entity
	direct  []argument // attributes of an index, which are needed before the instance exists
	others  []argument // set when the instance exists; in their own frames, in the scope of the instance
	nested  bool       // others need the scope with the instance
	*beside            // nil for most constructors
}

// beside holds the sources of attributes other than arguments.
type beside struct {
	spreads []argument
	// missing are attributes of indexes that the constructor does not set. They have to come from a
	// dictionary, or from the other end of the relation that the instance becomes a value of.
	missing []string
	forOf   node // the instance whose attribute gets this value; nil if it is not needed
	forName string
}

// also returns beside, and creates it if necessary.
func (n *constructNode) also() *beside {
	if n.beside == nil {
		n.beside = &beside{}
	}
	return n.beside
}

// construct binds a constructor.
func (b *binder) construct(x *syntax.Construct, h *hint) node {
	n := &constructNode{shape: shape{at: b.file.onLine(x, x.Entity.To+1)}}
	var f *fail
	if n.entity, f = b.constructed(x, h, n.at); f != nil {
		b.bindAll(x.Args)
		return b.report(f)
	}
	var indexed []string // attributes of indexes that have a value
	for _, index := range n.entity.Indexes {
		for _, name := range index {
			if hasValue(n.entity, x.Args, name) {
				indexed = append(indexed, name)
			} else {
				more := n.also()
				more.missing = append(more.missing, name)
			}
		}
	}
	b.constructArgs(n, x.Args, indexed)
	b.fromOtherEnd(n, h, x)
	return n
}

// hasValue reports whether an attribute has a value in a constructor, or a default.
func hasValue(entity *types.Entity, args []syntax.Arg, name string) bool {
	for i := range args {
		if args[i].Name != nil && args[i].Name.Text == name {
			return true
		}
	}
	return slices.ContainsFunc(entity.AllDefaults(), func(d types.Default) bool {
		return d.Name == name
	})
}

// bindAll binds arguments only to report their problems.
func (b *binder) bindAll(args []syntax.Arg) {
	for i := range args {
		b.root(args[i].Value, nil)
	}
}

// fromOtherEnd binds the instance whose attribute gets this value, if the constructor needs the
// other end of the relation.
func (b *binder) fromOtherEnd(n *constructNode, h *hint, x *syntax.Construct) {
	if n.beside == nil || len(n.missing) == 0 {
		return
	}
	if len(n.spreads) == 0 && (h == nil || len(n.missing) > 1) {
		b.problem(missingIndexed(n.entity, n.missing, n.at))
		return
	}
	if h == nil {
		return
	}
	n.forName = h.name
	if h.of != nil {
		n.forOf = b.node(h.of, nil)
		return
	}
	up := 0
	for at := b.block; at != h.in; at = at.parent {
		up++
	}
	from := b.slots
	n.forOf = &refNode{shape: shape{at: n.at}, where: spot{up: up, index: 0}, slot: b.slot()}
	n.forOf.fit(from, b.slots)
}

func missingIndexed(entity *types.Entity, names []string, at *diag.Pos) *fail {
	f := failed(
		CodeIndexMissing,
		at,
		"%s is missing: it is part of an index of %s",
		strings.Join(slices.Compact(names), ", "),
		entity.FullName(),
	).heavy(10)
	return f.advise("give it a value here; without it the instance is not distinct from others").
		with(entity.At, "the entity is defined here")
}

// constructed returns the entity of a constructor.
func (b *binder) constructed(x *syntax.Construct, h *hint, at *diag.Pos) (*types.Entity, *fail) {
	name := x.Entity.Text
	found, f := b.block.ns.typeOf(name, b.file.pos(&x.Entity))
	local, _ := found.(*types.Entity)
	if h == nil || h.typ == nil {
		return local, f
	}
	target, ok := h.typ.(*types.Entity)
	switch {
	case !ok:
		return nil, failed(
			CodeType,
			at,
			"%s is for a value of type %s, and cannot be an instance of %s",
			h.name,
			h.typ,
			name,
		).heavy(10)
	case local != nil && !local.Is(target):
		return nil, failed(
			CodeType,
			at,
			"%s is for instances of %s, and %s is not one",
			h.name,
			target.FullName(),
			local.FullName(),
		).heavy(10)
	case local != nil:
		return local, nil
	case strings.Contains(name, "::"):
		return nil, f
	}
	return b.amongFamily(x, target, f)
}

// amongFamily searches the entity of a constructor among the target of the attribute and the
// entities that extend it. If there is none, it returns f.
func (b *binder) amongFamily(
	x *syntax.Construct,
	target *types.Entity,
	f *fail,
) (*types.Entity, *fail) {
	name := x.Entity.Text
	var candidates []*types.Entity
	family(target, func(e *types.Entity) {
		if e.Name == name && !slices.Contains(candidates, e) {
			candidates = append(candidates, e)
		}
	})
	switch len(candidates) {
	case 0:
		return nil, f
	case 1:
		return candidates[0], nil
	}
	var names []string
	for _, c := range candidates {
		names = append(names, c.FullName())
	}
	slices.Sort(names)
	return nil, failed(
		CodeUnknownType,
		b.file.pos(&x.Entity),
		"%s could be any of %s",
		name,
		strings.Join(names, ", "),
	).heavy(20).
		advise("write its namespace too")
}

// family calls use for an entity and for all entities that extend it.
func family(e *types.Entity, use func(*types.Entity)) {
	use(e)
	for _, c := range e.Children {
		family(c, use)
	}
}

// constructArgs binds the arguments and defaults of a constructor.
func (b *binder) constructArgs(n *constructNode, args []syntax.Arg, indexed []string) {
	in := b.block
	n.nested = slices.ContainsFunc(args, func(a syntax.Arg) bool {
		return a.Name != nil && !slices.Contains(indexed, a.Name.Text) && constructs(a.Value)
	})
	if n.nested {
		in = &block{parent: b.block, names: map[string]int{"": 0}, ns: b.block.ns}
	}
	defaults, first := n.entity.AllDefaults(), len(b.args)
	for _, d := range defaults {
		b.args = append(b.args, argument{name: d.Name})
	}
	for i := range args {
		a := &args[i]
		if a.Spread {
			more := n.also()
			more.spreads = append(more.spreads, argument{spread: true, of: b.node(a.Value, nil)})
			continue
		}
		name := a.Name.Text
		attribute := n.entity.Attribute(name)
		if attribute == nil {
			b.unknownArg(n, a)
			continue
		}
		of, all := b.arg(a, attribute, slices.Contains(indexed, name), in), b.args[first:]
		at := slices.IndexFunc(all, func(a argument) bool { return a.name == name })
		if at >= 0 {
			all[at].of = of
			continue
		}
		b.args = append(b.args, argument{name: name, of: of})
	}
	all := b.args[first:]
	for i, d := range defaults {
		if all[i].of == nil {
			all[i].of, all[i].fallback = &constant{shape: shape{at: d.At}, result: d.Value}, true
		}
	}
	n.share(all, indexed)
	b.args = b.args[:first]
}

// arg binds the value of an attribute. A value that is not indexed has its own frame. If it
// constructs an instance, its block holds the outer instance.
func (b *binder) arg(a *syntax.Arg, of *types.Attribute, indexed bool, in *block) (out node) {
	if indexed {
		return b.node(a.Value, nil)
	}
	var h *hint
	if constructs(a.Value) {
		h = &hint{in: in, name: of.Name, typ: hinted(of)}
	}
	b.inside(in, func() { out = b.root(a.Value, h) })
	return out
}

// share splits arguments into direct, the attributes of an index, and others.
func (n *constructNode) share(all []argument, indexed []string) {
	out := make([]argument, 0, len(all))
	for _, a := range all {
		if slices.Contains(indexed, a.name) {
			out = append(out, a)
		}
	}
	n.direct = out[:len(out):len(out)]
	for _, a := range all {
		if !slices.Contains(indexed, a.name) {
			out = append(out, a)
		}
	}
	n.others = out[len(n.direct):]
}

// unknownArg reports an argument that names no attribute of the entity.
func (b *binder) unknownArg(n *constructNode, a *syntax.Arg) {
	name := a.Name.Text
	f := failed(CodeUnknownAttr, b.file.pos(a.Name), "%s has no attribute %s", n.entity.FullName(),
		name)
	f.heavy(10).advise("%s", DidYouMean(name, attributeNames(n.entity)))
	b.problem(f.with(n.entity.At, "the entity is defined here"))
	b.root(a.Value, nil)
}

// hinted returns the required type of a value for an attribute.
func hinted(a *types.Attribute) types.Type {
	if a.Relation != nil {
		return a.Relation.Target
	}
	return a.Type
}

// constructs reports whether an expression may construct an instance as its value.
func constructs(x syntax.Expression) bool {
	switch x := x.(type) {
	case *syntax.Construct:
		return true
	case *syntax.Group:
		return constructs(x.Value)
	case *syntax.List:
		return slices.ContainsFunc(x.Items, constructs)
	case *syntax.Condition:
		return constructs(x.Then) || constructs(x.Else)
	case *syntax.Comprehension:
		return constructs(x.Value)
	}
	return false
}
