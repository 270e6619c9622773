package cli

import (
	"context"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
)

// emptySets reports the resource sets to remove that are already empty. An empty set is no error: a
// job that removes a set may run again.
func emptySets(ctx context.Context, s *session, names []string) error {
	if len(names) == 0 {
		return nil
	}
	now, err := s.home.Progress(ctx, s.location.env)
	if err != nil || now.Last != now.Released {
		return err // before its release, resources do not show the sets of the last version
	}
	for _, name := range names {
		some := false
		err := s.home.Resources(ctx, s.location.env, []string{"set=" + name},
			func(r *api.Resource) error {
				if some = r.Status != state.StatusOrphaned; some {
					return errEnough
				}
				return nil
			})
		if err != nil && !some {
			return err
		}
		if !some {
			s.console.say("--delete-set %s: nothing is in a set of that name; "+
				"`southbound resources --json` says in which set each is", name)
		}
	}
	return nil
}
