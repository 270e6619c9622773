package consoletest

import (
	"context"
	"time"

	"southbound/shared/api"
	"southbound/shared/api/agents"
	"southbound/shared/api/versions"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Faulty is a home whose methods fail: Before is called with the name of a method, and its error is
// the answer.
//
// Large: it has the methods of a home that pages call.
type Faulty struct {
	api.Home
	Before func(method string) error
}

// Failing returns a home of which all methods fail with an error.
func Failing(home api.Home, err error) *Faulty {
	return &Faulty{Home: home, Before: func(string) error { return err }}
}

// FailingAt returns a home of which one method fails.
func FailingAt(home api.Home, method string, err error) *Faulty {
	return &Faulty{Home: home, Before: func(m string) error {
		if m != method {
			return nil
		}
		return err
	}}
}

// Environments implements api.Home.
func (f *Faulty) Environments(ctx context.Context) ([]string, error) {
	if err := f.Before("Environments"); err != nil {
		return nil, err
	}
	return f.Home.Environments(ctx)
}

// Summaries implements api.Home.
func (f *Faulty) Summaries(ctx context.Context) ([]api.Summary, error) {
	if err := f.Before("Summaries"); err != nil {
		return nil, err
	}
	return f.Home.Summaries(ctx)
}

// Progress implements api.Home.
func (f *Faulty) Progress(ctx context.Context, env string) (api.Progress, error) {
	if err := f.Before("Progress"); err != nil {
		return api.Progress{}, err
	}
	return f.Home.Progress(ctx, env)
}

// Changes implements api.Home.
func (f *Faulty) Changes(
	ctx context.Context, env, after string, wait time.Duration,
) (api.Changes, error) {
	if err := f.Before("Changes"); err != nil {
		return api.Changes{}, err
	}
	return f.Home.Changes(ctx, env, after, wait)
}

// Halt implements api.Home.
func (f *Faulty) Halt(ctx context.Context, env string, halted bool) error {
	if err := f.Before("Halt"); err != nil {
		return err
	}
	return f.Home.Halt(ctx, env, halted)
}

// Actions implements api.Home.
func (f *Faulty) Actions(ctx context.Context, env string, q api.ActionQuery) ([]api.Action, error) {
	if err := f.Before("Actions"); err != nil {
		return nil, err
	}
	return f.Home.Actions(ctx, env, q)
}

// Agents implements api.Home.
func (f *Faulty) Agents(ctx context.Context, env string) ([]agents.Agent, error) {
	if err := f.Before("Agents"); err != nil {
		return nil, err
	}
	return f.Home.Agents(ctx, env)
}

// Pause implements api.Home.
func (f *Faulty) Pause(ctx context.Context, env string, paused bool, names ...string) error {
	if err := f.Before("Pause"); err != nil {
		return err
	}
	return f.Home.Pause(ctx, env, paused, names...)
}

// Resources implements api.Home.
func (f *Faulty) Resources(
	ctx context.Context, env string, filter []string, each func(*api.Resource) error,
) error {
	if err := f.Before("Resources"); err != nil {
		return err
	}
	return f.Home.Resources(ctx, env, filter, each)
}

// Resource implements api.Home.
func (f *Faulty) Resource(ctx context.Context, env string, id resource.ID) (api.Detail, error) {
	if err := f.Before("Resource"); err != nil {
		return api.Detail{}, err
	}
	return f.Home.Resource(ctx, env, id)
}

// Health implements api.Home.
func (f *Faulty) Health(ctx context.Context, env string) (api.Health, error) {
	if err := f.Before("Health"); err != nil {
		return api.Health{}, err
	}
	return f.Home.Health(ctx, env)
}

// Schedule implements api.Home.
func (f *Faulty) Schedule(ctx context.Context, env string, w api.Work) (int, error) {
	if err := f.Before("Schedule"); err != nil {
		return 0, err
	}
	return f.Home.Schedule(ctx, env, w)
}

// Forget implements api.Home.
func (f *Faulty) Forget(ctx context.Context, env string, x api.Forgetting) (api.Forgotten, error) {
	if err := f.Before("Forget"); err != nil {
		return api.Forgotten{}, err
	}
	return f.Home.Forget(ctx, env, x)
}

// Versions implements api.Home.
func (f *Faulty) Versions(ctx context.Context, env string) ([]api.Version, error) {
	if err := f.Before("Versions"); err != nil {
		return nil, err
	}
	return f.Home.Versions(ctx, env)
}

// Compare implements api.Home.
func (f *Faulty) Compare(
	ctx context.Context, env string, from, to int, whole bool,
) (deploy.DryRun, error) {
	if err := f.Before("Compare"); err != nil {
		return deploy.DryRun{}, err
	}
	return f.Home.Compare(ctx, env, from, to, whole)
}

// Release implements api.Home.
func (f *Faulty) Release(
	ctx context.Context, env string, number int, by versions.Origin,
) (deploy.Exported, error) {
	if err := f.Before("Release"); err != nil {
		return deploy.Exported{}, err
	}
	return f.Home.Release(ctx, env, number, by)
}

// DryRun implements api.Home.
func (f *Faulty) DryRun(
	ctx context.Context, env string, version int, filter []string, whole bool,
) (deploy.DryRun, error) {
	if err := f.Before("DryRun"); err != nil {
		return deploy.DryRun{}, err
	}
	return f.Home.DryRun(ctx, env, version, filter, whole)
}

// Parameters implements api.Home.
func (f *Faulty) Parameters(ctx context.Context, env string, facts bool) ([]state.Parameter, error) {
	if err := f.Before("Parameters"); err != nil {
		return nil, err
	}
	return f.Home.Parameters(ctx, env, facts)
}

// Orders implements api.Home.
func (f *Faulty) Orders() (api.Orders, error) {
	if err := f.Before("Orders"); err != nil {
		return nil, err
	}
	return f.Home.Orders()
}

// Graph implements api.Home.
func (f *Faulty) Graph(ctx context.Context, env string, q api.GraphQuery) (api.Graph, error) {
	if err := f.Before("Graph"); err != nil {
		return api.Graph{}, err
	}
	return f.Home.Graph(ctx, env, q)
}
