package eval

import (
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// constructNode makes an instance, or finds it in an index.
type constructNode struct {
	shape
	entity  *types.Entity
	direct  []argument // what is part of an index: needed before there is an instance
	others  []argument // set when there is one; in frames of their own, in a scope that holds it
	spreads []argument
	nested  bool // the others need that scope
	// missing are attributes of indexes that have to come from a dictionary, or from the other end
	// of the relation that it is made for.
	missing []string
	forOf   node // the instance whose attribute this value is for; nil if it is not needed
	forName string
}

// construct binds a constructor.
func (b *binder) construct(x *syntax.Construct, h *hint) node {
	n := &constructNode{shape: shape{at: b.file.onLine(x, x.Entity.To+1)}}
	var f *fail
	if n.entity, f = b.constructed(x, h, n.at); f != nil {
		b.bindAll(x.Args)
		return b.report(f)
	}
	given := map[string]bool{}
	for i := range x.Args {
		if x.Args[i].Name != nil {
			given[x.Args[i].Name.Text] = true
		}
	}
	for _, d := range n.entity.AllDefaults() {
		given[d.Name] = true
	}
	indexed := map[string]bool{}
	for _, index := range n.entity.Indexes {
		for _, name := range index {
			if indexed[name] = given[name]; !given[name] {
				n.missing = append(n.missing, name)
			}
		}
	}
	b.constructArgs(n, x.Args, indexed)
	b.fromOtherEnd(n, h, x)
	return n
}

// bindAll binds arguments only for what is wrong with them.
func (b *binder) bindAll(args []syntax.Arg) {
	for i := range args {
		b.root(args[i].Value, nil)
	}
}

// fromOtherEnd binds what a constructor needs of what its value is for.
func (b *binder) fromOtherEnd(n *constructNode, h *hint, x *syntax.Construct) {
	if len(n.missing) == 0 {
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
	return f.advise("give it a value here; without it the instance cannot be told from others").
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

// amongFamily looks for the entity of a constructor among those that its value may be of. f is
// what is said if there is none.
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

// family calls use with an entity and all that extend it.
func family(e *types.Entity, use func(*types.Entity)) {
	use(e)
	for _, c := range e.Children {
		family(c, use)
	}
}

// constructArgs binds the arguments and defaults of a constructor.
func (b *binder) constructArgs(n *constructNode, args []syntax.Arg, indexed map[string]bool) {
	holder := &block{parent: b.block, names: map[string]int{"": 0}, ns: b.block.ns}
	n.nested = slices.ContainsFunc(
		args,
		func(a syntax.Arg) bool { return a.Name != nil && !indexed[a.Name.Text] && constructs(a.Value) },
	)
	byName := map[string]node{}
	var order []string
	for _, d := range n.entity.AllDefaults() {
		byName[d.Name] = &constant{shape: shape{at: n.at}, result: d.Value}
		order = append(order, d.Name)
	}
	for i := range args {
		a := &args[i]
		if a.Spread {
			n.spreads = append(n.spreads, argument{spread: true, of: b.node(a.Value, nil)})
			continue
		}
		name := a.Name.Text
		attribute := n.entity.Attribute(name)
		if attribute == nil {
			b.unknownArg(n, a)
			continue
		}
		if byName[name] == nil {
			order = append(order, name)
		}
		if indexed[name] {
			byName[name] = b.node(a.Value, nil)
			continue
		}
		h := &hint{in: holder, name: name, typ: hinted(attribute)}
		in := b.block
		if n.nested {
			in = holder
		}
		b.inside(in, func() { byName[name] = b.root(a.Value, h) })
	}
	for _, name := range order {
		if a := (argument{name: name, of: byName[name]}); indexed[name] {
			n.direct = append(n.direct, a)
		} else {
			n.others = append(n.others, a)
		}
	}
}

// unknownArg says that an entity has no attribute of the name of an argument.
func (b *binder) unknownArg(n *constructNode, a *syntax.Arg) {
	name := a.Name.Text
	f := failed(CodeUnknownAttr, b.file.pos(a.Name), "%s has no attribute %s", n.entity.FullName(), name)
	f.heavy(10).advise("%s", DidYouMean(name, attributeNames(n.entity)))
	b.problem(f.with(n.entity.At, "the entity is defined here"))
	b.root(a.Value, nil)
}

// hinted returns what a value has to be for an attribute.
func hinted(a *types.Attribute) types.Type {
	if a.Relation != nil {
		return a.Relation.Target
	}
	return a.Type
}

// constructs reports whether an expression may make an instance as its value.
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
