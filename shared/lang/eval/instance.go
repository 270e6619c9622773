package eval

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/types"
)

// Instance is an instance of an entity.
type Instance struct {
	engine *engine
	entity *types.Entity
	vars   []*variable // of its attributes; nil for an open relation as long as nobody asks for it
	self   *variable   // nil as long as nobody asks for it
	turn   int64       // of the first attribute, among what can be frozen
	number int32
	depth  int32 // how many implementations were one in the other where it was made
	made   made
	done   applied
	scope  scope
}

// made is where an instance was made last, and before that.
type made struct {
	at     *diag.Pos
	before *made
}

// all returns the places in order.
func (m *made) all() []*diag.Pos {
	var out []*diag.Pos
	for ; m != nil; m = m.before {
		out = append(out, m.at)
	}
	slices.Reverse(out)
	return out
}

// applied are implementations that were applied to an instance. Most instances have one.
type applied struct {
	last   *implementation
	before *applied
}

// add adds an implementation; false if it is there already.
func (a *applied) add(i *implementation) bool {
	if a.last == nil {
		a.last = i
		return true
	}
	for b := a; b != nil; b = b.before {
		if b.last == i {
			return false
		}
	}
	before := *a
	a.last, a.before = i, &before
	return true
}

// Type implements types.Object.
func (o *Instance) Type() *types.Entity { return o.entity }

// Number implements types.Object.
func (o *Instance) Number() int { return int(o.number) }

// String implements types.Object.
func (o *Instance) String() string {
	var places []string
	for _, at := range o.made.all() {
		places = append(places, at.String())
	}
	return o.entity.FullName() + " (made at " + strings.Join(places, ", ") + ")"
}

// Text implements types.Object: what the reference compiler puts into texts.
func (o *Instance) Text() string {
	var places []string
	for _, at := range o.made.all() {
		places = append(places, at.File+":"+strconv.Itoa(at.Line))
	}
	return o.entity.FullName() + " (instantiated at " + strings.Join(places, ",") + ")"
}

// Pos returns where the instance was made.
func (o *Instance) Pos() diag.Pos { return *o.made.at }

// variable returns the variable of an attribute, or self; nil if there is none.
func (o *Instance) variable(name string) *variable {
	if i := o.entity.Place(name); i >= 0 {
		return o.ask(i)
	}
	if name != "self" {
		return nil
	}
	if o.self == nil {
		o.self = known(o)
	}
	return o.self
}

// ask returns the variable of an attribute, by its number. That of an open relation is made when
// somebody asks for it first, as few do; it stands among what can be frozen as if it had always
// been there.
func (o *Instance) ask(i int) *variable {
	if v := o.vars[i]; v != nil {
		return v
	}
	a := o.entity.All()[i]
	v := newOpen(o.engine, variable{kind: kindOf(a), attr: a, owner: o})
	o.vars[i] = v
	if v.complete() {
		o.engine.enlist(v, o.turn+int64(i))
	}
	return v
}

// Value returns what an attribute holds; false if there is no such attribute, or it holds nothing.
func (o *Instance) Value(name string) (types.Value, bool) {
	i := o.entity.Place(name)
	if i < 0 {
		return nil, false
	}
	v := o.vars[i]
	if v == nil {
		empty := kindOf(o.entity.All()[i]) == many && o.engine.isFrozen(o.turn+int64(i))
		return &types.List{}, empty
	}
	if !v.isReady() {
		return nil, false
	}
	out, f := v.get()
	return out, f == nil
}

// Place returns where an attribute got its value, or where the instance was made if that is not
// known.
func (o *Instance) Place(name string) diag.Pos {
	if i := o.entity.Place(name); i >= 0 {
		if v := o.vars[i].real(); v != nil && v.at != nil && v.at.Line > 0 {
			return *v.at
		}
	}
	return o.Pos()
}

// lastAt returns where the instance was made last.
func (o *Instance) lastAt() *diag.Pos { return o.made.at }

func (o *Instance) setAttribute(name string, value types.Value, at *diag.Pos, turn bool) *fail {
	v := o.variable(name)
	if v == nil {
		return failed(
			CodeUnknownAttr,
			nil,
			"%s has no attribute %s",
			o.entity.FullName(),
			name,
		).heavy(20)
	}
	return setting(o, name, o.lastAt(), v.set(value, at, turn))
}

// make makes an instance with the values of its indexed attributes.
func (e *engine) make(
	entity *types.Entity,
	values []named,
	at *diag.Pos,
	depth int,
) (*Instance, *fail) {
	if f := e.room(depth, len(entity.All()), at); f != nil {
		return nil, f
	}
	o := &Instance{
		engine: e, entity: entity, made: made{at: at}, turn: e.waiting.reserve(len(entity.All())),
		number: int32(len(e.instances)), depth: int32(depth), //nolint:gosec // bounded by room
	}
	o.scope.instance = o
	e.furnish(o)
	for _, n := range values {
		if f := o.setAttribute(n.name, n.value, at, true); f != nil {
			return nil, f
		}
	}
	e.instances = append(e.instances, o)
	return o, e.register(o)
}

// furnish makes the variables of an instance, but for open relations. One that a policy orders has
// to be among what can be frozen from the start.
func (e *engine) furnish(o *Instance) {
	d, all := e.data(o.entity), o.entity.All()
	if d.closed == 0 {
		for _, a := range all {
			if k := kindOf(a); k == plain || k == single {
				d.closed++
			}
		}
	}
	o.vars = make([]*variable, len(all))
	closed := make([]variable, d.closed)
	for i, a := range all {
		switch k := kindOf(a); k {
		case plain, single:
			closed[0] = variable{kind: k, attr: a, owner: o}
			o.vars[i], closed = &closed[0], closed[1:]
		default:
			if e.waiting.isOrdered(a) {
				o.ask(i)
			}
		}
	}
}

// kindOf returns the kind of the variable of an attribute.
func kindOf(a *types.Attribute) kind {
	switch r := a.Relation; {
	case r == nil:
		return plain
	case r.Low == 1 && r.High == 1:
		return single
	case r.Low == 0 && r.High == 1:
		return option
	}
	return many
}

// named is a value with the name of an attribute.
type named struct {
	name  string
	value types.Value
}

// register counts an instance for its entity and those that it extends, and enters it in their
// indexes.
func (e *engine) register(o *Instance) *fail {
	d := e.data(o.entity)
	if d.line == nil {
		d.line = lineOf(o.entity, nil)
	}
	for _, entity := range d.line {
		d := e.data(entity)
		d.count++
		if f := e.enter(o, entity, d); f != nil {
			return f
		}
	}
	return nil
}

// lineOf returns an entity and all that it extends, each behind the first of those that extend it.
func lineOf(entity *types.Entity, line []*types.Entity) []*types.Entity {
	if slices.Contains(line, entity) {
		return line
	}
	line = append(line, entity)
	for _, p := range entity.Parents {
		line = lineOf(p, line)
	}
	return line
}

// entityData is what a run knows of an entity.
type entityData struct {
	line    []*types.Entity // itself, and those that it extends
	count   int
	closed  int // how many of its attributes are not open relations
	index   map[string]*Instance
	lookups map[string][]lookup
	keys    []string // of lookups, in order
}

// lookup is a search for an instance that is not there yet.
type lookup struct {
	target *variable
	at     *diag.Pos
}

func (e *engine) data(entity *types.Entity) *entityData { return &e.perEntity[entity.ID] }

// keysHint says which keys of an index are near to one, or which there are.
func (d *entityData) keysHint(key string) string {
	keys := slices.Sorted(maps.Keys(d.index))
	const limit = 1000
	if len(keys) == 0 {
		return "there is no instance yet that the index knows"
	}
	if near := DidYouMean(key, keys[:min(len(keys), limit)]); near != "" {
		return near
	}
	const few = 3
	if len(keys) > few {
		keys = append(keys[:few], "...")
	}
	return "there are those with " + strings.Join(keys, "; ")
}

// indexKey returns the key of values in an index whose names are sorted, which holds until the next
// one is made; false if one of them has no value.
func (e *engine) indexKey(
	names []string, value func(name string) (types.Value, bool),
) ([]byte, bool, *fail) {
	key := e.key[:0]
	for i, name := range names {
		v, ok := value(name)
		if !ok {
			return nil, false, nil
		}
		if _, reference := v.(types.Reference); reference {
			return nil, false, failed(
				CodeReference,
				nil,
				"the value of %s is a reference, which cannot be part of an index",
				name,
			)
		}
		if i > 0 {
			key = append(key, ", "...)
		}
		key = append(append(key, name...), '=')
		key = types.AppendRepr(key, v)
	}
	e.key = key
	return key, true, nil
}

// enter enters an instance in the indexes of an entity.
func (e *engine) enter(o *Instance, entity *types.Entity, d *entityData) *fail {
	for _, names := range entity.Indexes {
		key, ok, f := e.indexKey(names, func(name string) (types.Value, bool) {
			i := o.entity.Place(name)
			if i < 0 || o.vars[i] == nil || !o.vars[i].ready {
				return nil, false
			}
			v := o.vars[i].value
			return v, v != nil
		})
		if f != nil {
			return f
		}
		if !ok {
			continue
		}
		if other := d.index[string(key)]; other != nil && other != o {
			f := failed(
				CodeIndexCollision,
				o.lastAt(),
				"there is an instance of %s with %s already",
				entity.FullName(),
				key,
			).heavy(40)
			return f.with(other.lastAt(), "the other instance is made here")
		}
		if d.index == nil {
			d.index = map[string]*Instance{}
		}
		as := string(key)
		d.index[as] = o
		for _, l := range d.lookups[as] {
			if f := l.target.set(o, l.at, true); f != nil {
				return f
			}
		}
		delete(d.lookups, as)
	}
	return nil
}

// find looks for an instance by an index. Without a target it returns what is there; with one, that
// gets the instance, now or later.
func (e *engine) find(
	entity *types.Entity,
	values []named,
	at *diag.Pos,
	target *variable,
) (*Instance, *fail) {
	if f := eachOnce(values, at); f != nil {
		return nil, f
	}
	names := matching(entity, values)
	if names == nil {
		f := failed(
			CodeIndex,
			at,
			"%s has no index over %s",
			entity.FullName(),
			namesOf(values),
		).heavy(20)
		return nil, f.advise("%s", indexHint(entity))
	}
	found, key, f := e.indexed(entity, names, values)
	if f != nil {
		return nil, f
	}
	d := e.data(entity)
	switch {
	case target == nil:
		return found, nil
	case found != nil:
		return found, target.set(found, at, true)
	}
	if d.lookups == nil {
		d.lookups = map[string][]lookup{}
	}
	if d.lookups[string(key)] == nil {
		d.keys = append(d.keys, string(key))
	}
	d.lookups[string(key)] = append(d.lookups[string(key)], lookup{target, at})
	return nil, nil
}

// indexed returns the instance with these values in an index, nil if there is none, and their key.
func (e *engine) indexed(
	entity *types.Entity, names []string, values []named,
) (*Instance, []byte, *fail) {
	key, _, f := e.indexKey(names, func(name string) (types.Value, bool) {
		for i := range values {
			if values[i].name == name {
				return asIndexed(entity.Attribute(name), values[i].value), true
			}
		}
		return nil, false
	})
	return e.data(entity).index[string(key)], key, f
}

// eachOnce reports a name that is among values twice.
func eachOnce(values []named, at *diag.Pos) *fail {
	for i, n := range values {
		if has(values[:i], n.name) {
			return failed(
				CodeDuplicateArg,
				at,
				"the attribute %s is there twice in the look-up",
				n.name,
			)
		}
	}
	return nil
}

// matching returns the index over exactly these attributes; nil if there is none.
func matching(entity *types.Entity, values []named) []string {
	for _, index := range entity.Indexes {
		n := 0
		for i, name := range index {
			if (i == 0 || index[i-1] != name) && has(values, name) {
				n++
			}
		}
		if n == len(values) && n == distinct(index) {
			return index
		}
	}
	return nil
}

func distinct(sorted []string) int {
	n := 0
	for i, s := range sorted {
		if i == 0 || sorted[i-1] != s {
			n++
		}
	}
	return n
}

func namesOf(values []named) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = v.name
	}
	return strings.Join(names, ", ")
}

func indexHint(entity *types.Entity) string {
	if len(entity.Indexes) == 0 {
		return "write an index, such as `index " + entity.Name + "(name)`"
	}
	var out []string
	for _, i := range entity.Indexes {
		out = append(out, "("+strings.Join(i, ", ")+")")
	}
	return "its indexes are over " + strings.Join(out, " and ")
}

// asIndexed makes a whole number a float where the attribute is one, so that 1 finds 1.0.
func asIndexed(a *types.Attribute, v types.Value) types.Value {
	t := a.Type
	if n, ok := t.(*types.Nullable); ok {
		if _, null := v.(types.Null); null {
			return v
		}
		t = n.Of
	}
	if t != types.Type(types.Float) {
		return v
	}
	if f, err := types.Cast(types.Float, v); err == nil {
		return f
	}
	return v
}
