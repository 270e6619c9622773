package states

import (
	"context"

	"southbound/shared/api/environments"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/seal"
	"southbound/shared/resource"
)

// Service serves kept states from the engine.
type Service struct {
	Env *environments.Service
}

// KeptState implements Home.
func (s *Service) KeptState(ctx context.Context, env string, id resource.ID) (Kept, error) {
	k, err := s.Env.Engine.Kept(ctx, env, id)
	if err != nil {
		return Kept{}, err
	}
	out := keptOf(&k)
	shown, err := s.Env.Engine.ShowKept(ctx, env, &k)
	out.State, out.Notes = shown.Attributes, shown.Notes
	return out, err
}

// keptOf describes a stored state. A damaged one has no key.
func keptOf(k *state.Kept) Kept {
	key, _ := seal.KeyOf(k.Sealed)
	return Kept{ID: k.ID, Revision: k.Revision, Outputs: k.Outputs, Key: key, Bytes: len(k.Sealed)}
}

// ExportState implements Home.
func (s *Service) ExportState(ctx context.Context, env string, id resource.ID) (Sealed, error) {
	k, err := s.Env.Engine.Kept(ctx, env, id)
	if err != nil {
		return Sealed{}, err
	}
	out := keptOf(&k)
	return Sealed{Form: fileForm, Environment: env, ID: id, Revision: k.Revision, Outputs: k.Outputs,
		Key: out.Key, Sealed: k.Sealed}, nil
}

// ImportState implements Home.
func (s *Service) ImportState(
	ctx context.Context, env string, id resource.ID, from Sealed,
) (Imported, error) {
	const what = "import kept state"
	refused := func(format string, args ...any) error {
		return fault.New(fault.Invalid, what, format, args...).
			WithHint("use a file that `southbound state export` has written for this resource in " +
				"this environment")
	}
	switch _, err := seal.KeyOf(from.Sealed); {
	case from.Form != fileForm:
		return Imported{}, refused("the file is no exported state, or has the form %d of another "+
			"version of the program", from.Form)
	case from.ID != id:
		return Imported{}, refused("the file has the state of %s", from.ID)
	case from.Environment != env:
		return Imported{}, refused("the file has a state of the environment %q", from.Environment)
	case err != nil:
		return Imported{}, refused("the file has no sealed state")
	}
	var out Imported
	err := s.Env.Act(ctx, env, environments.ActImportState, "", []string{string(id)},
		func() error {
			k, verified, err := s.Env.Engine.ImportKept(ctx, env, id, from.Sealed, from.Outputs)
			out = Imported{keptOf(&k), verified}
			return err
		})
	s.Env.Changed(env)
	return out, err
}

// AdoptStates implements Home.
func (s *Service) AdoptStates(ctx context.Context, env string, all []deploy.AdoptedState) error {
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = string(all[i].ID)
	}
	err := s.Env.Act(ctx, env, environments.ActImportState, "", ids,
		func() error { return s.Env.Engine.AdoptKept(ctx, env, all) })
	s.Env.Changed(env)
	return err
}

// ForgetState implements Home.
func (s *Service) ForgetState(ctx context.Context, env string, id resource.ID) (Kept, error) {
	var out Kept
	err := s.Env.Act(ctx, env, environments.ActForgetState, "", []string{string(id)},
		func() (err error) {
			k, err := s.Env.Engine.Kept(ctx, env, id)
			if err != nil {
				return err
			}
			out = keptOf(&k)
			return s.Env.Engine.ForgetKept(ctx, env, id)
		})
	s.Env.Changed(env)
	return out, err
}
