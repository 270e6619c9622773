package work

import (
	"context"
	"slices"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
)

// scope is the state of the resources that a filter selects, after the work on them has ended.
type scope struct {
	Total  int
	Counts map[state.Status]int
	wrong  []api.Group  // unhealthy, by status and reason, as far as they are shown
	hidden state.Status // of the first omitted resource
}

// ScopeOf reads the resources that the terms of a filter select; nil if the terms select
// everything. Terms about the status are dropped: they apply to the status before the work.
func (rs *Results) ScopeOf(ctx context.Context, terms []string) (*scope, error) {
	terms = state.WithoutState(terms)
	if len(terms) == 0 {
		return nil, nil // all resources are selected
	}
	s := &scope{Counts: map[state.Status]int{}}
	for _, status := range api.Statuses() {
		s.Counts[status] = 0
	}
	err := rs.Home.Resources(ctx, rs.Env, terms, func(r *api.Resource) error {
		s.Counts[r.Status]++
		if r.Status != state.StatusOrphaned {
			s.Total++
		}
		if slices.Contains(api.Unhealthy(), r.Status) {
			s.add(r)
		}
		return nil
	})
	return s, err
}

// add adds an unhealthy resource to the group of its status and reason.
func (s *scope) add(r *api.Resource) {
	i := slices.IndexFunc(s.wrong, func(g api.Group) bool {
		return g.Status == r.Status &&
			(g.Reason == r.Reason || g.Agent != "" && g.Agent == r.Agent)
	})
	switch {
	case i >= 0:
		s.wrong[i].Count++
	case len(s.wrong) < maxWrong:
		g := api.Group{ID: r.ID, Status: r.Status, Reason: r.Reason, Parameter: r.Parameter,
			Count: 1}
		if r.Status == state.StatusUnavailable {
			g.Agent = r.Agent
		}
		s.wrong = append(s.wrong, g)
	case s.hidden == "":
		s.hidden = r.Status
	}
}

// maxWrong is how many reasons a summary lists for unhealthy resources.
const maxWrong = 20

// show lists the unhealthy resources of a scope.
func (s *scope) show(out *problemList) {
	hidden := 0
	for _, status := range api.Unhealthy() {
		hidden += s.Counts[status]
	}
	for _, g := range s.wrong {
		out.group(g)
		hidden -= g.Count
	}
	if hidden > 0 {
		out.Printf("… and %d more; see `southbound resources status=%s`\n", hidden, s.hidden)
	}
}
