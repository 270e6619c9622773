package aws

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// sim runs processes whose requests a seed interleaves. One process runs at a time.
type sim struct {
	rng   *rand.Rand
	table *Table
	ready chan *actor // an actor waits before a request, or has ended
	now   time.Time
	reads []read
	wrong string
}

// actor is a process with a role.
type actor struct {
	*dynamo.State
	sim    *sim
	name   string
	resume chan Fate
	ended  bool
}

// read is a result, and the writes between which it was read.
type read struct {
	name     string
	from, to int
	schedule *state.Schedule
	counts   map[state.Status]int
	claim    *state.Commit
	idle     bool
}

// mutate changes a transaction.
type mutate func(in *dynamodb.TransactWriteItemsInput)

// simulate runs a seed, and returns the first thing that is wrong, or "".
func simulate(t *testing.T, seed uint64, change mutate) string {
	t.Helper()
	s := &sim{rng: rand.New(rand.NewPCG(seed, 3)), table: NewTable("t"), ready: make(chan *actor),
		now: start}
	s.table.Page = func() int { return 1 + s.rng.IntN(8) }
	var limits *dynamo.Limits
	if seed%2 == 0 {
		limits = small()
	}
	roles := []func(a *actor) error{(*actor).plan, (*actor).work, (*actor).work, (*actor).work,
		(*actor).stop, (*actor).look, (*actor).look}
	waiting := make([]*actor, 0, len(roles))
	for i, role := range roles {
		a := &actor{sim: s, name: fmt.Sprint("process", i), resume: make(chan Fate)}
		wire := &Wire{To: s.table, Change: change, Fate: func(string) Fate {
			s.ready <- a
			return <-a.resume
		}}
		a.State = stateOn(t, wire, limits)
		waiting = append(waiting, a)
		go func() {
			<-a.resume
			for range 6 {
				if err := role(a); err != nil && !expected(err) {
					s.wrong = fmt.Sprintf("%s: %v", a.name, err)
				}
			}
			a.ended = true
			s.ready <- a
		}()
	}
	for len(waiting) > 0 {
		n := s.rng.IntN(len(waiting))
		a := waiting[n]
		s.now = s.now.Add(time.Minute) // no process runs
		a.resume <- s.fate()
		if now := <-s.ready; now.ended {
			waiting = slices.Delete(waiting, n, n+1)
		}
	}
	if s.wrong == "" {
		s.wrong = s.check(t)
	}
	return s.wrong
}

// expected reports whether an error may come from faults or from other processes.
func expected(err error) bool {
	return fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Busy) ||
		fault.Is(err, fault.Fenced) || fault.Is(err, fault.Conflict)
}

// fate draws what happens to a request.
func (s *sim) fate() Fate {
	switch s.rng.IntN(40) {
	case 0:
		return Dropped
	case 1:
		return Unknown
	case 2, 3:
		return Twice
	case 4:
		return Lost
	}
	return Arrives
}

// take takes a lease for half an hour of the simulation.
func (a *actor) take(key string) (state.Guard, state.Lease, error) {
	l, err := a.Acquire(context.Background(), env, key, a.name, a.sim.now,
		a.sim.now.Add(30*time.Minute))
	return state.Guard{Key: key, Fence: l.Fence}, l, err
}

// plan changes some rows: it adds, removes, moves and schedules them.
func (a *actor) plan() error {
	ctx, rng := context.Background(), a.sim.rng
	g, l, err := a.take(state.PlanKey)
	if err != nil {
		return err
	}
	rows, err := a.ScanRows(ctx, env, "", 100)
	if err != nil {
		return err
	}
	c := state.Commit{Guard: g, Plan: true}
	for n := range 8 {
		agent := []string{"a", "b"}[n%2]
		i := slices.IndexFunc(rows, func(r state.Row) bool { return r.ID == id(agent, n) })
		r := row(agent, n)
		if i >= 0 {
			r = rows[i]
		}
		switch rng.IntN(5) {
		case 0:
			continue
		case 1:
			r.Gone = true
		case 2:
			r.Agent = []string{"a", "b", "a/1"}[rng.IntN(3)]
		}
		r.Generation, r.Orphaned = g.Fence<<20+1, rng.IntN(6) == 0
		c.Rows = append(c.Rows, r)
	}
	if rng.IntN(2) == 0 {
		if e, err := a.Env(ctx, env); err == nil {
			e.Graph = a.sim.now.String()
			c.Env = &e
		}
	}
	if _, err = a.Commit(ctx, env, c); err != nil {
		return err
	}
	return a.Release(ctx, env, l)
}

// work claims scheduled rows of a lane, and records their results.
func (a *actor) work() error {
	ctx, rng := context.Background(), a.sim.rng
	g, l, err := a.take([]string{"a", "b", "a/1"}[rng.IntN(3)])
	if err != nil {
		return err
	}
	from := a.sim.table.Writes()
	lane, err := a.AgentWork(ctx, env, g.Key, func(state.Schedule, state.Env) bool { return false })
	if err != nil {
		return err
	}
	a.sim.reads = append(a.sim.reads, read{name: "lane " + g.Key, from: from,
		to: a.sim.table.Writes(), schedule: &lane.Schedule})
	claim := state.Commit{Guard: g, SeenPlan: lane.Schedule.PlanSeq}
	for i := range lane.Rows[:min(3, len(lane.Rows))] {
		claim.Next = append(claim.Next, lane.Rows[i].ID)
	}
	from = a.sim.table.Writes()
	out, err := a.Commit(ctx, env, claim)
	if err != nil || !out.Started {
		return err
	}
	a.sim.reads = append(a.sim.reads, read{name: "claim", from: from, to: a.sim.table.Writes(),
		claim: &claim})
	done := state.Commit{Guard: g}
	for i := range lane.Rows[:len(claim.Next)] {
		r := lane.Rows[i]
		r.Observed, r.Ran, r.LastRun = r.Generation, r.Hash, state.RunSuccess
		if rng.IntN(3) == 0 {
			r.LastRun, r.NextAt = state.RunFailed, a.sim.now.Add(time.Hour)
		}
		done.Rows = append(done.Rows, r)
		done.Actions = append(done.Actions, state.Action{ID: fmt.Sprint(r.ID, a.sim.now),
			Resource: r.ID, Finished: a.sim.now})
		done.Parameters = append(done.Parameters, state.Parameter{Name: "f", Of: r.ID,
			Value: strings.Repeat("x", rng.IntN(300))})
	}
	if _, err := a.Commit(ctx, env, done); err != nil || rng.IntN(4) == 0 {
		return err // or the process ends
	}
	return a.Release(ctx, env, l)
}

// stop pauses and halts.
func (a *actor) stop() error {
	ctx, on := context.Background(), a.sim.rng.IntN(3) == 0
	if a.sim.rng.IntN(2) == 0 {
		return a.Halt(ctx, env, on)
	}
	return a.Pause(ctx, env, on, "a")
}

// look reads.
func (a *actor) look() error {
	ctx, from := context.Background(), a.sim.table.Writes()
	if a.sim.rng.IntN(2) == 0 {
		counts, err := a.Counts(ctx, env)
		if err == nil {
			a.sim.reads = append(a.sim.reads, read{name: "counts", from: from,
				to: a.sim.table.Writes(), counts: counts})
		}
		return err
	}
	if a.sim.rng.IntN(3) == 0 {
		overview, err := a.Overview(ctx, env)
		if err == nil && overview.Outbox+len(overview.Waiting) == 0 {
			a.sim.reads = append(a.sim.reads, read{name: "idle", from: from,
				to: a.sim.table.Writes(), idle: true})
		}
		return err
	}
	schedule, err := a.Schedule(ctx, env)
	if err == nil {
		a.sim.reads = append(a.sim.reads, read{name: "schedule", from: from,
			to: a.sim.table.Writes(), schedule: &schedule})
	}
	return err
}

// moment is the environment after a write.
type moment struct {
	rows   []state.Row
	counts map[state.Status]int
	env    state.Env
	paused bool // agent a
}

// check compares all moments with themselves, and all reads with the moments between which they were
// made.
func (s *sim) check(t *testing.T) string {
	t.Helper()
	moments := make([]moment, s.table.Writes()+1)
	for w := range moments {
		reads := &Wire{To: s.table.At(w), Fate: func(operation string) Fate {
			if Writes(operation) { // a reader may remove dead index items
				return Dropped
			}
			return Arrives
		}}
		m, wrong := momentOf(stateOn(t, reads, nil))
		if wrong != "" {
			return fmt.Sprintf("after write %d: %s", w, wrong)
		}
		moments[w] = m
		if w > 0 && m.env.PlanSeq == moments[w-1].env.PlanSeq {
			if id := scheduledSince(&moments[w-1], &m); id != "" {
				return fmt.Sprintf("write %d schedules %s in the same PlanSeq", w, id)
			}
		}
	}
	if left := orphans(s.table); len(left) > 0 {
		return fmt.Sprintf("nothing names the parts %v", left)
	}
	for _, r := range s.reads {
		if wrong := r.check(moments[r.from : r.to+1]); wrong != "" {
			return fmt.Sprintf("%s between writes %d and %d: %s", r.name, r.from, r.to, wrong)
		}
	}
	return ""
}

// scheduledSince returns a row that was not scheduled before; "": there is none.
func scheduledSince(before, now *moment) resource.ID {
	for i := range now.rows {
		r := &now.rows[i]
		if r.Ticket() != 0 && !slices.ContainsFunc(before.rows, func(o state.Row) bool {
			return o.ID == r.ID && o.Ticket() != 0
		}) {
			return r.ID
		}
	}
	return ""
}

// momentOf reads a moment. Counters, schedule and timers have to be those of the rows.
func momentOf(s *dynamo.State) (m moment, wrong string) {
	ctx := context.Background()
	var errs [5]error
	m.rows, errs[0] = s.ScanRows(ctx, env, "", 1000)
	m.counts, errs[1] = s.Counts(ctx, env)
	m.env, errs[2] = s.Env(ctx, env)
	schedule, err := s.Schedule(ctx, env)
	errs[3] = err
	var due []resource.ID
	due, _, errs[4] = s.Due(ctx, env, start.Add(1000*time.Hour), 1000)
	for _, err := range errs {
		if err != nil {
			return m, err.Error()
		}
	}
	if agents, err := s.Agents(ctx, env, "a"); err == nil {
		m.paused = agents["a"].Paused
	}
	counts, tickets, timers := map[state.Status]int{}, map[resource.ID]int64{}, 0
	for i := range m.rows {
		r := &m.rows[i]
		counts[r.Status()]++
		if r.Ticket() != 0 {
			tickets[r.ID] = r.Ticket()
		}
		if !r.Timer().IsZero() {
			timers++
		}
	}
	for _, ticket := range schedule.Tickets {
		if tickets[ticket.ID] != ticket.N {
			return m, fmt.Sprintf("%s has the ticket %d", ticket.ID, tickets[ticket.ID])
		}
	}
	if d := cmp.Diff(counts, m.counts, cmpopts.EquateEmpty()); d != "" ||
		len(schedule.Tickets) != len(tickets) || len(due) != timers {
		return m, fmt.Sprintf("%d tickets of %d, %d timers of %d, counts %s",
			len(schedule.Tickets), len(tickets), len(due), timers, d)
	}
	return m, ""
}

// check returns what was at none of some moments.
func (r *read) check(during []moment) string {
	switch {
	case r.counts != nil:
		if !slices.ContainsFunc(during, func(m moment) bool {
			return cmp.Equal(m.counts, r.counts, cmpopts.EquateEmpty())
		}) {
			return fmt.Sprintf("there never were %v", r.counts)
		}
	case r.idle:
		if !slices.ContainsFunc(during, func(m moment) bool {
			return !slices.ContainsFunc(m.rows, func(r state.Row) bool { return r.Ticket() != 0 })
		}) {
			return "there always was work"
		}
	case r.claim != nil:
		agent := r.claim.Guard.Key
		if !slices.ContainsFunc(during, func(m moment) bool {
			return m.env.PlanSeq == r.claim.SeenPlan && !m.env.Halted && !(m.paused && agent == "a")
		}) {
			return "it was accepted, and may not start"
		}
	case r.schedule != nil:
		return r.checkSchedule(during)
	}
	return ""
}

// checkSchedule compares a schedule with the rows while its PlanSeq was current.
func (r *read) checkSchedule(during []moment) string {
	during = slices.DeleteFunc(slices.Clone(during), func(m moment) bool {
		return m.env.PlanSeq != r.schedule.PlanSeq
	})
	if len(during) == 0 {
		return fmt.Sprintf("PlanSeq never was %d", r.schedule.PlanSeq)
	}
	agent, one := strings.CutPrefix(r.name, "lane ")
	always := map[resource.ID]int{}
	for _, m := range during {
		for i := range m.rows {
			if row := &m.rows[i]; row.Ticket() != 0 &&
				(!one || row.Agent == agent) {
				always[row.ID]++
			}
		}
	}
	for _, ticket := range r.schedule.Tickets {
		if always[ticket.ID] == 0 {
			return fmt.Sprintf("%s never was scheduled", ticket.ID)
		}
		delete(always, ticket.ID)
	}
	for id, n := range always {
		if n == len(during) {
			return fmt.Sprintf("%s was scheduled all the time", id)
		}
	}
	return ""
}

// TestSeeds pins that the counters, the index and the timers are right after each write, and that
// each read is right for some moment, with any fate and any order of requests.
func TestSeeds(t *testing.T) {
	t.Parallel()
	seeds := uint64(200)
	if testing.Short() {
		seeds = 40
	}
	for seed := range seeds {
		if wrong := simulate(t, seed, nil); wrong != "" {
			t.Fatalf("seed %d: %s", seed, wrong)
		}
	}
}

// without makes a mutant that leaves out the writes of a transaction that a function selects.
func without(left func(part string, removed bool) bool) mutate {
	return func(in *dynamodb.TransactWriteItemsInput) {
		in.TransactItems = slices.DeleteFunc(in.TransactItems, func(w types.TransactWriteItem) bool {
			if w.Put != nil {
				return left(attributevalue.TextOf(w.Put.Item, attrPart), false)
			}
			return left(attributevalue.TextOf(w.Delete.Key, attrPart), true)
		})
	}
}

// TestMutants pins that wrong transactions are found.
func TestMutants(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]mutate{
		"NoIndex": without(func(part string, removed bool) bool {
			return strings.HasPrefix(part, "a/") && !removed
		}),
		"NoHead":    without(func(part string, _ bool) bool { return part == "env" }),
		"PartsStay": without(func(part string, removed bool) bool { return part[0] == 'p' && removed }),
		"NoLease":   without(func(part string, _ bool) bool { return strings.HasPrefix(part, "L/") }),
		"NoConditions": func(in *dynamodb.TransactWriteItemsInput) {
			for _, w := range in.TransactItems {
				if w.Put != nil && strings.HasPrefix(attributevalue.TextOf(w.Put.Item, attrPart), "R/") {
					w.Put.ConditionExpression, w.Put.ExpressionAttributeValues = nil, nil
				}
			}
		},
		"NewTokens": func(in *dynamodb.TransactWriteItemsInput) {
			in.ClientRequestToken = aws.String(fmt.Sprint(len(*in.ClientRequestToken)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(200) {
				if wrong := simulate(t, seed, change); wrong != "" {
					t.Logf("seed %d: %s", seed, wrong)
					return
				}
			}
			t.Error("it was not found")
		})
	}
}
