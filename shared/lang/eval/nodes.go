package eval

import (
	"cmp"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/lang/types"
)

// constant is a literal value.
type constant struct {
	shape
	result types.Value
}

func (n *constant) emit(*engine, *scope, frame) *fail                       { return nil }
func (n *constant) gradual(*engine, *scope, frame, collector) (bool, *fail) { return false, nil }
func (n *constant) value(*engine, *scope, frame) (types.Value, *fail)       { return n.result, nil }

// refNode is a reference to a variable.
type refNode struct {
	shape
	where spot
	slot  int
	mark  *diag.Pos // position of the name inside a text; nil if the node starts with the name
}

func (n *refNode) emit(_ *engine, s *scope, f frame) *fail {
	v, x := n.where.lookUp(s, cmp.Or(n.mark, n.at))
	if x != nil {
		return x
	}
	f.set(n.slot, v)
	return nil
}

func (n *refNode) gradual(e *engine, s *scope, f frame, c collector) (bool, *fail) {
	if x := n.emit(e, s, f); x != nil {
		return false, x
	}
	return f.at(n.slot).listen(c, n.at)
}

func (n *refNode) value(_ *engine, _ *scope, f frame) (types.Value, *fail) {
	return f.get(n.slot), nil
}

// attrNode is an attribute of the instance that another node computes.
type attrNode struct {
	shape
	member
	slot int
}

func (n *attrNode) emit(e *engine, s *scope, f frame) *fail { return n.start(e, s, f, nil, false) }

func (n *attrNode) gradual(e *engine, s *scope, f frame, c collector) (bool, *fail) {
	return true, n.start(e, s, f, c, false)
}

func (n *attrNode) value(_ *engine, _ *scope, f frame) (types.Value, *fail) {
	return f.get(n.slot), nil
}

// start creates a proxy, and connects it when the instance is known.
func (n *attrNode) start(e *engine, s *scope, f frame, c collector, unset bool) *fail {
	p := newProxy(c, n.at)
	by, x := e.hook(hook{&n.member, n.at, s, p, unset})
	if x != nil {
		return x
	}
	p.far().by = by
	f.set(n.slot, p)
	return nil
}

// member is an attribute of the instance that a node computes.
type member struct {
	of   node // has its own frame
	name string
	mark *diag.Pos // position of the name; nil if it is not known
}

// hook is a task that passes the variable of an attribute to a user when the instance is known.
// With unset, if an optional relation on the path is empty, the user gets that relation instead.
type hook struct {
	member *member
	at     *diag.Pos // position of problems
	scope  *scope
	user   user
	unset  bool
}

// user receives the variable that a hook finds.
type user interface{ use(*variable) *fail }

// hook starts a hook. It returns the unit that waits for the instance.
func (e *engine) hook(h hook) (*unit, *fail) {
	f := e.frame(h.member.of)
	if x := emitPath(e, h.scope, h.member.of, f, h.unset); x != nil {
		return nil, x
	}
	return e.start(&h, f), nil
}

func (h *hook) pos() *diag.Pos { return h.at }

func (h *hook) run(u *unit) *fail {
	f := h.find(u)
	if f != nil && len(f.unset) == 0 {
		f.in(h.at, true)
		f.at = h.at
	}
	return f
}

func (h *hook) find(u *unit) *fail {
	if h.unset {
		for _, v := range u.frame.vars {
			if r := v.real(); r.kind == option && r.value == nil {
				return h.user.use(r)
			}
		}
	}
	v, x := h.attribute(u)
	if x != nil {
		return x
	}
	return h.user.use(v)
}

// emitPath is emit for a variable or an attribute path. unset has the meaning of hook.unset.
func emitPath(e *engine, s *scope, of node, f frame, unset bool) *fail {
	if a, ok := of.(*attrNode); ok {
		return a.start(e, s, f, nil, unset)
	}
	return of.emit(e, s, f)
}

// attribute returns the variable of the attribute.
func (h *hook) attribute(u *unit) (*variable, *fail) {
	if x := u.take(); x != nil {
		return nil, x
	}
	m := h.member
	value, x := m.of.value(u.engine, h.scope, u.frame)
	if x != nil {
		return nil, x
	}
	o, ok := value.(*Instance)
	if !ok {
		return nil, failed(
			CodeNotEntity,
			h.at,
			"there is no attribute %s: this is %s, not an instance",
			m.name,
			types.Kind(value),
		)
	}
	v := o.variable(m.name)
	if v == nil {
		x := failed(
			CodeUnknownAttr,
			h.at,
			"%s has no attribute %s",
			o.entity.FullName(),
			m.name,
		).heavy(20)
		return nil, x.advise("%s", DidYouMean(m.name, attributeNames(o.entity))).
			with(o.entity.At, "the entity is defined here").marking(m.mark)
	}
	return v, nil
}

func attributeNames(e *types.Entity) []string {
	var out []string
	for _, a := range e.All() {
		out = append(out, a.Name)
	}
	return out
}

// part is a part of a text: literal characters or a value.
type part struct {
	text       string
	of         node
	name       string
	conversion byte
	spec       []part
}

// formatNode is a text with interpolated values.
type formatNode struct {
	shape
	parts  []part
	python bool // f-string
}

func (n *formatNode) gradual(e *engine, s *scope, f frame, _ collector) (bool, *fail) {
	return false, n.emit(e, s, f)
}

func (n *formatNode) emit(e *engine, s *scope, f frame) *fail {
	return emitParts(n.parts, n.at, e, s, f)
}

func emitParts(parts []part, at *diag.Pos, e *engine, s *scope, f frame) *fail {
	for i := range parts {
		if parts[i].of == nil {
			continue
		}
		if x := parts[i].of.emit(e, s, f); x != nil {
			return x.in(at, false)
		}
		if x := emitParts(parts[i].spec, at, e, s, f); x != nil {
			return x
		}
	}
	return nil
}

func (n *formatNode) value(e *engine, s *scope, f frame) (types.Value, *fail) {
	text, unknown, x := joined(n.parts, n, e, s, f)
	if x != nil {
		return nil, x
	}
	literal, is := text.(string)
	if unknown || !is {
		return text, nil
	}
	if x := e.spend(len(literal), n.at); x != nil {
		return nil, x
	}
	return text, nil
}

// listNode is a list of computed values.
type listNode struct {
	shape
	items []node
	slot  int
}

func (n *listNode) emit(e *engine, s *scope, f frame) *fail {
	for _, item := range n.items {
		if x := item.emit(e, s, f); x != nil {
			return x.in(n.at, false)
		}
	}
	return nil
}

// gradual starts the computation of each element separately.
func (n *listNode) gradual(e *engine, s *scope, f frame, c collector) (bool, *fail) {
	if len(n.items) == 0 {
		return true, nil
	}
	v := newOpen(e, variable{kind: literal})
	v.offer()
	for _, item := range n.items {
		if x := e.gradually(item, s, v, n.at, elementsOf(c)); x != nil {
			return true, x
		}
	}
	f.set(n.slot, v)
	return true, nil
}

func (n *listNode) value(e *engine, s *scope, f frame) (types.Value, *fail) {
	if f.at(n.slot) != nil {
		return f.get(n.slot), nil
	}
	values := make([]types.Value, 0, len(n.items))
	for _, item := range n.items {
		v, x := item.value(e, s, f)
		if x != nil {
			return nil, x
		}
		values = append(values, v)
	}
	if x := fitsAll(&e.scheduler, slices.Values(values), n.at); x != nil {
		return nil, x
	}
	out := types.Spread(values)
	return out, e.made(out, n.at)
}

// dictNode is a dictionary of computed values.
type dictNode struct {
	shape
	keys   []string
	values []node
}

func (n *dictNode) gradual(e *engine, s *scope, f frame, _ collector) (bool, *fail) {
	return false, n.emit(e, s, f)
}

func (n *dictNode) emit(e *engine, s *scope, f frame) *fail {
	for _, v := range n.values {
		if x := v.emit(e, s, f); x != nil {
			return x.in(n.at, false)
		}
	}
	return nil
}

func (n *dictNode) value(e *engine, s *scope, f frame) (types.Value, *fail) {
	out := types.NewDict(len(n.keys))
	for i, k := range n.keys {
		v, x := n.values[i].value(e, s, f)
		if x != nil {
			return nil, x
		}
		out.Set(k, v)
	}
	return out, e.made(out, n.at)
}

// lookupNode is the lookup of a key (right) in a dict (left).
type lookupNode struct{ pair }

func (n *lookupNode) value(e *engine, s *scope, f frame) (types.Value, *fail) {
	of, x := n.left.value(e, s, f)
	if x != nil || types.IsUnknown(of) {
		return unknownOr(x)
	}
	d, ok := of.(*types.Dict)
	if !ok {
		return nil, failed(
			CodeKey,
			n.at,
			"[ ] looks up a key of a dict, and this is %s",
			types.Kind(of),
		).heavy(10)
	}
	key, x := n.right.value(e, s, f)
	if x != nil || types.IsUnknown(key) {
		return unknownOr(x)
	}
	return entry(d, key, n.at)
}

func unknownOr(x *fail) (types.Value, *fail) {
	if x != nil {
		return nil, x
	}
	return &types.Unknown{}, nil
}

func entry(d *types.Dict, key types.Value, at *diag.Pos) (types.Value, *fail) {
	k, ok := key.(string)
	if !ok {
		return nil, failed(
			CodeKey,
			at,
			"the key of a dict is a string, and this is %s",
			types.Kind(key),
		).heavy(10)
	}
	v, ok := d.Get(k)
	if !ok {
		return nil, failed(CodeKey, at, "the dict has no key %q", k).heavy(70).
			advise("%s", keysHint(k, d))
	}
	return v, nil
}

func keysHint(key string, d *types.Dict) string {
	if near := DidYouMean(key, d.Keys()); near != "" {
		return near
	}
	if d.Len() == 0 {
		return "the dict is empty"
	}
	keys := &types.List{}
	for _, k := range d.Keys() {
		keys.Items = append(keys.Items, k)
	}
	return "its keys are " + types.Short(keys)
}
