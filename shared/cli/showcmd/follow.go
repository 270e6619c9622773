package showcmd

import (
	"context"
	"time"

	"southbound/shared/api"
	"southbound/shared/cli/output"
	"southbound/shared/fault"
	"southbound/shared/local"
)

const (
	// followWait is how long one request waits for new actions.
	followWait = 25 * time.Second
	// reconnectFirst is the pause before the first request after a failed one. It doubles up to
	// reconnectMost.
	reconnectFirst = time.Second
	reconnectMost  = 30 * time.Second
)

// follow prints the actions of a query, and then new ones until ctx ends. It waits for them on the
// changes feed. After it has read once, it continues when a home cannot be reached, and then prints the
// actions that were recorded in between.
func (l *LogCommands) follow(ctx context.Context, q api.ActionQuery) error {
	f := &follower{LogCommands: l, q: q, first: reconnectFirst}
	return f.run(ctx)
}

func (f *follower) run(ctx context.Context) error {
	pause := f.first
	for away := false; f.Lost == nil; {
		err := f.next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (!f.read || !unreachable(err)):
			return err
		case err == nil && away:
			f.Say("southbound: connected again")
		case err != nil && !away:
			f.Say("southbound: %s; trying again until it is stopped", output.OneLine(err.Error()))
		}
		if away = err != nil; !away {
			pause = f.first
			continue
		}
		if (local.Clock{}).Sleep(ctx, pause) != nil {
			return nil
		}
		pause = min(2*pause, reconnectMost)
	}
	return nil
}

// unreachable reports whether a request may succeed later.
func unreachable(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Timeout, fault.Busy:
		return true
	}
	return false
}

// follower prints actions as they are recorded.
type follower struct {
	*LogCommands

	q     api.ActionQuery
	token string // of the last answer of the changes feed
	read  bool   // actions have been read
	first time.Duration
}

// next waits for changes and prints new actions. The token is read before the actions, so an action
// that is recorded between the two is printed by this call or the next one.
func (f *follower) next(ctx context.Context) error {
	changes, err := f.Home.Changes(ctx, f.Env, f.token, followWait)
	if err != nil {
		return err
	}
	if f.token == "" || changes.Actions {
		if _, err := f.print(ctx, &f.q); err != nil {
			return err
		}
		f.read, f.q.Limit = true, 0
	}
	f.token = changes.Token
	return nil
}
