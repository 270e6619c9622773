package environments

import (
	"context"
	"net/http"
	"time"

	"southbound/shared/api/client"
	"southbound/shared/api/paging"
	"southbound/shared/api/server"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Summary is the state of one environment among others.
type Summary struct {
	Environment   string `json:"environment"`
	Version       int    `json:"version" doc:"the version in force; 0: none"`
	LatestVersion int    `json:"latest_version" doc:"the highest stored version"`
	Releasing     int    `json:"releasing,omitempty" doc:"the version whose release is incomplete"`
	Halted        bool   `json:"halted"`
	// Exported is when LatestVersion was stored.
	Exported *time.Time           `json:"exported" doc:"time of the last export; null: never"`
	Worst    state.Status         `json:"worst" doc:"the status that needs attention first; empty: there are no resources"`
	Counts   map[state.Status]int `json:"counts" doc:"number of resources by status"`
}

// Summaries implements Home.
func (s *Service) Summaries(ctx context.Context) ([]Summary, error) {
	names, err := s.Environments(ctx)
	if err != nil {
		return nil, err
	}
	return s.summaries(ctx, names)
}

// SummariesPage returns a page of the summaries, by name.
func (s *Service) SummariesPage(
	ctx context.Context, g paging.KeyPaging,
) (paging.Page[Summary], error) {
	names, err := s.Environments(ctx)
	page, err := paging.ByKey(names, func(name *string) string { return *name }, g, err)
	if err != nil {
		return paging.Page[Summary]{}, err
	}
	items, err := s.summaries(ctx, page.Items)
	return paging.Page[Summary]{Items: items, Next: page.Next}, err
}

func (s *Service) summaries(ctx context.Context, names []string) ([]Summary, error) {
	out := make([]Summary, 0, len(names))
	for _, name := range names {
		one, err := s.summary(ctx, name)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// summary reads the record of an environment, its counters and its last version.
func (s *Service) summary(ctx context.Context, name string) (Summary, error) {
	env, err := s.Engine.State.Env(ctx, name)
	if err != nil {
		return Summary{}, fault.Wrap(fault.Unknown, "read environment", err)
	}
	pulse, err := s.Engine.Pulse(ctx, name)
	if err != nil {
		return Summary{}, err
	}
	p := ProgressOf(name, pulse)
	out := Summary{Environment: name, Version: env.Released, LatestVersion: env.Last,
		Releasing: env.Releasing, Halted: env.Halted, Counts: p.ByStatus()}
	for status, n := range out.Counts {
		if n > 0 && state.Worse(status, out.Worst) {
			out.Worst = status
		}
	}
	if env.Last == 0 {
		return out, nil
	}
	versions, err := s.Engine.State.Versions(ctx, name, env.Last)
	if err != nil {
		return out, fault.Wrap(fault.Unknown, "read version", err)
	}
	if len(versions) > 0 {
		out.Exported = &versions[0].At
	}
	return out, nil
}

// Summaries implements Home.
func (c Remote) Summaries(ctx context.Context) ([]Summary, error) {
	return client.All[Summary](ctx, c.Conn, "/v1/summaries")
}

func summariesRoute(r *server.Router, s *Service) {
	server.Register(r, http.MethodGet, "/v1/summaries", "summaries",
		"Environments with their versions and counters, by name",
		func(ctx context.Context, g *paging.KeyPaging) (*server.Out[paging.Page[Summary]], error) {
			return server.Answer(s.SummariesPage(ctx, *g))
		})
}
