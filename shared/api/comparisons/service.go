package comparisons

import (
	"context"

	"southbound/shared/api/document"
	"southbound/shared/api/environments"
	"southbound/shared/api/exports"
	"southbound/shared/api/results"
	"southbound/shared/api/versions"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Discover implements Home. If this process has handlers, an unknown agent stands for this machine.
func (s *Service) Discover(
	ctx context.Context, env string, d Discover,
) (results.Discovered, error) {
	done, err := s.Describe(ctx, env, d)
	if err != nil {
		return results.Discovered{}, err
	}
	return results.GatherFound(done, nil)
}

// FoundHere makes the answer for a caller on another machine, for which this machine is no agent.
func (s *Service) FoundHere(
	ctx context.Context, env string, d Discover,
) (results.FoundDone, error) {
	agents, err := s.Env.Engine.State.Agents(ctx, env)
	if err != nil {
		return results.FoundDone{}, fault.Wrap(fault.Unknown, "read agents", err)
	}
	if agents[d.Agent].Transport == "" {
		return results.FoundDone{}, fault.New(fault.NotFound, "discover", "the environment has no agent %q",
			d.Agent).
			WithHint("`southbound agents` lists them; leave --api out to look from this machine")
	}
	done, err := s.Describe(ctx, env, d)
	if err != nil {
		return results.FoundDone{}, err
	}
	done.Items, done.Parts, err = results.InParts(ctx, s.Env.Engine.Files, done.Items)
	return done, err
}

// Describe makes the complete answer.
func (s *Service) Describe(ctx context.Context, env string, d Discover) (results.FoundDone, error) {
	have, err := s.Env.Engine.Discover(
		ctx,
		env,
		deploy.DiscoveryQuery{Type: d.Type, Agent: d.Agent, Like: d.Like,
			Declaration: d.Declaration, Import: d.Import},
	)
	if err != nil {
		return results.FoundDone{}, err
	}
	done := results.FoundDone{Total: len(have.Resources) + len(have.LeftOut)}
	for i := range have.Resources {
		f := results.Found{ID: have.Resources[i].ID, Attributes: map[string]any{},
			Note: have.Notes[have.Resources[i].ID]}
		for name, v := range have.Resources[i].Attributes {
			f.Attributes[name] = document.Literal(v)
		}
		done.Items = append(done.Items, f)
	}
	for _, l := range have.LeftOut {
		done.Items = append(done.Items, results.Found{ID: l.ID, Why: l.Why})
	}
	agents, err := s.Env.Engine.State.Agents(ctx, env)
	if err != nil {
		return results.FoundDone{}, fault.Wrap(fault.Unknown, "read agents", err)
	}
	done.Agent = document.Agent(agents[d.Agent].Agent)
	return done, nil
}

// DryRun implements Home.
func (s *Service) DryRun(ctx context.Context, env string, version int, filter []string,
	whole bool) (deploy.DryRun, error) {
	return s.RunJob(ctx, ReadJob{Environment: env, Version: version, Filter: filter, Whole: whole},
		deploy.Reading{})
}

// Plan implements Home.
func (s *Service) Plan(
	ctx context.Context, env string, x deploy.Export, opts deploy.CompareOptions,
) (deploy.DryRun, error) {
	return s.Env.Engine.Preview(ctx, env, x, opts)
}

// Planned returns the plan of an export of uploaded documents, without reading reality.
func (s *Service) Planned(
	ctx context.Context, env string, request PlanAsked,
) (results.ReadDone, error) {
	x, err := s.ExportService.Unpack(ctx, request.Bundle)
	if err != nil {
		return results.ReadDone{}, err
	}
	d, err := s.Env.Engine.Preview(ctx, env, x, deploy.CompareOptions{Whole: request.Whole})
	if err != nil {
		return results.ReadDone{}, err
	}
	return s.Results.Keep(ctx, d)
}

type Service struct {
	Env            *environments.Service
	ExportService  *exports.Service
	VersionService *versions.Service
	Results        *results.Store
}

// RunJob makes a comparison, or continues one.
func (s *Service) RunJob(
	ctx context.Context,
	job ReadJob,
	from deploy.Reading,
) (deploy.DryRun, error) {
	opts := deploy.CompareOptions{Read: true, Whole: job.Whole, From: from}
	if job.Bundle != nil {
		x, err := s.ExportService.Unpack(ctx, *job.Bundle)
		if err != nil {
			return deploy.DryRun{}, err
		}
		return s.Env.Engine.Preview(ctx, job.Environment, x, opts)
	}
	only, err := state.ParseFilter(job.Filter)
	if err == nil {
		err = only.Stored()
	}
	if err != nil {
		return deploy.DryRun{}, err
	}
	d, err := s.Env.Engine.DryRunOf(ctx, job.Environment, job.Version, only, opts)
	if err != nil || len(d.Unread) > 0 || job.Version == 0 {
		return d, err
	}
	stored, err := s.Env.Engine.State.Env(ctx, job.Environment)
	if err != nil {
		return d, fault.Wrap(fault.Unknown, "read environment", err)
	}
	if job.Version != stored.Released {
		d.Refused, err = s.VersionService.Refusal(ctx, job.Environment, job.Version)
	}
	return d, err
}
