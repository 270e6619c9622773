package eval

import (
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// indexNode looks up an instance, and waits for it.
type indexNode struct {
	shape
	entity *types.Entity // nil for a lookup by a relation
	of     node          // the instance with the relation
	name   string        // name of the relation
	args   []argument    // in the frame of the lookup
	size   int
	slot   int
}

func (b *binder) indexLookup(x *syntax.IndexLookup) node {
	n := &indexNode{slot: b.slot()}
	if x.Of != nil {
		n.at = b.file.onLine(x, x.Of.To+1)
	} else {
		n.at = b.file.onLine(x, x.Entity.To+1)
	}
	b.own(func() node {
		n.args = b.arguments(x.Args)
		if x.Of != nil {
			n.of, n.name = b.node(x.Of.Of, nil), x.Of.Name.Text
		}
		n.size = b.slots
		return nil
	})
	if x.Of != nil {
		return n
	}
	t, f := b.block.ns.typeOf(x.Entity.Text, b.file.pos(&x.Entity))
	if f != nil {
		return b.report(f)
	}
	n.entity, _ = t.(*types.Entity)
	return n
}

func (n *indexNode) gradual(e *engine, s *scope, f frame, _ collector) (bool, *fail) {
	return false, n.emit(e, s, f)
}

func (n *indexNode) value(_ *engine, _ *scope, f frame) (types.Value, *fail) {
	return f.get(n.slot), nil
}

func (n *indexNode) emit(e *engine, s *scope, f frame) *fail {
	g := frame{vars: make([]*variable, n.size)}
	for i := range n.args {
		if x := n.args[i].of.emit(e, s, g); x != nil {
			return x.in(n.at, false)
		}
	}
	if n.of != nil {
		if x := n.of.emit(e, s, g); x != nil {
			return x.in(n.at, false)
		}
	}
	result := &variable{}
	e.start(&later{at: n.at, do: func(u *unit) *fail { return n.search(u, s, result) }}, g)
	f.set(n.slot, result)
	return nil
}

func (n *indexNode) search(u *unit, s *scope, result *variable) *fail {
	e := u.engine
	if x := u.take(); x != nil {
		return x
	}
	entity, values := n.entity, []named{}
	if n.of != nil {
		root, x := n.of.value(e, s, u.frame)
		if x != nil {
			return x
		}
		back, x := n.relation(root)
		if x != nil {
			return x
		}
		values = append(values, named{name: back.Name, value: root})
		entity = root.(*Instance).entity.Attribute(n.name).Relation.Target
	}
	for i := range n.args {
		v, x := n.args[i].of.value(e, s, u.frame)
		if x != nil {
			return x
		}
		if !n.args[i].spread {
			values = append(values, named{name: n.args[i].name, value: v})
			continue
		}
		d, x := n.args[i].dict(v)
		if x != nil {
			return x
		}
		for _, k := range d.Keys() {
			item, _ := d.Get(k)
			values = append(values, named{name: k, value: item})
		}
	}
	_, x := e.find(entity, values, n.at, result)
	return x
}

// relation returns the other end of the relation of a lookup.
func (n *indexNode) relation(root types.Value) (*types.Attribute, *fail) {
	o, ok := root.(*Instance)
	if !ok {
		return nil, failed(
			CodeNotEntity,
			n.at,
			"a look-up by a relation begins at an instance, and this is %s",
			types.Kind(root),
		).heavy(10)
	}
	a := o.entity.Attribute(n.name)
	switch {
	case a == nil || a.Relation == nil:
		return nil, failed(
			CodeRelation,
			n.at,
			"%s has no relation %s",
			o.entity.FullName(),
			n.name,
		).heavy(10)
	case a.Relation.Inverse == nil:
		return nil, failed(
			CodeRelation,
			n.at,
			"the relation %s goes one way, so it cannot be used for a look-up",
			n.name,
		).heavy(10)
	}
	return a.Relation.Inverse, nil
}
