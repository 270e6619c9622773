package providertest

import (
	"context"
	"maps"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// Outcome is what one run of a handler for one resource came to.
type Outcome struct {
	Change  diff.Change          // what was done; where Err is set, what was tried
	Changes map[string]diff.Diff // the differences that led to an update
	Host    *Host                // what the handler said
	Err     error
}

// Once does with one resource what the engine does in one run: it checks the attributes, reads,
// compares and acts, and calls again as long as the handler asks for that. It is for what a suite
// cannot know of a target: refusals, drift, things that are in the way.
func Once(ctx context.Context, d provider.Definition, transport any, attributes map[string]any,
	purge bool) Outcome {
	e, err := newEnv(ctx,
		Subject{Definition: d, Transport: transport,
			New: func(string, *Host) (Case, error) { return Case{}, nil }},
		func() (string, error) { return "", nil })
	if err != nil {
		return Outcome{Err: err}
	}
	out := Outcome{Host: e.host}
	r, err := e.want(maps.Clone(attributes))
	if err != nil {
		out.Err = err
		return out
	}
	r.Purged = purge
	e.saw = func(diffs map[string]diff.Diff) { out.Changes = diffs }
	out.Change, out.Err = e.apply(r)
	return out
}
