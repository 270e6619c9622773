package eval

import (
	"slices"

	"southbound/shared/diag"
	"southbound/shared/lang/types"
)

// setMany adds a value, or a list of values, to a relation to many.
func (v *variable) setMany(value types.Value, at *diag.Pos, turn bool) *fail {
	list := &v.late.list
	if _, null := value.(types.Null); null {
		if len(list.Items) > 0 {
			return notNull(v, at)
		}
		v.freeze()
		return nil
	}
	if l, ok := value.(*types.List); ok {
		return v.setAll(l, at, turn)
	}
	if v.ready && !v.late.holds(value) {
		return tooLate(v, value, at, turn)
	}
	if v.ready {
		return nil
	}
	if f := v.check(value); f != nil {
		return f
	}
	if v.late.holds(value) {
		v.offer()
		return nil
	}
	v.late.append(value)
	if f := v.late.notify(value, at); f != nil {
		return f
	}
	return v.added(value, at, turn)
}

// added sets the other end after a relation got a value, and checks the upper bound.
func (v *variable) added(value types.Value, at *diag.Pos, turn bool) *fail {
	if turn {
		if f := v.turn(value, at); f != nil {
			return f
		}
	}
	list, high := &v.late.list, v.attr.Relation.High
	if high >= 0 && len(list.Items) > high {
		return overFull(v, value, at)
	}
	if high >= 0 && len(list.Items) == high {
		v.freeze()
	}
	v.offer()
	return nil
}

func (v *variable) setAll(l *types.List, at *diag.Pos, turn bool) *fail {
	if v.ready {
		for _, item := range l.Items {
			if !v.late.holds(item) {
				return tooLate(v, item, at, turn)
			}
		}
	}
	if len(l.Items) == 0 {
		v.offer()
		return nil
	}
	for _, item := range l.Items {
		if f := v.set(item, at, turn); f != nil {
			return f
		}
	}
	return nil
}

// small is the largest number of items for a linear search.
const small = 16

// holds reports whether a relation has the value.
func (l *late) holds(value types.Value) bool {
	if l.seen != nil {
		_, ok := l.seen[value]
		return ok
	}
	for _, item := range l.list.Items {
		if item == value {
			return true
		}
	}
	return false
}

func (l *late) append(value types.Value) {
	l.engine.used.live += memberSize
	l.list.Items = append(l.list.Items, value)
	switch {
	case l.seen != nil:
		l.seen[value] = struct{}{}
	case len(l.list.Items) > small:
		l.seen = make(map[types.Value]struct{}, 2*small)
		for _, item := range l.list.Items {
			l.seen[item] = struct{}{}
		}
	}
}

// hears reports whether a collector is registered.
func (l *late) hears(c collector) bool {
	if l.hearing != nil {
		_, ok := l.hearing[c]
		return ok
	}
	return slices.Contains(l.listeners, c)
}

// addListener registers a collector that is not registered yet.
func (l *late) addListener(c collector) {
	l.listeners = append(l.listeners, c)
	switch {
	case l.hearing != nil:
		l.hearing[c] = struct{}{}
	case len(l.listeners) > small:
		l.hearing = make(map[collector]struct{}, 2*small)
		for _, c := range l.listeners {
			l.hearing[c] = struct{}{}
		}
	}
}

func (l *late) notify(value types.Value, at *diag.Pos) *fail {
	for _, c := range slices.Clone(l.listeners) {
		done, f := c.receive(value, at)
		if f != nil {
			return f
		}
		if done {
			if !c.pure() {
				l.quiet++
			}
			l.listeners = slices.DeleteFunc(l.listeners, func(o collector) bool { return o == c })
			delete(l.hearing, c)
		}
	}
	return nil
}
