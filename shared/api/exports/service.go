package exports

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"southbound/shared/api/environments"
	"southbound/shared/api/files"
	"southbound/shared/api/versions"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/resource"
)

// Known implements Home.
func (s *Service) Known(
	ctx context.Context, env, fingerprint string, declarations []string,
) (deploy.Exported, bool, error) {
	return s.Env.Engine.Known(ctx, env, s.fingerprint(fingerprint), declarations)
}

// fingerprint combines the fingerprint of the inputs with the handlers of this home.
func (s *Service) fingerprint(inputs string) string {
	if inputs == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(inputs + " " + s.Env.Engine.Pack))
	return hex.EncodeToString(sum[:])
}

// Export implements Home.
func (s *Service) Export(
	ctx context.Context, env string, x deploy.Export, _ func(files.Sent),
) (deploy.Exported, error) {
	if x.Model != nil {
		m := *x.Model
		m.Fingerprint = s.fingerprint(m.Fingerprint)
		x.Model = &m
	}
	if x.Since != nil {
		since := *x.Since
		since.Fingerprint = s.fingerprint(since.Fingerprint)
		x.Since = &since
	}
	x = x.WithDefaultLimits()
	var from []string
	if x.Origin.Commit != "" {
		from = []string{"commit " + x.Origin.Commit}
	}
	var out deploy.Exported
	err := s.Env.ActNaming(ctx, env, environments.ActExport, x.Origin.Message, from,
		func(name func(...string)) (err error) {
			out, err = s.Env.Engine.Export(ctx, env, x)
			switch {
			case err != nil:
			case out.New:
				name("version " + strconv.Itoa(out.Version))
			default:
				name("version "+strconv.Itoa(out.Version), "unchanged")
			}
			return err
		})
	s.Env.Changed(env)
	return out, err
}

// Commit exports uploaded files. A chunk that is not stored is NotFound, and has to be uploaded
// again.
func (s *Service) Commit(ctx context.Context, env string, b Bundle) (deploy.Exported, error) {
	x, err := s.Unpack(ctx, b)
	if err != nil {
		return deploy.Exported{}, err
	}
	began := s.Env.Engine.Clock.Now()
	out, err := s.Export(ctx, env, x, nil)
	if out.New {
		out.Began = began
	}
	return out, err
}

// Unpack reads the files of an export.
func (s *Service) Unpack(ctx context.Context, b Bundle) (deploy.Export, error) {
	return Unbundle(ctx, s.Env.Engine.Files, s.Env.Engine.Types, s.Agent, b)
}

// Release implements Home.
func (s *Service) Release(
	ctx context.Context, env string, number int, by versions.Origin,
) (deploy.Exported, error) {
	var out deploy.Exported
	err := s.Env.Act(ctx, env, environments.ActRelease, by.Message,
		[]string{"version " + strconv.Itoa(number)}, func() (err error) {
			out, err = s.Env.Engine.Release(ctx, env, number, state.Origin(by))
			return err
		})
	s.Env.Changed(env)
	return out, s.Env.Named(ctx, env, err)
}

type Service struct {
	Env *environments.Service
	// Agent returns the problems of the description of an agent.
	Agent func(resource.Agent) []diag.Problem
}
