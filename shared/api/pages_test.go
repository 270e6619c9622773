package api_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/api"
	"southbound/shared/api/actions"
	"southbound/shared/api/agents"
	"southbound/shared/api/paging"
	"southbound/shared/api/parameters"
	"southbound/shared/api/resources"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// listed serves an environment with 40 resources on 2 agents, of which one runs, with facts,
// parameters and actions.
func listed(t *testing.T) *world {
	t.Helper()
	w := start(t, nil)
	ctx := t.Context()
	lease := func(key string) state.Guard {
		l, err := w.home.Acquire(ctx, "e", key, w.home.Holder()+key, time.Now(), time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return state.Guard{Key: l.Key, Fence: l.Fence}
	}
	c := state.Commit{Guard: lease("a"), Plan: true}
	for i := range 40 {
		agent := []string{"a", "b"}[i%2]
		row := state.Row{ID: resource.NewID("std::Null", agent,
			resource.Key{Name: "name", Value: fmt.Sprintf("n%02d", i)})}
		body := resource.Resource{ID: row.ID, Type: "std::Null", Agent: agent,
			Set: []string{"", "site"}[i%4/3]}
		var err error
		if row.Body, err = body.Encode(); err != nil {
			t.Fatal(err)
		}
		row.Agent, row.Version, row.Hash = agent, 1, "h"
		row.Compliance, row.LastRun, row.Blocked = state.HasUpdate, state.RunNew, state.NotBlocked
		if i%5 == 0 {
			row.Ran = row.Hash
			row.Compliance, row.LastRun, row.Reason = state.NonCompliant, state.RunFailed, "no room"
			c.Parameters = append(c.Parameters, state.Parameter{Of: row.ID, Name: "size", Value: "1"})
		}
		c.Rows = append(c.Rows, row)
		at := time.Now()
		c.Actions = append(c.Actions, state.Action{ID: w.home.NewID(), Resource: row.ID, Version: 1,
			Outcome: state.StatusFailed, Started: at, Finished: at})
	}
	c.Agents = []resource.Agent{{Name: "a", Transport: "local"}, {Name: "b", Transport: "ssh"}}
	for _, name := range []string{"net.a", "net.b", "zone"} {
		c.Parameters = append(c.Parameters, state.Parameter{Name: name, Value: "1", Source: "user"})
	}
	if _, err := w.home.Commit(ctx, "e", c); err != nil {
		t.Fatal(err)
	}
	run := state.Commit{Guard: c.Guard, SeenPlan: 1, Next: []resource.ID{c.Rows[0].ID}}
	if out, err := w.home.Commit(ctx, "e", run); err != nil || !out.Started {
		t.Fatal(err, out.Started)
	}
	return w
}

// TestPages pins the pages of lists in both homes: together they are the list, none is empty
// before the end, and the count is that of the list.
func TestPages(t *testing.T) {
	t.Parallel()
	w := listed(t)
	for name, home := range map[string]api.Home{"service": w.service, "client": w.client(t)} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				terms string
				want  int
			}{
				{"", 40}, {"status=failed", 7}, {"status=failed status=deploying", 8},
				{"status=deploying", 1}, {"deploying=true", 1}, {"deploying=false", 39},
				{"deploying=false status=failed", 7}, {"deploying=true agent=b", 0},
				{"agent=a status=available", 16}, {"compliance=non_compliant", 8}, {"last_run=failed agent=b", 4},
				{"blocked=no", 40}, {"reason~=ROOM", 8}, {"set=site", 10}, {"id~=N0", 10}, {"id~=nothing", 0},
			} {
				for _, sort := range []string{"", "id.desc", "status"} {
					all := pages(t, c.terms+" "+sort, c.want, func(q paging.Query) (paging.Page[api.Resource], error) {
						q.Sort = sort
						return home.ResourcesPage(t.Context(), "e",
							resources.Query{Query: q, Filter: strings.Fields(c.terms)})
					})
					if sort == "id.desc" && !slices.IsSortedFunc(all, func(a, b api.Resource) int {
						return strings.Compare(string(b.ID), string(a.ID))
					}) {
						t.Errorf("%s: the ids do not descend", c.terms)
					}
				}
			}
			otherPages(t, home)
		})
	}
}

// otherPages pages through the other lists.
func otherPages(t *testing.T, home api.Home) {
	ctx := t.Context()
	yes := true
	for name, c := range map[string]struct {
		q    agents.Query
		want int
	}{
		"all": {agents.Query{}, 2}, "by name": {agents.Query{Name: "A"}, 1},
		"by transport": {agents.Query{Transport: "ssh"}, 1}, "paused": {agents.Query{Paused: &yes}, 0},
	} {
		pages(t, name, c.want, func(q paging.Query) (paging.Page[agents.Agent], error) {
			c.q.Query, c.q.Sort = q, "name.desc"
			return home.AgentsPage(ctx, "e", c.q)
		})
	}
	one := resource.NewID("std::Null", "a", resource.Key{Name: "name", Value: "n00"})
	for name, c := range map[string]struct {
		q    parameters.Query
		want int
	}{
		"parameters": {parameters.Query{}, 3}, "by prefix": {parameters.Query{Prefix: "net."}, 2},
		"facts": {parameters.Query{Facts: true}, 8}, "of one": {parameters.Query{Facts: true, Resource: one}, 1},
	} {
		pages(t, name, c.want, func(q paging.Query) (paging.Page[state.Parameter], error) {
			c.q.Query = q
			return home.ParametersPage(ctx, "e", c.q)
		})
	}
	for set, want := range map[string]int{"site": 10, "": 40, "none": 0} {
		q, n := actions.ActionQuery{Set: set, Limit: 7}, 0
		for {
			page, err := home.ActionsPage(ctx, "e", q)
			if err != nil {
				t.Fatal(err)
			}
			n += len(page.Items)
			if q.Before = page.Next; page.Next == "" {
				break
			}
		}
		if n != want {
			t.Errorf("%d actions of set %q, expected %d", n, set, want)
		}
	}
	if _, err := home.VersionsPage(ctx, "e", paging.Query{Sort: "version.desc"}); err != nil {
		t.Error(err)
	}
}

// pages reads a list of want entries in pages of 3.
func pages[T any](
	t *testing.T, name string, want int, read func(paging.Query) (paging.Page[T], error),
) []T {
	t.Helper()
	q := paging.Query{Limit: 3, Count: true}
	var all []T
	for {
		page, err := read(q)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if page.Count == nil || page.Count.Number != want || page.Count.More {
			t.Errorf("%s: count %v, expected %d", name, page.Count, want)
		}
		all = append(all, page.Items...)
		if page.Next == "" {
			break
		}
		if q.Cursor = page.Next; len(page.Items) == 0 {
			t.Fatalf("%s: a page is empty before the end", name)
		}
	}
	if len(all) != want {
		t.Errorf("%s: %d entries, expected %d", name, len(all), want)
	}
	return all
}

// TestPagesRefuse pins that a page that cannot be read is an error in both homes.
func TestPagesRefuse(t *testing.T) {
	t.Parallel()
	w := listed(t)
	for name, home := range map[string]api.Home{"service": w.service, "client": w.client(t)} {
		for why, read := range map[string]func(context.Context) error{
			"a key of a filter that is not known": func(ctx context.Context) error {
				_, err := home.ResourcesPage(ctx, "e", resources.Query{Filter: []string{"colour=red"}})
				return err
			},
			"a value that is not known": func(ctx context.Context) error {
				_, err := home.ResourcesPage(ctx, "e", resources.Query{Filter: []string{"blocked=perhaps"}})
				return err
			},
			"a sort that is not known": func(ctx context.Context) error {
				_, err := home.ResourcesPage(ctx, "e",
					resources.Query{Query: paging.Query{Sort: "colour"}})
				return err
			},
			"a cursor of another order": func(ctx context.Context) error {
				_, err := home.ResourcesPage(ctx, "e",
					resources.Query{Query: paging.Query{Sort: "status", Cursor: "x"}})
				return err
			},
			"work on what runs": func(ctx context.Context) error {
				_, err := home.Schedule(ctx, "e", api.Work{Filter: []string{"deploying=true"}})
				return err
			},
			"a cursor of agents": func(ctx context.Context) error {
				_, err := home.AgentsPage(ctx, "e", agents.Query{Query: paging.Query{Cursor: "12"}})
				return err
			},
		} {
			if err := read(t.Context()); !fault.Is(err, fault.Usage) && !fault.Is(err, fault.Invalid) {
				t.Errorf("%s, %s: %v", name, why, err)
			}
		}
		for _, err := range []error{
			second(home.ResourcesPage(t.Context(), "none", resources.Query{})),
			second(home.AgentsPage(t.Context(), "none", agents.Query{})),
		} {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v, expected that there is no such environment", name, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }
