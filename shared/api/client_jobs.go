package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"time"

	"southbound/shared/api/client"
	"southbound/shared/api/wire"
	"southbound/shared/fault"
	"southbound/shared/patience"
)

const (
	longAsk  = 2 * time.Second // between two polls of a job
	dropTime = 2 * time.Second // to cancel a job
	// awayFor is the time that a polled server may be unreachable, such as during a restart.
	awayFor = 2 * time.Minute
)

// read starts a job and waits for it. With an error, it also returns the agents that were not
// compared, as far as they are known.
func read(
	ctx context.Context, c *client.Conn, env string, asked jobAsked,
) (ReadDone, []string, error) {
	about, err := c.About(ctx)
	if err != nil {
		return ReadDone{}, nil, err
	}
	if !about.Jobs {
		return ReadDone{}, nil, fault.New(fault.Unsupported, "ask "+c.Base.Host,
			"the server makes no comparisons with reality").
			WithHint("ask the server of the API, not the one for exports alone")
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // it never fails
	path := wire.EnvironmentPath(env, "jobs/"+hex.EncodeToString(id))
	state, err := client.Ask[JobState](ctx, c, http.MethodPut, path, asked)
	away := time.Duration(0) // time since the last answer
	for pause := client.FirstPause; err == nil && state.State == JobRunning; pause = min(pause*3/2,
		longAsk) {
		if c.Clock.Sleep(ctx, pause) != nil {
			break
		}
		away += pause
		var now JobState
		now, err = client.Ask[JobState](ctx, c, http.MethodGet, path, nil)
		switch {
		case err == nil:
			state, away = now, 0
		case client.Passes(err) && away < awayFor:
			err = nil
		}
	}
	switch {
	case ctx.Err() != nil:
		late, cancel := patience.WithTimeout(context.WithoutCancel(ctx), dropTime)
		defer cancel()
		if dropped, err := client.Ask[JobState](late, c, http.MethodDelete, path,
			nil); err == nil {
			state = dropped
		}
		cause := context.Cause(ctx)
		return ReadDone{}, state.Left, fault.Wrap(fault.KindOf(cause), "", cause)
	case err != nil:
		return ReadDone{}, state.Left, err
	case state.Error != nil:
		return ReadDone{}, state.Left, client.ServerError{Failure: *state.Error}
	case state.Done == nil:
		return ReadDone{}, nil, fault.New(
			fault.Foreign,
			"ask "+c.Base.Host,
			"the server says that it is done, and not what came of it",
		)
	}
	return *state.Done, nil, nil
}
