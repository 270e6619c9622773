package cli

import (
	"context"
	"io"
	"slices"
	"strings"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
)

// scope is how the resources are that a filter selects, once the work on them has ended.
type scope struct {
	total  int
	counts map[state.Status]int
	wrong  []api.Resource // not as they should be, as far as they are shown
}

// scopeOf looks at what the terms of a filter select; nil if they select everything. What they say
// of the status was meant for before the work.
func (a *app) scopeOf(ctx context.Context, terms []string) (*scope, error) {
	terms = slices.DeleteFunc(slices.Clone(terms), func(t string) bool { return strings.HasPrefix(t, "status=") })
	if len(terms) == 0 {
		return nil, nil // there is no scope
	}
	s := &scope{counts: map[state.Status]int{}}
	for _, status := range api.Statuses() {
		s.counts[status] = 0
	}
	err := a.home.Resources(ctx, a.env, terms, func(r *api.Resource) error {
		s.counts[r.Status]++
		if r.Status != state.StatusOrphaned {
			s.total++
		}
		if slices.Contains(api.Unhealthy(), r.Status) && len(s.wrong) < maxWrong {
			s.wrong = append(s.wrong, *r)
		}
		return nil
	})
	return s, err
}

// maxWrong bounds how many resources with something wrong a summary lists.
const maxWrong = 20

// show lists what is wrong in a scope.
func (s *scope) show(a *app, w io.Writer) {
	out := &app{out: w, noColor: a.noColor, described: a.described}
	for _, r := range s.wrong {
		out.group(api.Group{ID: r.ID, Status: r.Status, Reason: r.Reason, Count: 1})
	}
	all := 0
	for _, status := range api.Unhealthy() {
		all += s.counts[status]
	}
	if all > len(s.wrong) {
		out.printf("… and %d more; see `southbound resources status=failed`\n", all-len(s.wrong))
	}
}
