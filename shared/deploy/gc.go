package deploy

import (
	"context"
	"time"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Retention where the settings say nothing.
const (
	defaultKeepVersions = 100
	defaultKeepActions  = 7 * 24 * time.Hour
	// fileGrace protects files that were uploaded for an export that is not stored yet.
	fileGrace = 24 * time.Hour
)

// Collected says what a collection removed.
type Collected struct {
	Versions int `json:"versions"`
	Actions  int `json:"actions"`
	Files    int `json:"files"`
}

// Collect removes old versions and actions by the settings of the environment, and files that no version of any environment refers to
// and that were stored more than grace ago (0: a day).
func (e *Engine) Collect(ctx context.Context, env string, grace time.Duration) (Collected, error) {
	var out Collected
	if grace <= 0 {
		grace = fileGrace
	}
	err := e.plan(ctx, env, func(p *planner) error {
		var err error
		if out.Versions, err = p.dropVersions(ctx); err != nil {
			return err
		}
		keep := p.env.Settings.KeepActions
		if keep <= 0 {
			keep = defaultKeepActions
		}
		out.Actions, err = e.State.DropActions(ctx, env, e.Clock.Now().Add(-keep))
		return fault.Wrap(fault.Unknown, "remove actions", err)
	})
	if err != nil {
		return out, err
	}
	out.Files, err = e.dropFiles(ctx, grace)
	return out, err
}

func (p *planner) dropVersions(ctx context.Context) (int, error) {
	keep := p.env.Settings.KeepVersions
	if keep <= 0 {
		keep = defaultKeepVersions
	}
	vs, err := p.e.State.Versions(ctx, p.env.Name)
	if err != nil {
		return 0, fault.Wrap(fault.Unknown, "read versions", err)
	}
	var drop []int
	for _, v := range vs {
		if v.Number <= p.env.Last-keep && v.Number != p.env.Released {
			drop = append(drop, v.Number)
		}
	}
	if len(drop) == 0 {
		return 0, nil
	}
	return len(drop), fault.Wrap(fault.Unknown, "remove versions", p.e.State.DropVersions(ctx, p.env.Name, drop...))
}

// dropFiles removes what nothing refers to: no version, no graph, no resource that has left its version behind.
func (e *Engine) dropFiles(ctx context.Context, grace time.Duration) (int, error) {
	used := map[string]bool{}
	envs, err := e.State.Envs(ctx)
	if err != nil {
		return 0, fault.Wrap(fault.Unknown, "list environments", err)
	}
	for _, env := range envs {
		if err := e.usedFiles(ctx, env, used); err != nil {
			return 0, err
		}
	}
	before := e.Clock.Now().Add(-grace)
	var drop []string
	if err := e.Files.List(ctx, func(hash string, stored time.Time) error {
		if !used[hash] && stored.Before(before) {
			drop = append(drop, hash)
		}
		return nil
	}); err != nil {
		return 0, fault.Wrap(fault.Unknown, "list files", err)
	}
	if len(drop) == 0 {
		return 0, nil
	}
	return len(drop), fault.Wrap(fault.Unknown, "remove files", e.Files.Delete(ctx, drop))
}

func (e *Engine) usedFiles(ctx context.Context, env string, used map[string]bool) error {
	state, err := e.State.Env(ctx, env)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read environment", err)
	}
	used[state.Graph] = true
	vs, err := e.State.Versions(ctx, env)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read versions", err)
	}
	for _, v := range vs {
		used[v.Graph] = true
		for _, h := range v.Chunks {
			used[h] = true
		}
		for _, h := range v.Files {
			used[h] = true
		}
	}
	return e.eachRow(ctx, env, func(r *Row) error {
		if res, err := resource.Decode(r.Body); err == nil {
			for _, ref := range resource.References(res.Attributes) {
				if f, ok := ref.(resource.File); ok {
					used[f.Hash] = true
				}
			}
		}
		return nil
	})
}
