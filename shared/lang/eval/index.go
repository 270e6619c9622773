package eval

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/types"
)

// named is the value of a named attribute or argument.
type named struct {
	literal bool // the call has the value as a literal
	name    string
	value   types.Value
	at      *diag.Pos // position of the value in a constructor
}

// place returns the position of the value, or other if that is not known.
func (n *named) place(other *diag.Pos) *diag.Pos {
	if n.at != nil {
		return n.at
	}
	return other
}

// register counts an instance for its entity and for the entities that this extends, and adds the
// instance to their indexes.
func (e *indexes) register(o *Instance) *fail {
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

// lineOf returns an entity and all entities that it extends, each after the first entity that
// extends it.
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

// entityData is the run-time state of an entity.
type entityData struct {
	line    []*types.Entity // the entity and the entities that it extends
	count   int
	closed  int // number of its attributes that are not open relations
	self    int // position of an attribute named self, from 1; 0 if there is none
	index   map[string]*Instance
	lookups map[string][]lookup
	keys    []string // keys of lookups, in order of their first lookup
}

// lookup is an index lookup whose instance does not exist yet.
type lookup struct {
	target *variable
	at     *diag.Pos
}

func (e *indexes) data(entity *types.Entity) *entityData { return &e.perEntity[entity.ID] }

// keysHint returns a hint with a similar key of an index, or with some of its keys.
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

// indexKey returns the key of values in an index with sorted names; false if an attribute has no
// value. The next call overwrites the key.
func (e *indexes) indexKey(
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
		if u, ok := v.(*types.Unknown); ok {
			key = fmt.Appendf(key, "<unknown %d>", e.numberOf(u))
			continue
		}
		key = types.AppendRepr(key, v)
	}
	e.key = key
	return key, true, nil
}

// numberOf numbers unknown values, because an unknown value equals only itself.
func (e *indexes) numberOf(u *types.Unknown) int {
	n, ok := e.unknowns[u]
	if !ok {
		if e.unknowns == nil {
			e.unknowns = map[*types.Unknown]int{}
		}
		n = len(e.unknowns) + 1
		e.unknowns[u] = n
	}
	return n
}

// enter adds an instance to the indexes of an entity, and resolves the lookups that wait for it.
func (e *indexes) enter(o *Instance, entity *types.Entity, d *entityData) *fail {
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

// find searches an instance by an index. Without a target, it returns the existing instance, or
// nil. With a target, it sets the target to the instance now, or when the instance is created.
func (e *indexes) find(
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

// indexed returns the instance with these values in an index, or nil, and the key of the values.
func (e *indexes) indexed(
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

// eachOnce returns a problem if a name occurs twice among values.
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

// asIndexed converts an int to a float if the attribute is a float, so that 1 matches 1.0.
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
