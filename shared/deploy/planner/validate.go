package planner

import (
	"context"
	"fmt"

	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Checks of an export that need no version.

// validateExport returns the problems of an export and its model.
func (pl *Config) validateExport(x Export) diag.Problems {
	var problems diag.Problems
	pl.Checker.Keep(x.Model)
	switch {
	case !x.Target.Empty() && (x.Partial || x.NoRelease):
		problems.Add(diag.Problem{Message: "a filter does not go together with a partial export, or " +
			"one that is not released", Hint: "leave out one of the two"})
	case x.Partial:
		if !x.Model.Valid {
			problems = pl.Checker.Validate(x.Model)
		}
		exported := map[string]bool{}
		for i := range x.Model.Resources {
			exported[x.Model.Resources[i].Set] = true
		}
		for _, s := range x.DeleteSets {
			if exported[s] {
				problems.Add(diag.Problem{Hint: "leave out one of the two",
					Message: fmt.Sprintf("set %q is exported and deleted at once", s)})
			}
		}
	case len(x.DeleteSets) > 0:
		problems.Add(diag.Problem{Message: "sets can only be deleted by a partial export",
			Hint: "add --partial"})
	case !x.Model.Valid:
		problems = pl.Checker.ValidateClosed(x.Model)
	}
	return problems
}

// checkSecrets returns the problems of a model with its secrets, as diag.Problems. all also reports
// secrets that do not exist; otherwise only sources that need a setup are read, as other secrets may
// be set later.
func (pl *Config) checkSecrets(ctx context.Context, env string, x Export, all bool) error {
	problems, err := pl.unreadable(ctx, env, x)
	switch {
	case err != nil:
		return err
	case len(problems) > 0:
		return problems.Err()
	}
	exists := pl.secretExists(ctx)
	switch {
	case all:
		problems = x.Model.UnsetSecrets(exists)
	case x.Model.HasSetupSecrets():
		problems = x.Model.UnsetSecrets(func(ref resource.Secret) error {
			if kind, _ := resource.SecretSourceOf(ref.Source); !kind.Setup {
				return nil
			}
			return exists(ref)
		})
	}
	return problems.Err()
}

// unreadable returns a problem for each kind of source that the process that serves an agent cannot
// read.
func (pl *Config) unreadable(ctx context.Context, env string, x Export) (diag.Problems, error) {
	if pl.Readable == nil || !x.Model.HasMachineSecrets() {
		return nil, nil
	}
	agents := x.Model.Agents
	if x.Partial { // other parts of the version may describe agents
		stored, err := pl.State.Env(ctx, env)
		if err != nil {
			return nil, fault.Wrap(fault.Unknown, "read environment", err)
		}
		last, err := pl.State.Versions(ctx, env, stored.Last)
		if err != nil {
			return nil, fault.Wrap(fault.Unknown, "read version", err)
		}
		for _, v := range last {
			agents = MergeAgents(v.Agents, agents)
		}
	}
	return x.Model.UnreadableSecrets(agents, pl.Readable), nil
}

// secretExists returns a function that returns an error if a secret does not exist.
func (pl *Config) secretExists(ctx context.Context) func(resource.Secret) error {
	return func(ref resource.Secret) error {
		if v, ok := pl.Secrets.(state.SecretVersions); ok {
			_, err := v.Version(ctx, ref)
			return err
		}
		_, _, err := pl.Secrets.Resolve(ctx, ref)
		return err
	}
}
