package run

import (
	"context"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// remembered returns the facts that the handler remembers and has reported in this run with a new
// value.
func remembered(r *Run) map[string]resource.Data {
	m, ok := provider.As[provider.Rememberer](r.handler)
	if !ok {
		return nil
	}
	var out map[string]resource.Data
	for _, name := range m.Remembers(r.want) {
		if value, is := r.host.fact(name); is && value.Text() != r.known[name] {
			if out == nil {
				out = map[string]resource.Data{}
			}
			out[name] = value
		}
	}
	return out
}

// recall passes to runs the facts that their handlers remember.
func (x reader) recall(ctx context.Context, runs []*Run) error {
	var keys []state.ParameterKey
	of := map[resource.ID]*Run{}
	for _, r := range runs {
		m, ok := provider.As[provider.Rememberer](r.handler)
		if !ok {
			continue
		}
		for _, name := range m.Remembers(r.want) {
			keys = append(keys, state.ParameterKey{Name: name, Of: r.res.ID})
			of[r.res.ID] = r
		}
	}
	if len(keys) == 0 {
		return nil
	}
	facts, err := x.Runner.Facts.Parameters(
		ctx,
		runs[0].host.env,
		state.ParameterQuery{Keys: keys, Facts: true},
	)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read facts", err)
	}
	for i := range facts {
		r := of[facts[i].Of]
		if r == nil {
			continue
		}
		if r.known == nil {
			r.known = map[string]string{}
		}
		r.known[facts[i].Name] = facts[i].Value
	}
	for _, r := range of {
		r.Bind(ctx)
	}
	return nil
}
