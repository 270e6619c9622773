package exportcmd

import (
	"context"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/deploy/state"
)

// emptySets reports the resource sets to remove that are already empty. An empty set is no error: a
// job that removes a set may run again.
func emptySets(ctx context.Context, s *home.Session, names []string) error {
	if len(names) == 0 {
		return nil
	}
	now, err := s.Home.Progress(ctx, s.Location.Env)
	if err != nil || now.Last != now.Released {
		return err // before its release, resources do not show the sets of the last version
	}
	for _, name := range names {
		some := false
		err := s.Home.Resources(ctx, s.Location.Env, []string{"set=" + name},
			func(r *api.Resource) error {
				if some = r.Status != state.StatusOrphaned; some {
					return home.ErrEnough
				}
				return nil
			})
		if err != nil && !some {
			return err
		}
		if !some {
			s.Console.Say("--delete-set %s: no resource is in a set of that name; "+
				"`southbound resources --json` shows the set of each resource", name)
		}
	}
	return nil
}
