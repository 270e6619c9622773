package jinja

import (
	"fmt"
	"slices"
	"strings"

	"southbound/shared/lang/types"
)

func (e *constExpr) eval(*state) (types.Value, error) { return e.value, nil }

func (e *nameExpr) eval(s *state) (types.Value, error) {
	v, ok, err := s.lookup(e.name)
	if err != nil {
		return nil, err
	}
	if !ok {
		return &Undefined{
			name:   e.name,
			reason: fmt.Sprintf("the variable %q is not defined", e.name),
		}, nil
	}
	return v, nil
}

func (s *state) all(of []expr) ([]types.Value, error) {
	out := make([]types.Value, len(of))
	for i, e := range of {
		v, err := e.eval(s)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func (e *tupleExpr) eval(s *state) (types.Value, error) {
	items, err := s.all(e.items)
	return &Tuple{items: items}, err
}

func (e *listExpr) eval(s *state) (types.Value, error) {
	items, err := s.all(e.items)
	return newList(items), err
}

func (e *dictExpr) eval(s *state) (types.Value, error) {
	d := newDict()
	for i := range e.keys {
		k, err := e.keys[i].eval(s)
		if err != nil {
			return nil, err
		}
		v, err := e.values[i].eval(s)
		if err != nil {
			return nil, err
		}
		if err := d.set(k, v); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (s *state) test(e expr) (bool, error) {
	v, err := e.eval(s)
	if err != nil {
		return false, err
	}
	return s.truth(v)
}

func (e *condExpr) eval(s *state) (types.Value, error) {
	ok, err := s.test(e.test)
	switch {
	case err != nil:
		return nil, err
	case ok:
		return e.then.eval(s)
	case e.rest == nil:
		return &Undefined{reason: "the condition is false, and there is no else", empty: true}, nil
	}
	return e.rest.eval(s)
}

func (e *binExpr) eval(s *state) (types.Value, error) {
	a, err := e.left.eval(s)
	if err != nil {
		return nil, err
	}
	b, err := e.right.eval(s)
	if err != nil {
		return nil, err
	}
	return s.made(s.compute(e.op, a, b))
}

func (e *logicExpr) eval(s *state) (types.Value, error) {
	v, err := e.left.eval(s)
	if err != nil {
		return nil, err
	}
	ok, err := s.truth(v)
	if err != nil || ok != e.and {
		return v, err
	}
	return e.right.eval(s)
}

func (e *notExpr) eval(s *state) (types.Value, error) {
	ok, err := s.test(e.of)
	return !ok, err
}

func (e *signExpr) eval(s *state) (types.Value, error) {
	v, err := e.of.eval(s)
	if err != nil {
		return nil, err
	}
	if u, ok := v.(*Undefined); ok {
		return nil, u.err()
	}
	if !isNumber(v) {
		return nil, failf("%s has no sign", kindOf(v))
	}
	if f, ok := v.(float64); ok {
		if e.op == "-" {
			return -f, nil
		}
		return f, nil
	}
	return s.compute(e.op, int64(0), v)
}

func (e *concatExpr) eval(s *state) (types.Value, error) {
	items, err := s.all(e.items)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(items, isLater); i >= 0 {
		if s.escaping {
			return nil, unescaped(items[i])
		}
		return s.joined(items)
	}
	var b strings.Builder
	for _, v := range items {
		text, err := s.written(v, s.escaping)
		if err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	if s.escaping {
		return s.made(Markup(b.String()), nil)
	}
	return s.made(checked(b.String()))
}

// written returns a value as text, escaped on demand.
func (s *state) written(v types.Value, escaped bool) (string, error) {
	if !escaped {
		return s.text(v)
	}
	m, err := s.escape(v)
	return string(m), err
}

func (e *compareExpr) eval(s *state) (types.Value, error) {
	a, err := e.first.eval(s)
	if err != nil {
		return nil, err
	}
	for i, op := range e.ops {
		b, err := e.rest[i].eval(s)
		if err != nil {
			return nil, err
		}
		ok, err := s.compare(op, a, b)
		if !ok || err != nil {
			return false, err
		}
		a = b
	}
	return true, nil
}

func (e *attrExpr) eval(s *state) (types.Value, error) {
	of, err := e.of.eval(s)
	if err != nil {
		return nil, err
	}
	return s.attr(of, e.name)
}

func (e *itemExpr) eval(s *state) (types.Value, error) {
	of, err := e.of.eval(s)
	if err != nil {
		return nil, err
	}
	at, err := e.at.eval(s)
	if err != nil {
		return nil, err
	}
	return s.item(of, at)
}

func (e *callExpr) eval(s *state) (types.Value, error) {
	of, err := e.of.eval(s)
	if err != nil {
		return nil, err
	}
	args, named, err := s.arguments(e.args)
	if err != nil {
		return nil, err
	}
	return s.call(of, args, named)
}

func (s *state) arguments(a arguments) ([]types.Value, []namedValue, error) {
	args, err := s.all(a.args)
	if err != nil {
		return nil, nil, err
	}
	var named []namedValue
	for _, n := range a.named {
		v, err := n.value.eval(s)
		if err != nil {
			return nil, nil, err
		}
		named = append(named, namedValue{n.name, v})
	}
	if a.list != nil {
		v, err := a.list.eval(s)
		if err != nil {
			return nil, nil, err
		}
		more, err := s.items(v)
		if err != nil {
			return nil, nil, err
		}
		args = append(args, more...)
	}
	if a.dict != nil {
		v, err := a.dict.eval(s)
		if err != nil {
			return nil, nil, err
		}
		keys, values, ok := entries(v)
		if !ok {
			return nil, nil, failf("** needs a dict, not %s", kindOf(v))
		}
		if err := s.readAll(v, values); err != nil {
			return nil, nil, err
		}
		for i, k := range keys {
			name, ok := stringOf(k)
			if !ok {
				return nil, nil, failf("the names of arguments are strings, not %s", kindOf(k))
			}
			named = append(named, namedValue{name, values[i]})
		}
	}
	return args, named, nil
}

// call calls a function, a macro, or a recursive loop.
func (s *state) call(of types.Value, args []types.Value, named []namedValue) (types.Value, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	switch f := of.(type) {
	case *function:
		return s.made(f.call(s, args, named))
	case *macroValue:
		return s.made(f.call(s, args, named))
	case *loop:
		return s.made(f.call(s, args, named))
	case *Undefined:
		return nil, f.err()
	}
	return nil, failf("%s cannot be called", kindOf(of))
}

func (e *filterExpr) eval(s *state) (types.Value, error) {
	v := s.blockText
	if e.of != nil {
		var err error
		if v, err = e.of.eval(s); err != nil {
			return nil, err
		}
	}
	args, named, err := s.arguments(e.args)
	if err != nil {
		return nil, err
	}
	return s.filter(e.name, append([]types.Value{v}, args...), named)
}

// filter calls a filter; the filtered value is the first argument.
func (s *state) filter(name string, args []types.Value, named []namedValue) (types.Value, error) {
	if f, ok := s.lib.filters[name]; ok {
		return f.bound(s, "the filter", name, args, named)
	}
	if !s.host.HasFilter(name) {
		return nil, failure(s.lib.noFilter(name))
	}
	if len(named) > 0 {
		return nil, failf("the filter %s takes no named arguments", name)
	}
	given := make([]types.Value, len(args))
	for i, a := range args {
		v, err := s.exported(a, 0)
		if err != nil {
			return nil, err
		}
		given[i] = v
	}
	v, _, err := s.host.Filter(name, given)
	if err == nil {
		err = known(v)
	}
	return v, err
}

func (e *testExpr) eval(s *state) (types.Value, error) {
	v, err := e.of.eval(s)
	if err != nil {
		return nil, err
	}
	args, named, err := s.arguments(e.args)
	if err != nil {
		return nil, err
	}
	return s.is(e.name, append([]types.Value{v}, args...), named)
}

func (s *state) is(name string, args []types.Value, named []namedValue) (types.Value, error) {
	t, ok := s.lib.tests[name]
	if !ok {
		return nil, failf("there is no test %q%s", name, nearest(name, s.lib.tests))
	}
	return t.bound(s, "the test", name, args, named)
}

// exported converts a value to a value of models.
func (s *state) exported(v types.Value, depth int) (types.Value, error) {
	if depth > maxDepth {
		return nil, failf("a value is nested too deep")
	}
	switch v := v.(type) {
	case Markup:
		return string(v), nil
	case bareNull:
		return types.Null{}, nil
	case *Undefined:
		return nil, v.err()
	case *Dict:
		d := types.NewDict(len(v.keys))
		for i, k := range v.keys {
			name, ok := stringOf(k)
			if !ok {
				return nil, failf("the keys of a dict in a model are strings, not %s", kindOf(k))
			}
			x, err := s.exported(v.vals[i], depth+1)
			if err != nil {
				return nil, err
			}
			d.Set(name, x)
		}
		return d, nil
	case *List, *Tuple, *iterator, *view, *rangeValue:
		items, err := s.items(v)
		if err != nil {
			return nil, err
		}
		out := make([]types.Value, len(items))
		for i, item := range items {
			if out[i], err = s.exported(item, depth+1); err != nil {
				return nil, err
			}
		}
		return &types.List{Items: out}, nil
	}
	return v, nil
}
