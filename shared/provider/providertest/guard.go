package providertest

import (
	"context"
	"reflect"
	"runtime/pprof"

	"southbound/shared/provider"
)

// call runs f, a call of a method, marks what it starts, and sees to it that the handler leaves the
// resource it was given alone. method is "" where the call is noted already; see single.
func (e *env) call(method string, r provider.Resource, f func() error) error {
	return e.guard(func() error { return e.labelled(method, f) }, r.Attributes)
}

// labelled runs f so that goroutines that it leaves behind are known by their label; see left.
func (e *env) labelled(method string, f func() error) (err error) {
	if calls, ok := e.ctx.Value(underWayKey{}).(*underWay); ok && method != "" {
		defer calls.begin(method)()
	}
	pprof.Do(e.ctx, pprof.Labels(label, e.mark),
		func(context.Context) { err = e.own.during(e.ctx, f) })
	if err != nil {
		e.errors = append(e.errors, err.Error())
	}
	return err
}

// guard runs f and demands that it leaves maps alone.
func (e *env) guard(f func() error, maps ...map[string]any) error {
	before := make([]any, len(maps))
	for i, m := range maps {
		before[i] = deepCopy(m)
	}
	err := f()
	for i, m := range maps {
		if !reflect.DeepEqual(before[i], any(m)) {
			return either(err,
				advise("keep to reading what a request holds, and copy what is to be changed "+
					"(maps.Clone)", "the handler changed the attributes that it was given"))
		}
	}
	return err
}

func deepCopy(v any) any {
	switch v := v.(type) {
	case []any:
		if v == nil {
			return v
		}
		out := make([]any, len(v))
		for i := range v {
			out[i] = deepCopy(v[i])
		}
		return out
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = deepCopy(v[k])
		}
		return out
	}
	return v
}
