package eval

import (
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/types"
)

func (n *constructNode) gradual(e *engine, s *scope, f frame, _ collector) (bool, *fail) {
	return false, n.emit(e, s, f)
}

func (n *constructNode) emit(e *engine, s *scope, f frame) *fail {
	for i := range n.direct {
		if x := n.direct[i].of.emit(e, s, f); x != nil {
			return x
		}
	}
	if n.beside == nil {
		return nil
	}
	for i := range n.spreads {
		if x := n.spreads[i].of.emit(e, s, f); x != nil {
			return x
		}
	}
	if n.forOf != nil {
		return n.forOf.emit(e, s, f)
	}
	return nil
}

func (n *constructNode) value(e *engine, s *scope, f frame) (types.Value, *fail) {
	late, x := n.late(e, s, f)
	if x != nil {
		return nil, x
	}
	values := make([]named, 0, len(n.direct)+len(late))
	for i := range n.direct {
		v, x := n.direct[i].of.value(e, s, f)
		if x != nil {
			return nil, x
		}
		a := &n.direct[i]
		values = append(values, named{name: a.name, value: v, at: a.of.pos()})
	}
	values = overridden(values, late)
	o, x := n.instance(e, s, values)
	if x != nil {
		return nil, x
	}
	if x := n.setOthers(e, s, o, late); x != nil {
		return nil, x
	}
	return o, e.build(o)
}

// overridden returns values with the values of late, which take precedence.
func overridden(values, late []named) []named {
	for _, l := range late {
		if i := slices.IndexFunc(values, func(v named) bool { return v.name == l.name }); i >= 0 {
			values[i] = l
			continue
		}
		values = append(values, l)
	}
	return values
}

// late returns the attributes that come from dictionaries and from the other end of a relation.
func (n *constructNode) late(e *engine, s *scope, f frame) ([]named, *fail) {
	if n.beside == nil || len(n.spreads) == 0 && n.forOf == nil {
		return nil, nil
	}
	out := []named{}
	has := func(name string) bool { return has(out, name) }
	for i := range n.spreads {
		v, x := n.spreads[i].of.value(e, s, f)
		if x != nil {
			return nil, x
		}
		if out, x = n.fromDict(&n.spreads[i], v, out); x != nil {
			return nil, x
		}
	}
	inverse, x := n.otherEnd(e, s, f, has)
	if x != nil {
		return nil, x
	}
	if inverse.value != nil {
		out = append([]named{inverse}, out...)
	}
	for _, name := range n.missing {
		if !has(name) && name != inverse.name {
			return nil, missingIndexed(n.entity, []string{name}, n.at)
		}
	}
	return out, nil
}

// has reports whether values has a value with this name.
func has(values []named, name string) bool {
	return slices.ContainsFunc(values, func(v named) bool { return v.name == name })
}

// fromDict adds the entries of a dictionary to values.
func (n *constructNode) fromDict(a *argument, v types.Value, out []named) ([]named, *fail) {
	d, f := a.dict(v)
	if f != nil {
		return nil, f
	}
	for _, k := range d.Keys() {
		if has(out, k) || n.written(k) {
			const text = "the attribute %s is set twice in this constructor"
			return nil, failed(CodeDuplicateArg, n.at, text, k)
		}
		if n.entity.Attribute(k) == nil {
			f := failed(CodeUnknownAttr, n.at, "%s has no attribute %s", n.entity.FullName(), k)
			return nil, f.heavy(10).advise("%s", DidYouMean(k, attributeNames(n.entity)))
		}
		item, _ := d.Get(k)
		out = append(out, named{name: k, value: item})
	}
	return out, nil
}

// written reports whether the text of the constructor sets an attribute.
func (n *constructNode) written(name string) bool {
	is := func(a argument) bool { return a.name == name && !a.fallback }
	return slices.ContainsFunc(n.direct, is) || slices.ContainsFunc(n.others, is)
}

// otherEnd returns the attribute that refers back to the instance this value is for, if an index
// needs it.
func (n *constructNode) otherEnd(
	e *engine,
	s *scope,
	f frame,
	has func(string) bool,
) (named, *fail) {
	if n.forOf == nil {
		return named{}, nil
	}
	v, x := n.forOf.value(e, s, f)
	if x != nil {
		return named{}, x
	}
	o, ok := v.(*Instance)
	if !ok {
		return named{}, failed(
			CodeNotEntity,
			n.at,
			"this is made for an attribute of %s, which is not an instance",
			types.Kind(v),
		)
	}
	a := o.entity.Attribute(n.forName)
	if a == nil || a.Relation == nil {
		return named{}, failed(
			CodeType,
			n.at,
			"an instance of %s cannot be a value of %s of %s, which is not a relation",
			n.entity.FullName(),
			n.forName,
			o.entity.FullName(),
		)
	}
	inverse := a.Relation.Inverse
	if inverse == nil || has(inverse.Name) || !n.entity.Is(inverse.Entity) ||
		!slices.Contains(n.missing, inverse.Name) {
		return named{}, nil
	}
	return named{name: inverse.Name, value: o}, nil
}

// shownValues formats attributes with their values: name='web1', port=80.
func shownValues(values []named) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = v.name + "=" + types.Short(v.value)
	}
	return strings.Join(texts, ", ")
}

// instance finds the instance in the indexes, or creates it.
func (n *constructNode) instance(e *engine, s *scope, values []named) (*Instance, *fail) {
	var found *Instance
	var by []string
	for _, index := range n.entity.Indexes {
		params := among(index, values, e.params[:0])
		e.params = params
		o, x := e.find(n.entity, params, n.at, nil)
		switch {
		case x != nil:
			return nil, x
		case o == nil:
			continue
		case o.entity != n.entity:
			x := failed(
				CodeIndexCollision,
				n.at,
				"%s with %s is there already, and a constructor of %s cannot stand for it",
				o.entity.FullName(),
				shownValues(params),
				n.entity.FullName(),
			).heavy(40).advise("the index is shared by all that extend the entity; look the " +
				"instance up, or give this one another value")
			return nil, x.with(o.lastAt(), "it is made here").with(n.entity.At, n.entity.Name+
				" is defined here")
		case found != nil && found != o:
			by := among(by, values, nil)
			x := failed(
				CodeIndexCollision,
				n.at,
				"this instance of %s would be two that are there already: the one with %s, and "+
					"the one with %s",
				n.entity.FullName(),
				shownValues(by),
				shownValues(params),
			).heavy(10).advise("change a value, so that all indexes lead to one instance or none")
			return nil, x.with(found.lastAt(), "the one with "+shownValues(by)+" is made here").
				with(o.lastAt(), "the one with "+shownValues(params)+" is made here")
		}
		found, by = o, index
	}
	if found == nil {
		return e.make(n.entity, values, n.at, s.depth())
	}
	before := found.made
	found.made = made{n.at, &before}
	for _, v := range values {
		if x := found.setAttribute(v.name, v.value, v.place(n.at), true); x != nil {
			return nil, x
		}
	}
	return found, nil
}

// among appends the values of the attributes of an index to out, in the order of the index.
func among(index []string, values, out []named) []named {
	for _, name := range index {
		for i := range values {
			if values[i].name == name {
				out = append(out, values[i])
				break
			}
		}
	}
	return out
}

// setOthers starts the computation of the attributes that the creation of the instance does not
// need.
func (n *constructNode) setOthers(e *engine, s *scope, o *Instance, late []named) *fail {
	inner := s
	if n.nested {
		inner = &scope{parent: s, vars: []variable{{value: o, ready: true}}}
	}
	for i := range n.others {
		a := &n.others[i]
		if slices.ContainsFunc(late, func(l named) bool { return l.name == a.name }) {
			continue
		}
		if x := e.setLater(o, a.name, a.of, inner, n.at); x != nil {
			return x
		}
	}
	return nil
}

// setLater starts the computation of the value of an attribute.
func (e *engine) setLater(o *Instance, name string, of node, s *scope, by *diag.Pos) *fail {
	v := o.variable(name)
	f := e.frame(of)
	c := e.spare.compute()
	*c = compute{node: of, scope: s, by: by, instance: o, name: name}
	if v.kind == many {
		values := &filling{v: v, instance: o, name: name, at: by}
		own, x := of.gradual(e, s, f, values)
		if x != nil {
			return x
		}
		if !own {
			c.collect = values
		}
	} else if x := of.emit(e, s, f); x != nil {
		return x
	}
	c.result = v.announce()
	e.start(c, f)
	return nil
}

// filling is a collector that adds values to a relation one by one.
type filling struct {
	v        *variable
	instance *Instance
	name     string
	at       *diag.Pos
}

func (w *filling) pure() bool { return true }

func (w *filling) receive(v types.Value, at *diag.Pos) (bool, *fail) {
	f := w.v.set(v, at, true)
	switch {
	case f == nil:
		return false, nil
	case f.cause != nil:
		return false, f.in(w.at, false)
	}
	return false, setting(w.instance, w.name, w.at, f.in(w.at, false))
}
