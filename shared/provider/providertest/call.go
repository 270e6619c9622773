package providertest

import (
	"context"
	"fmt"
	"maps"
	"runtime/pprof"
	"slices"
	"sync"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// given is something that a handler gets and must leave as it is.
type given struct {
	what  string
	value any
}

// callOf returns how a call of a method is named in what the suite says.
func callOf(method string, r provider.Resource) string {
	return fmt.Sprintf("%s of %s", method, r.ID)
}

// call runs f, a call of a method for a resource, and sees to it that the handler leaves what it is
// given alone, the attributes of the resource included.
func (e *env) call(method string, r provider.Resource, f func() error, more ...given) error {
	name := callOf(method, r)
	return e.guard(name, func() error { return e.labelled(name, f) },
		append(more, given{"the attributes that it was given", r.Attributes})...)
}

// labelled runs f, the call with a name, and looks at what it changes and leaves behind. Goroutines
// that it starts are known by their labels; see running.
func (e *env) labelled(name string, f func() error) (err error) {
	if calls, ok := e.ctx.Value(underWayKey{}).(*underWay); ok {
		defer calls.begin(name)()
	}
	before := watch()
	stop := func() string { return "" }
	if e.own != nil {
		stop = sync.OnceValue(before.during())
	}
	defer func() {
		if p := recover(); p != nil {
			stop()
			panic(panicked(name, p))
		}
	}()
	pprof.Do(e.ctx, pprof.Labels(label, e.mark, labelOfCall, name),
		func(context.Context) { err = e.own.during(e.ctx, f) })
	e.traces.after(e, name, before, stop())
	if e.host.listsChanged() {
		e.traces.note("a list", advise("copy what is to be changed (slices.Clone, maps.Clone)",
			"%s changed the list of what exists, which other calls see as well", name))
	}
	if err != nil {
		e.told = append(e.told, saying{name, "an error", err.Error()})
	}
	return err
}

// guard runs f, the call with a name, and demands that it leaves alone what it is given.
func (e *env) guard(name string, f func() error, all ...given) error {
	before := make([]any, len(all))
	for i, g := range all {
		before[i] = deepCopy(g.value)
	}
	err := f()
	for i, g := range all {
		if !alike(before[i], g.value) {
			return either(err,
				advise("keep to reading what a request holds, and copy what is to be changed "+
					"(maps.Clone)", "%s changed %s", name, g.what))
		}
	}
	return err
}

func deepCopy(v any) any {
	switch v := v.(type) {
	case []any:
		out := slices.Clone(v)
		for i := range v {
			out[i] = deepCopy(v[i])
		}
		return out
	case map[string]any:
		out := maps.Clone(v)
		for k := range v {
			out[k] = deepCopy(v[k])
		}
		return out
	case []provider.Found:
		out := slices.Clone(v)
		for i := range v {
			out[i].Attributes, _ = deepCopy(v[i].Attributes).(map[string]any)
		}
		return out
	case map[string]diff.Diff:
		out := maps.Clone(v)
		for k, d := range v {
			d.Current, d.Desired = deepCopy(d.Current), deepCopy(d.Desired)
			out[k] = d
		}
		return out
	}
	return v
}
