package engine

import (
	"context"
	"slices"
	"testing"

	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// paged writes each page of a commit as a commit of its own, as the AWS home writes large commits:
// other tasks run between two pages, and a process may end there.
type paged struct {
	state.State
	// change, when not nil, makes a mutant.
	change func(pages []state.Commit)
}

// pagedAs makes a Mutant that is right, unless change makes it wrong.
func pagedAs(name string, change func(pages []state.Commit)) Mutant {
	return Mutant{Name: name, Config: func(c *deploy.Config, _ *State) {
		c.State = &paged{c.State, change}
	}}
}

// Commit implements state.State.
func (p *paged) Commit(
	ctx context.Context, env string, in state.Commit,
) (state.Committed, error) {
	in.Actions = slices.Clone(in.Actions)
	pages := dynamo.Pages(&in, dynamo.Limits{Page: 3, Bytes: 1 << 20, Value: 1 << 20})
	if p.change != nil {
		p.change(pages)
	}
	if len(pages) > 1 && in.Env != nil { // the first page compares what a later one writes
		now, err := p.State.Env(ctx, env)
		if err != nil || now.Rev != in.Env.Rev {
			return p.State.Commit(ctx, env, in) // it is refused as a whole
		}
	}
	if len(pages) > 1 {
		ctx = context.WithValue(ctx, wholeKey{}, &in)
	}
	var all []state.Row
	for i, c := range pages {
		if len(all) > 0 {
			c.DropOutbox, c.Checked = nil, state.Counted(c.Checked, all)
			if i == len(pages)-1 && len(c.Next) == 0 { // what conflicts may still be running
				c.Next, c.SeenPlan = []resource.ID{""}, -1
			}
		}
		out, err := p.State.Commit(ctx, env, c)
		if all = append(all, out.Conflicts...); err != nil || i == len(pages)-1 {
			out.Conflicts = all
			return out, err
		}
	}
	return state.Committed{}, nil // there is a page at least
}

// TestPages pins that no invariant is violated if each page of a commit is a commit of its own.
func TestPages(t *testing.T) {
	t.Parallel()
	found, done, err := Campaign(1, scaled(600, 40), pagedAs("Pages", nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	if found != nil {
		explain(t, found.Plan, pagedAs("Pages", nil), found.Violation.Check)
		t.Fatalf("seed %d of %d: %s", found.Plan.Seed, done, found.Violation)
	}
}

// TestPagesMutants pins that wrong pages are found.
func TestPagesMutants(t *testing.T) {
	t.Parallel()
	last := func(pages []state.Commit) *state.Commit { return &pages[len(pages)-1] }
	for _, c := range []struct {
		name, why string
		within    uint64
		change    func(pages []state.Commit)
	}{
		{"ReleaseLast", "a release is recorded with its last rows", 2000,
			func(pages []state.Commit) {
				if e := pages[0].Env; e != nil && len(pages) > 1 {
					last(pages).Env, pages[0].Env = e, nil
				}
			}},
		{"EventsLast", "entries of the outbox are stored with the last page", 8000,
			func(pages []state.Commit) {
				for i := range pages[:len(pages)-1] {
					last(pages).AddOutbox = append(last(pages).AddOutbox, pages[i].AddOutbox...)
					pages[i].AddOutbox = nil
				}
			}},
		{"ActionsLast", "actions are stored with the last page", 2000,
			func(pages []state.Commit) {
				for i := range pages[:len(pages)-1] {
					last(pages).Actions = append(last(pages).Actions, pages[i].Actions...)
					pages[i].Actions = nil
				}
			}},
		{"PlanOnce", "PlanSeq grows with the first page only", 2000,
			func(pages []state.Commit) {
				for i := range pages[1:] {
					pages[i+1].Plan = false
				}
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found, done, err := Campaign(1, c.within, pagedAs(c.name, c.change), nil)
			if err != nil {
				t.Fatal(err)
			}
			if found == nil {
				t.Fatalf("%s: not found in %d seeds", c.why, done)
			}
			t.Logf("%s: seed %d: %s", c.why, found.Plan.Seed, found.Violation)
		})
	}
}
