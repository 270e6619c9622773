package sweep

import (
	"context"
	"hash/fnv"
	"time"
)

// chores runs the chores that are due in this minute.
func (s *Sweeper) chores(ctx context.Context, envs []string, at time.Time) []error {
	var due []string
	for _, env := range envs {
		if minuteOf("collect "+env) == minute(at) {
			due = append(due, env)
		}
	}
	errs := s.each(ctx, due, func(ctx context.Context, env string) error {
		out, err := s.Engine.Collect(ctx, env, 0)
		s.Log.InfoContext(ctx, "collected", "environment", env, "versions", out.Versions, "actions",
			out.Actions, "files", out.Files)
		return err
	})
	// hourly, because agents may become idle between two repairs
	if s.Queues != nil && len(envs) > 0 && minute(at)%60 == minuteOf("idle")%60 {
		hourly := func(name, did string, do func(context.Context) (int, error)) {
			n, err := do(ctx)
			if n > 0 {
				s.Log.InfoContext(ctx, did, "agents", n)
			}
			if err != nil {
				s.Log.ErrorContext(ctx, "chore failed", "chore", name, "error", err.Error())
				errs = append(errs, err)
			}
		}
		hourly("idle", "put agents to sleep", s.Queues.Idle)
		hourly("refresh", "gave queues the attributes of this version of the stack",
			s.Queues.Refresh)
	}
	return errs
}

const minutesADay = 24 * 60

// minute returns the minute of the day of a time.
func minute(at time.Time) int { return at.UTC().Hour()*60 + at.UTC().Minute() }

// minuteOf returns the minute of the day in which a chore runs. It is a hash of the chore's name,
// so that no state is required and chores are spread over the day.
func minuteOf(name string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return int(h.Sum32() % minutesADay)
}
