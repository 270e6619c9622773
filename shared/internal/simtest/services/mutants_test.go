package services

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"southbound/shared/compile"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/lang/lsm"
	"southbound/shared/resource"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// mutantCase is a mutant, and within how many seeds it is to be found.
type mutantCase struct {
	Mutant
	within uint64
}

// wrapped is a store of instances with calls that are done in another way.
type wrapped struct {
	inventory.Store
	write func(ctx context.Context, env string, c []inventory.Change) ([]int64, error)
	due   func(all []inventory.Record) []inventory.Record
}

// together has instances ordered at the same moments, where two work at once.
func together(p *Plan) {
	p.Workers, p.Visits, p.Ops = 2, true, nil
	for slot := range sites {
		p.Ops = append(p.Ops, Op{Kind: opCreate, Slot: slot,
			At:         time.Duration(slot) * 100 * time.Millisecond,
			Attributes: map[string]any{"name": nameOf(slot), "path": fmt.Sprintf("p%d", slot)}})
	}
}

// Write implements inventory.Store.
func (w *wrapped) Write(
	ctx context.Context, env string, c []inventory.Change,
) ([]int64, error) {
	if w.write == nil {
		return w.Store.Write(ctx, env, c)
	}
	return w.write(ctx, env, c)
}

// Due implements inventory.Store.
func (w *wrapped) Due(
	ctx context.Context, env string, now time.Time, limit int,
) ([]inventory.Record, error) {
	all, err := w.Store.Due(ctx, env, now, limit)
	if w.due != nil && err == nil {
		all = w.due(all)
	}
	return all, err
}

// mutants are faults that the checks are to find.
func mutants() []mutantCase {
	return slices.Concat(orderMutants(), modifierMutants(), compileMutants(), endMutants(),
		definitionMutants(), handMutants(), moveMutants())
}

// writes returns a mutant of what is written.
func writes(
	workers bool, change func(c *inventory.Change),
) func(inventory.Store, bool) inventory.Store {
	return func(to inventory.Store, worker bool) inventory.Store {
		if worker != workers {
			return to
		}
		return &wrapped{Store: to, write: func(
			ctx context.Context, env string, c []inventory.Change,
		) ([]int64, error) {
			c = slices.Clone(c)
			for i := range c {
				change(&c[i])
			}
			return to.Write(ctx, env, c)
		}}
	}
}

func orderMutants() []mutantCase {
	return []mutantCase{
		{Mutant{
			Name: "a result is written over what was changed meanwhile", Check: "I1",
			Why: "a write without its condition",
			Instances: func(to inventory.Store, worker bool) inventory.Store {
				return &wrapped{Store: to, write: func(
					ctx context.Context, env string, c []inventory.Change,
				) ([]int64, error) {
					c = slices.Clone(c)
					for i := range c {
						if now, err := to.Instance(ctx, env, c[i].Record.ID); err == nil {
							c[i].Record.Rev = now.Rev
						}
					}
					return to.Write(ctx, env, c)
				}}
			},
		}, 500},
		{Mutant{
			Name: "a transfer asks for nothing", Check: "I1",
			Why: "effects are lost between two writes",
			Instances: writes(true, func(c *inventory.Change) {
				if len(c.Events) > 0 {
					c.Record.Tasks = nil
				}
			}),
		}, 20},
		{Mutant{
			Name: "an order is answered before it is written", Check: "I1",
			Why: "a write that is lost",
			Instances: func(to inventory.Store, worker bool) inventory.Store {
				if worker {
					return to
				}
				return &wrapped{Store: to, write: func(
					_ context.Context, _ string, c []inventory.Change,
				) ([]int64, error) {
					return make([]int64, len(c)), nil
				}}
			},
		}, 20},
		{Mutant{
			Name: "nobody looks at the version that a customer has seen", Check: "I1", Blind: true,
			Why: "current_version is not compared",
		}, 200},
		{Mutant{
			Name: "a transfer is not told of", Check: "I1", Why: "events are written on their own",
			Instances: writes(true, func(c *inventory.Change) { c.Events = nil }),
		}, 20},
		{Mutant{
			Name: "a value is given that another worker has given meanwhile", Check: "I7",
			Why: "what allocators have chosen is written without its generation", Plan: together,
			Instances: writes(true, func(c *inventory.Change) { c.Under = nil }),
		}, 500},
	}
}

// loosened is a store of definitions in which nothing is set once.
type loosened struct{ definition.Store }

func loosen(s definition.Service) definition.Service {
	s.Attributes = slices.Clone(s.Attributes)
	for i := range s.Attributes {
		if a := &s.Attributes[i]; a.Modifier == definition.Once {
			a.Modifier = definition.ReadWrite
		}
	}
	return s
}

// Of implements definition.Store.
func (l loosened) Of(
	ctx context.Context, env, name string, version int, digest string,
) (definition.Kept, error) {
	k, err := l.Store.Of(ctx, env, name, version, digest)
	k.Service = loosen(k.Service)
	return k, err
}

func modifierMutants() []mutantCase {
	return []mutantCase{
		{Mutant{
			Name: "customers set what they may not", Check: "I2",
			Why: "modifiers are not looked at in orders",
			Instances: writes(false, func(c *inventory.Change) {
				if c.Record.Rev > 0 && c.Record.Candidate != nil {
					c.Record.Candidate = maps.Clone(c.Record.Candidate)
					c.Record.Candidate["name"] = "other"
				}
			}),
		}, 20},
		{Mutant{
			Name: "a promotion changes what is set once", Check: "I2",
			Why: "modifiers are not looked at in promotions",
			Definitions: func(to definition.Store, _ *Models, worker bool) definition.Store {
				if !worker {
					return to
				}
				return loosened{to}
			},
		}, 100},
	}
}

func compileMutants() []mutantCase {
	return []mutantCase{
		{Mutant{
			Name: "who is compiled after one that is wrong fails, too", Check: "I3",
			Why: "all who are compiled together are blamed",
			Compile: func(to Compile) Compile {
				var wrong error
				return func(
					ctx context.Context, digest string, s *lsm.Services,
				) (*compile.Compiled, error) {
					was := wrong
					c, err := to(ctx, digest, s)
					if wrong = err; fault.KindOf(err) == fault.Unavailable {
						wrong = nil
					}
					if was != nil && err == nil {
						err = was
					}
					return c, err
				}
			},
		}, 100},
		{Mutant{
			Name: "what is wrong is not said", Check: "I3", Why: "problems are not written",
			Instances: writes(true, func(c *inventory.Change) { c.Record.Problems = nil }),
		}, 50},
		{Mutant{
			Name: "everybody takes part in each compile", Check: "I4",
			Why: "an order costs more where there are many instances",
			Instances: func(to inventory.Store, worker bool) inventory.Store {
				return &wrapped{Store: to, due: func(all []inventory.Record) []inventory.Record {
					others, err := to.Instances(context.Background(), env, inventory.Query{})
					for i := range all {
						for n := range others {
							if err == nil && worker && others[n].ID != all[i].ID {
								all[i].References = append(all[i].References, others[n].ID)
							}
						}
					}
					return all
				}}
			},
		}, 50},
	}
}

// well says of all resources that they are deployed.
type well struct{ state.State }

// Rows implements state.State.
func (w well) Rows(ctx context.Context, env string, ids []resource.ID) ([]state.Row, error) {
	rows, err := w.State.Rows(ctx, env, ids)
	rows = slices.Clone(rows)
	for i := range rows {
		if !rows[i].Orphaned {
			r := &rows[i]
			r.LastRun, r.Observed, r.Blocked = state.RunSuccess, r.Generation, state.NotBlocked
			r.RunAgain = false
			r.Ran, r.Deployed, r.Compliance = r.Hash, r.Hash, state.Compliant
		}
	}
	return rows, err
}

// brief has instances ordered and deleted soon after.
func brief() []Op {
	var out []Op
	for slot := range sites {
		at := time.Duration(slot) * 10 * time.Second
		given := map[string]any{"name": nameOf(slot), "path": fmt.Sprintf("p%d", slot)}
		out = append(out, Op{Kind: opCreate, Slot: slot, Attributes: given, At: at},
			Op{Kind: opDelete, Slot: slot, Blind: true, At: at + 5*time.Second})
	}
	return out
}

// followed has a note follow a page that cannot be made.
func followed() []Op {
	out := []Op{
		{Kind: opBreak},
		{Kind: opCreate, Attributes: map[string]any{"name": nameOf(0), "path": "p0"}},
		{Kind: opCreate, Slot: sites + parts, Attributes: map[string]any{
			"name": nameOf(sites + parts), "site": idOf(0),
		}},
	}
	for i := range out {
		out[i].At = time.Duration(i) * 5 * time.Second
	}
	return out
}

func endMutants() []mutantCase {
	return []mutantCase{
		{Mutant{
			Name: "an instance ends before its resources do", Check: "I5",
			Why:   "results are not waited for",
			State: func(to state.State) state.State { return well{to} },
		}, 100},
		{Mutant{
			Name: "nobody waits for what an instance follows", Check: "I5",
			Why: "only the resources of its own set count", Plan: func(p *Plan) {
				p.Workers, p.Ops = 1, slices.Concat(followed(), p.Ops[:min(len(p.Ops), 3)])
			},
			Instances: writes(true, func(c *inventory.Change) { c.Record.Follows = nil }),
		}, 50},
		{Mutant{
			Name: "an instance ends that others need", Check: "I5", Loose: true,
			Why: "references do not stop a delete",
		}, 300},
		{Mutant{
			Name: "what was read before another began is exported", Check: "I5", Alone: true,
			Why: "two workers do not know of each other", Plan: func(p *Plan) {
				p.Workers, p.Ops = 2, brief()
			},
		}, 300},
		{Mutant{
			Name: "nobody looks for what a notice was lost of", Check: "rest", Trusts: true,
			Why: "a repair is not told of, and nothing else is asked for", Plan: func(p *Plan) {
				p.Visits = true
				p.Ops = append(repaired(), p.Ops[:min(len(p.Ops), 3)]...)
			},
		}, 300},
	}
}

// newest is a store of definitions in which a service has but one.
type newest struct{ definition.Store }

// Of implements definition.Store.
func (n newest) Of(
	ctx context.Context, env, name string, version int, _ string,
) (definition.Kept, error) {
	return n.Store.Of(ctx, env, name, version, "")
}

func definitionMutants() []mutantCase {
	return []mutantCase{
		{Mutant{
			Name: "an instance is compiled with the newest model", Check: "I6",
			Why: "the definition that an instance was made for is forgotten",
			Definitions: func(to definition.Store, _ *Models, worker bool) definition.Store {
				if !worker {
					return to
				}
				return newest{to}
			},
		}, 200},
		{Mutant{
			Name: "a service is left out of which there are instances", Check: "I6", Removes: true,
			Why: "an export does not look at instances",
		}, 1000},
	}
}

// unpinned is a store of definitions that keeps no earlier models.
type unpinned struct{ definition.Store }

// Models implements definition.Store.
func (u unpinned) Models(context.Context, string) ([]string, error) { return []string{}, nil }

// moved has instances ordered, moved to a model and brought back.
func moved(p *Plan) {
	p.Workers, p.Ops = 1, nil
	at := time.Duration(0)
	add := func(op Op) {
		op.At, op.Blind = at, true
		at += 5 * time.Second
		p.Ops = append(p.Ops, op)
	}
	for slot := range sites {
		add(Op{Kind: opCreate, Slot: slot, Attributes: map[string]any{
			"name": nameOf(slot), "path": fmt.Sprintf("p%d", slot),
		}})
	}
	add(Op{Kind: opOffer, N: 1})
	for _, k := range []kind{opRollout, opBack} {
		for slot := range sites {
			add(Op{Kind: k, Slot: slot})
		}
	}
}

func moveMutants() []mutantCase {
	return []mutantCase{
		{Mutant{
			Name: "what was brought back is compiled with the newest model", Check: "I8", Plan: moved,
			Why: "pins are forgotten",
			Definitions: func(to definition.Store, _ *Models, worker bool) definition.Store {
				if !worker {
					return to
				}
				return unpinned{to}
			},
		}, 50},
		{Mutant{
			Name: "a move is not noted", Check: "I8", Plan: moved,
			Why: "nobody could bring it back",
			Instances: writes(true, func(c *inventory.Change) {
				if len(c.Events) > 0 && c.Events[0].Kind == inventory.KindRollout {
					c.Record.Rollout = nil
				}
			}),
		}, 50},
		{Mutant{
			Name: "a move leaves the resources of the former model", Check: "I8", Plan: moved,
			Why: "an instance is moved and not exported",
			Instances: writes(true, func(c *inventory.Change) {
				if len(c.Events) > 0 && c.Events[0].Kind == inventory.KindRollout {
					c.Record.Tasks, c.Record.Outcome = nil, lifecycle.Deployed
					c.Record.Exported, c.Record.Model = c.Record.Desired, c.Record.Pinned
				}
			}),
		}, 50},
	}
}

// released has versions put in force again in which instances were that are deleted.
func released(p *Plan) {
	p.Ops = brief()
	for n := range 12 {
		at := p.Ops[len(p.Ops)-1].At + 5*time.Second
		p.Ops = append(p.Ops, Op{Kind: opRelease, N: n, At: at})
	}
}

func handMutants() []mutantCase {
	return []mutantCase{
		{Mutant{
			Name: "nobody says whose resource sets there are", Check: "I5",
			Why:   "a home does not know of its instances",
			Owned: func(_, _ []string) ([]string, []string) { return nil, nil },
		}, 100},
		{Mutant{
			Name: "what deleted instances had is nobody's", Check: "I5", Plan: released,
			Why:   "a version in which they were is put in force again",
			Owned: func(live, _ []string) ([]string, []string) { return live, nil },
		}, 50},
	}
}

// starts returns the seeds from which a mutant is looked for that needs so many seeds: that it is
// found is to depend on neither. Those that few seeds find are looked for from both, the others
// from the first, unless -every is given.
func starts(within uint64) []uint64 {
	all := []uint64{1, 100001}
	if within > few && !*every {
		return all[:1]
	}
	return all
}

// TestMutants pins that the simulation can fail: each fault that is built in on purpose is found
// within so many seeds, by the check that is for it.
func TestMutants(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		return
	}
	m := newModels(t)
	for _, c := range mutants() {
		for _, first := range starts(c.within) {
			t.Run(fmt.Sprintf("%s/%d", c.Name, first), func(t *testing.T) {
				t.Parallel()
				c.find(t, m, first)
			})
		}
	}
}

// find looks for a mutant in so many seeds. Which check sees a fault first is chance: seeds in
// which another one did count for nothing.
func (c *mutantCase) find(t *testing.T, m *Models, first uint64) {
	t.Helper()
	for from, end := first, first+c.within; ; {
		found, _, _, err := Campaign(m, from, end-from, c.Mutant)
		switch {
		case err != nil:
			t.Fatal(err)
		case found == nil:
			t.Fatalf("%s (%s): not found by %q within %d seeds", c.Name, c.Why, c.Check, c.within)
		case found.Violation.Check == c.Check:
			if res, err := Run(m, found.Plan, Mutant{}, nil); err != nil || res.Violation != nil {
				t.Errorf("seed %d without the mutant: %v, %v", found.Plan.Seed, res.Violation, err)
			}
			t.Logf("after %d seeds: %s", found.Plan.Seed-first+1, found.Violation)
			return
		}
		from = found.Plan.Seed + 1
	}
}
