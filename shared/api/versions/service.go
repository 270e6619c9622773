package versions

import (
	"context"
	"slices"

	"southbound/shared/api/document"
	"southbound/shared/api/environments"
	"southbound/shared/api/results"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// VersionFile implements Home.
func (s *Service) VersionFile(
	ctx context.Context, env string, number int, hash string,
) ([]byte, error) {
	v, err := s.Env.Engine.VersionOf(ctx, env, number)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(v.Files, hash) {
		return nil, fault.New(fault.NotFound, "read version", "version %d has no file %.80q",
			number, hash)
	}
	blobs, err := s.Env.Engine.Files.Get(ctx, []string{hash})
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read file", err)
	}
	return blobs[0], nil
}

// Compare implements Home.
func (s *Service) Compare(
	ctx context.Context, env string, from, to int, whole bool,
) (deploy.DryRun, error) {
	out := deploy.DryRun{Version: to}
	stored, err := s.Env.Engine.State.Env(ctx, env)
	if err != nil {
		return out, fault.Wrap(fault.Unknown, "read environment", err)
	}
	out.Planned, err = s.Env.Engine.Compare(ctx, env, from, to, deploy.CompareOptions{Whole: whole})
	if err != nil || from != stored.Released {
		return out, err
	}
	out.Refused, err = s.Refusal(ctx, env, to)
	return out, err
}

// Refusal returns why the release of a version would be rejected; nil: it would succeed.
func (s *Service) Refusal(ctx context.Context, env string, number int) (refused, err error) {
	err = s.Env.Engine.MayRelease(ctx, env, number)
	if problems, _ := diag.Of(err); len(problems) > 0 {
		return s.Env.Named(ctx, env, err), nil
	}
	return nil, err
}

// Described implements Home.
func (s *Service) Described(ctx context.Context, env string, number int) (Described, error) {
	v, err := s.Env.Engine.VersionOf(ctx, env, number)
	if err != nil {
		return Described{}, err
	}
	all, state, err := s.Env.Engine.VersionsOf(ctx, env)
	if err != nil {
		return Described{}, err
	}
	d := Described{versionOf(&v, state.Released), map[string]map[string]any{}}
	d.InForce = wire.OrEmpty(inForce(all, state)[number])
	for _, a := range v.Agents {
		if about := document.Agent(a); about != nil {
			d.Agents[a.Name] = about
		}
	}
	return d, nil
}

// Descriptions implements Home.
func (s *Service) Descriptions(
	ctx context.Context, env string, number int, id resource.ID, f func(*document.Description) error,
) error {
	for part := 0; ; {
		items, next, err := s.descriptions(ctx, env, number, id, part)
		if err != nil {
			return err
		}
		for i := range items {
			if err := f(&items[i]); err != nil {
				return err
			}
		}
		if part = next; part == 0 {
			return nil
		}
	}
}

// descriptions returns a part of the resources of a version and the number of the following part,
// or one resource; 0: there are no more.
func (s *Service) descriptions(
	ctx context.Context, env string, number int, id resource.ID, n int,
) ([]document.Description, int, error) {
	v, err := s.Env.Engine.VersionOf(ctx, env, number)
	if err != nil {
		return nil, 0, err
	}
	if id != "" {
		r, err := s.Env.Engine.VersionResource(ctx, &v, id)
		if err != nil {
			return nil, 0, err
		}
		out := []document.Description{document.Describe(&r)}
		return out, 0, s.addPlaces(ctx, &v, out)
	}
	part, err := s.Env.Engine.VersionPart(ctx, &v, n)
	if err != nil {
		return nil, 0, err
	}
	out := make([]document.Description, len(part.Resources))
	for i := range part.Resources {
		out[i] = document.Describe(&part.Resources[i])
	}
	return out, part.Next, s.addPlaces(ctx, &v, out)
}

// addPlaces adds the places of resources of a version.
func (s *Service) addPlaces(
	ctx context.Context, v *state.Version, list []document.Description,
) error {
	places, err := s.Env.Engine.Places(ctx, v)
	for i := range list {
		if at, known := places[list[i].ID]; known {
			list[i].Place = &at
		}
	}
	return err
}

type Service struct {
	Env     *environments.Service
	Results *results.Store
}

// Versions implements Home.
func (s *Service) Versions(ctx context.Context, env string) ([]Version, error) {
	vs, state, err := s.Env.Engine.VersionsOf(ctx, env)
	if err != nil {
		return nil, err
	}
	out := make([]Version, len(vs))
	times := inForce(vs, state)
	for i := range vs {
		out[i] = versionOf(&vs[i], state.Released)
		out[i].InForce = wire.OrEmpty(times[vs[i].Number])
	}
	return out, nil
}
