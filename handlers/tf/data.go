package tf

import (
	"context"
	"time"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/tf/process"
	"southbound/shared/tf/wire"
)

// dataSource reads one data source of a provider. It always exists, and its result is facts.
type dataSource struct {
	bridge *bridge
	meta   meta
}

// query reads the data source.
func (h *dataSource) query(ctx *provider.Context, r provider.Resource) (*session, *live, error) {
	s, err := h.bridge.open(ctx, &h.meta, r)
	if err != nil {
		return nil, nil, err
	}
	defer s.close()
	config, err := s.config(r)
	if err != nil {
		return nil, nil, err
	}
	v, err := encode(s.ty, config)
	if err != nil {
		return nil, nil, broken(err)
	}
	err = s.ask(provider.NeedsChange, func(ctx context.Context, c *process.Call) ([]wire.Diagnostic, error) {
		return c.ValidateDataSource(ctx, h.meta.theirs, v)
	})
	if err != nil {
		return nil, nil, err
	}
	var answer wire.DynamicValue
	err = s.ask(provider.Retryable, func(ctx context.Context, c *process.Call) (d []wire.Diagnostic, err error) {
		answer, d, err = c.ReadDataSource(ctx, h.meta.theirs, v, wire.DynamicValue{})
		return d, err
	})
	if err != nil {
		return nil, nil, err
	}
	state, err := s.stateIn(answer)
	if err == nil && state.IsNull() {
		err = provider.Errorf(provider.Terminal, "the provider has answered no result; report it to its authors")
	}
	return s, &live{state: state}, err
}

// Read implements provider.Handler.
func (h *dataSource) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	if req.Resource.Purged {
		return provider.Observation{}, nil
	}
	s, l, err := h.query(ctx, req.Resource)
	if err != nil {
		return provider.Observation{}, err
	}
	if !ctx.DryRun() {
		s.report(l)
	}
	return provider.Observation{Exists: true,
		Attributes: h.meta.reported(s.ty.Attributes(l.state))}, nil
}

// Facts implements provider.FactReader.
func (h *dataSource) Facts(ctx *provider.Context, req provider.ReadRequest) (map[string]any, error) {
	s, l, err := h.query(ctx, req.Resource)
	if err != nil {
		return nil, err
	}
	return small(s.facts(l)), nil
}

// CallTimeout implements provider.Timeouter.
func (h *dataSource) CallTimeout(r provider.Resource) time.Duration {
	return timeLimit(r.Attributes) + answerMargin
}

// Diff implements provider.Differ: the arguments of a data source are not compared.
func (h *dataSource) Diff(
	*provider.Context, provider.Resource, provider.Observation,
) (map[string]diff.Diff, error) {
	return nil, nil
}

// Create implements provider.Handler. It is not called, as Read reports that the data source exists.
func (h *dataSource) Create(*provider.Context, provider.CreateRequest) (provider.Result, error) {
	return provider.Result{}, nil
}

// Update implements provider.Handler.
func (h *dataSource) Update(*provider.Context, provider.UpdateRequest) (provider.Result, error) {
	return provider.Result{}, nil
}

// Delete implements provider.Handler.
func (h *dataSource) Delete(*provider.Context, provider.DeleteRequest) (provider.Result, error) {
	return provider.Result{}, nil
}
