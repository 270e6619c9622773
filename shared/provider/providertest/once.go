package providertest

import (
	"context"
	"maps"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// Outcome is the result of one run of a handler for one resource.
type Outcome struct {
	Change  diff.Change          // the change; if Err is set, the attempted one
	Changes map[string]diff.Diff // the differences that led to an update
	Host    *Host                // the handler's output
	Err     error
}

// Once does the engine's work of one run for one resource: it checks the attributes, reads,
// compares and acts. It calls again as long as the handler requests that. It is for cases that a
// suite cannot know of a target: refusals, drift, conflicting things.
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
