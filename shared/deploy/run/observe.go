package run

import (
	"fmt"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
)

// maxOdd bounds how many attributes are named of which a handler reports what it does not declare.
const maxOdd = 10

// observe takes in what a handler has read, as values that can be compared, stored and shown.
func (x reader) observe(r *Run, reading provider.Reading) {
	r.seen = provider.Observation{
		Exists:     reading.Observation.Exists,
		Attributes: provider.ObservedAll(reading.Observation.Attributes),
	}
	if reading.Err != nil {
		x.fail(r, reading.Err)
	}
}

// declared holds what was read to the type that the handler declares, as the setting strict asks
// for: a value that can never be as wanted would make a repair of every run. It returns false if
// the run failed. Secrets in what was read are known by then.
func (x comparer) declared(r *Run) bool {
	if x.Strict == provider.StrictOff {
		return true
	}
	odd := r.typ.CheckObserved(
		r.seen.Attributes,
		func(name string) bool { return r.host.hidden[name] },
	)
	for i, p := range odd {
		kw := map[string]any{"attribute": p.Attribute}
		if a, declared := r.typ.Attribute(p.Attribute); declared {
			kw["type"] = a.Type
			of := map[string]diff.Diff{p.Attribute: {Current: r.seen.Attributes[p.Attribute]}}
			kw["value"] = r.host.Diffs(of, nil, false)[p.Attribute].Current
		}
		text := fmt.Sprintf(
			"the handler reports what its type does not declare: %s: %s",
			p.Attribute,
			p.Message,
		)
		if x.Strict == provider.StrictError {
			r.End(state.StatusFailed, provider.Terminal, text)
			return false
		}
		if i == maxOdd {
			text, kw = fmt.Sprintf(
				"the handler reports %d attributes that are not as its type declares them",
				len(odd),
			), nil
		}
		r.host.Log(
			provider.Line{
				At:     x.Runner.Clock.Now(),
				Level:  provider.LevelWarning,
				Msg:    text,
				Kwargs: kw,
			},
		)
		if i == maxOdd {
			break
		}
	}
	return true
}

// observedDiffs makes differences that a handler has found fit to be stored and shown.
func observedDiffs(diffs map[string]diff.Diff) map[string]diff.Diff {
	out := make(map[string]diff.Diff, len(diffs))
	for name, d := range diffs {
		d.Current, d.Desired = provider.Observed(d.Current), provider.Observed(d.Desired)
		out[name] = d
	}
	return out
}
