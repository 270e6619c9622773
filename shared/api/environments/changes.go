package environments

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"southbound/shared/api/client"
	"southbound/shared/api/server"
	"southbound/shared/api/wire"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

const (
	// MaxWait is the maximum time that one request waits for a change.
	MaxWait = 25 * time.Second
	// askAgain is how long a client pauses before it repeats a request to a server that did not
	// wait.
	askAgain = 5 * time.Second
)

// Changes are what may have changed in an environment since a token. A change may be reported more
// than once, but is never left out.
type Changes struct {
	Token     string        `json:"token" doc:"value of after for the next request; the same if nothing has changed"`
	Resources []resource.ID `json:"resources" maxItems:"200" doc:"resources whose state may have changed"`
	More      bool          `json:"more" doc:"any other resource may have changed, too"`

	Agents     bool `json:"agents" doc:"agents were described, removed, paused or resumed"`
	Instances  bool `json:"instances" doc:"instances or definitions of services"`
	Versions   bool `json:"versions" doc:"versions were stored, released or removed"`
	Parameters bool `json:"parameters" doc:"parameters or facts"`
	Orders     bool `json:"orders" doc:"orders of services"`
	Actions    bool `json:"actions" doc:"actions were recorded or removed"`
	Settings   bool `json:"settings" doc:"settings of the environment, or whether it is halted"`
}

func changesOf(c state.Changes) Changes {
	return Changes{Token: c.Token, Resources: wire.OrEmpty(c.Resources), More: c.More,
		Agents:     c.Kinds.Has(state.ChangedAgents),
		Instances:  c.Kinds.Has(state.ChangedInstances),
		Versions:   c.Kinds.Has(state.ChangedVersions),
		Parameters: c.Kinds.Has(state.ChangedParameters),
		Orders:     c.Kinds.Has(state.ChangedOrders),
		Actions:    c.Kinds.Has(state.ChangedActions),
		Settings:   c.Kinds.Has(state.ChangedSettings)}
}

// Changes implements Home.
func (s *Service) Changes(
	ctx context.Context, env, after string, wait time.Duration,
) (Changes, error) {
	feed, is := s.Engine.State.(state.Feed)
	if !is {
		return Changes{}, fault.New(fault.Unsupported, "read changes",
			"this home does not report changes")
	}
	if after == "" || after == state.NothingYet {
		if err := s.Require(ctx, env); err != nil {
			return Changes{}, err
		}
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.Stopping != nil {
		defer context.AfterFunc(s.Stopping, cancel)()
	}
	c, err := feed.Changes(waiting, env, after, wait)
	if err != nil && after != "" && waiting.Err() != nil && ctx.Err() == nil {
		return changesOf(state.Changes{Token: after}), nil // the server stops
	}
	return changesOf(c), fault.Wrap(fault.Unknown, "read changes", err)
}

// Changes implements Home. A server may wait less than a request asks for, or not at all.
func (c Remote) Changes(
	ctx context.Context, env, after string, wait time.Duration,
) (Changes, error) {
	for until := c.Clock.Now().Add(wait); ; {
		left := until.Sub(c.Clock.Now())
		query := url.Values{"wait": {strconv.Itoa(int(min(max(left, 0), MaxWait).Seconds()))}}
		if after != "" {
			query.Set("after", after)
		}
		asked := c.Clock.Now()
		out, err := client.Ask[Changes](ctx, c.Conn, http.MethodGet,
			wire.EnvironmentPath(env, "changes")+"?"+query.Encode(), nil)
		if err != nil || out.Token != after {
			return out, err
		}
		pause := asked.Add(askAgain).Sub(c.Clock.Now())
		if left = until.Sub(c.Clock.Now()); left <= 0 {
			return out, nil
		}
		if pause = min(pause, left); pause > 0 {
			if err := c.Clock.Sleep(ctx, pause); err != nil {
				return out, fault.Ended(ctx)
			}
		}
	}
}

type changesIn struct {
	server.InEnvironment
	After string `query:"after" minLength:"1" maxLength:"200" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" patternDescription:"text without control characters" doc:"token of an earlier answer; without it, everything may have changed"`
	Wait  int    `query:"wait" minimum:"0" maximum:"25" doc:"how many seconds to wait for a change; a server may wait less"`
}

func changesRoute(r *server.Router, s *Service) {
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/changes", "changes",
		"Changes since an earlier answer",
		func(ctx context.Context, i *changesIn) (*server.Out[Changes], error) {
			return server.Answer(s.Changes(ctx, i.Env, i.After, time.Duration(i.Wait)*time.Second))
		})
}
