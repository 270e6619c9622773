//go:build servers

package cost_test

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"southbound/infra/aws/cost"
	"southbound/shared/deploy/model"
	"southbound/shared/platform"
	"southbound/shared/resource"
)

// budget is what the life of a changed resource may take: stage, claim, commit and log.
type budget struct{ writes, wcu, sqs, dollars float64 }

// goal is that of issue and architecture: for a resource, and in dollars for a million.
var goal = budget{writes: 3, wcu: 12, sqs: 0.2, dollars: 6}

// whole is set where the tables of docs/costs.md are made.
var whole = flag.Bool("whole", false, "count as many resources and agents as docs/costs.md says")

// lifeCase is what TestLifeOfResources counts: n resources on agents, and what each may take.
type lifeCase struct {
	name      string
	n, agents int
	plain     bool
	more      int // bytes of attributes, beside the name
	goal      budget
}

// TestLifeOfResources counts everything that the functions of a stack ask for from an export to the
// log, holds it against the budget, and prints what a million such resources cost: the table of
// docs/costs.md.
func TestLifeOfResources(t *testing.T) {
	rows := []string{"| case | requests | of them writes | WCU | RCU | SQS | invocations | " +
		"DynamoDB | S3 | SQS | Lambda | logs | **a million** |",
		"|---|---|---|---|---|---|---|---|---|---|---|---|---|"}
	crowd := budget{2.5, 8, 0.2, 6} // ten on each agent
	cases := []lifeCase{
		{"100 new on 1 agent", 100, 1, false, 0, goal},
		{"1,000 new on 1 agent", 1000, 1, false, 0, budget{0.2, 6, 0.05, 4.5}},
		{"10,000 new on 4 agents", 10000, 4, false, 0, budget{0.1, 6, 0.02, 4.5}},
		{"400 new on 40 agents", 400, 40, false, 0, crowd},
		// These two miss the goal of $6: see docs/costs.md.
		{"100 new on 1 agent, each result committed alone", 100, 1, true, 0, budget{3, 12, 0.2, 8.5}},
		{"1,000 new of 1 KB on 1 agent", 1000, 1, false, 1000, budget{0.4, 12.5, 0.05, 8.5}},
	}
	if *whole {
		cases = append(cases,
			lifeCase{"1,000 new on 100 agents", 1000, 100, false, 0, crowd},
			lifeCase{"200 new on 1 agent, each result committed alone", 200, 1, true, 0,
				budget{3, 12, 0.2, 8.5}},
			lifeCase{"10,000 new on 100 agents", 10000, 100, false, 0,
				budget{0.4, 8, 0.2, 6}})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStack(t)
			if c.plain {
				s.plain, s.clock = true, &slow{}
				s.restart()
			}
			s.export(large(modelOf(c.n, c.agents, 0), c.more)) // the first makes queues
			s.drain(c.agents)
			s.take(0)
			s.export(changed(large(modelOf(c.n, c.agents, 0), c.more)))
			s.drain(c.agents)
			u := s.take(c.n)
			if got := s.deployed(); got != c.n {
				t.Fatalf("%s: %d deployed", c.name, got)
			}
			n := float64(c.n)
			w, wcu := float64(u.Counts.Sum(writes...).Calls)/n, u.Counts.Sum().WCU/n
			queues := float64(u.Counts.Sum("SQS.").Calls+u.Polls) / n
			bill := cost.Of(u)
			million := bill.Total() / n * 1e6
			if w > c.goal.writes || wcu > c.goal.wcu || queues > c.goal.sqs ||
				million > c.goal.dollars {
				t.Errorf("%s: %.3f writes, %.3f WCU and %.3f requests to SQS a resource, $%.2f a "+
					"million; the budget is %+v\n%s", c.name, w, wcu, queues, million, c.goal,
					u.Counts)
			}
			per := func(dollars float64) string { return fmt.Sprintf("$%.3f", dollars/n*1e6) }
			rows = append(rows,
				fmt.Sprintf("| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.4f | %s | %s | %s | %s "+
					"| %s | **$%.2f** |", c.name, float64(u.Counts.Sum().Calls)/n, w, wcu,
					u.Counts.Sum().RCU/n, queues, float64(u.Invocations)/n, per(bill.DynamoDB),
					per(bill.S3), per(bill.SQS), per(bill.Lambda), per(bill.Logs), million))
			t.Logf("%s\n%s", c.name, u.Counts)
		})
	}
	report(t, rows)
}

// changed makes every resource another one than before.
func changed(m *model.Model) *model.Model {
	for i := range m.Resources {
		m.Resources[i].ReportOnly = true
	}
	return m
}

// large gives every resource more bytes, which cannot be compressed to less than half: in its name,
// since std::Null has no other place.
func large(m *model.Model, more int) *model.Model {
	for i := range m.Resources {
		if r := &m.Resources[i]; more > 0 {
			name := fmt.Sprint(r.Attributes["name"], "-")
			for n := 0; len(name) < more; n++ {
				sum := sha256.Sum256(fmt.Append(nil, r.ID, n))
				name += hex.EncodeToString(sum[:])
			}
			r.Attributes = map[string]any{"name": name}
			r.ID = resource.NewID(r.Type, r.Agent, resource.Key{Name: "name", Value: name})
		}
	}
	return m
}

// report prints rows of a table, for docs/costs.md.
func report(t *testing.T, rows []string) {
	t.Helper()
	for _, r := range rows {
		fmt.Fprintln(os.Stdout, r)
	}
}

// TestFewOfManyInTheHome pins what ten changed resources of a hundred thousand take in all, in
// functions that know nothing, logging included; and what an export takes that changes nothing. The
// engine by itself asks for no more than the functions do.
func TestFewOfManyInTheHome(t *testing.T) {
	const n, few = 100000, 10
	s := newStack(t)
	s.clock = &brisk{began: time.Now()}
	s.restart()
	s.export(modelOf(n, 1, 0))
	s.drain(1)
	s.take(0)
	s.restart()
	if out := s.export(modelOf(n, 1, few)); out.Changed != few {
		t.Fatalf("%+v", out)
	}
	s.drain(1)
	u := s.take(few)
	if got := s.deployed(); got != n {
		t.Fatalf("%d of %d deployed", got, n)
	}
	s.restart()
	s.export(modelOf(n, 1, few))
	s.drain(1)
	same := s.take(0)
	all, idle := u.Counts.Sum().Calls, same.Counts.Sum().Calls
	// The goal is 150 in all. Rows are read in batches.
	gets := u.Counts.Sum("S3.GetObject", "DynamoDB.BatchGetItem").Calls
	objects, wrote := u.Counts.Sum("S3.GetObject").Calls, same.Counts.Sum(writes...).Calls
	if all > 150 || all-gets > 42 || objects > 22 || idle > 10 || wrote > 4 {
		t.Errorf("%d requests and %d reads of state, %d of them of objects, for %d of %d; %d for "+
			"none, %d of them writes\n%s\n%s", all-gets, gets, objects, few, n, idle, wrote,
			u.Counts, same.Counts)
	}
	t.Logf("\n%s\n%s", u.Counts, same.Counts)
	report(t, []string{"| case | requests | WCU | RCU | dollars |", "|---|---|---|---|---|",
		fmt.Sprintf("| 10 changed of 100,000, in functions that know nothing | %d | %.0f | %.0f "+
			"| $%.6f |", all, u.Counts.Sum().WCU, u.Counts.Sum().RCU, cost.Of(u).Total()),
		fmt.Sprintf("| none changed of 100,000 | %d | %.0f | %.0f | $%.6f |", idle,
			same.Counts.Sum().WCU, same.Counts.Sum().RCU, cost.Of(same).Total())})
}

// TestChainOnOneAgent pins that a chain of a thousand on one agent runs in one invocation, with one
// message.
func TestChainOnOneAgent(t *testing.T) {
	const n = 1000
	s := newStack(t)
	m := modelOf(n, 1, 0)
	for i := 1; i < n; i++ {
		m.Resources[i].Requires = []resource.ID{m.Resources[i-1].ID}
	}
	s.export(m)
	s.meter.Take()
	s.used = cost.Usage{}
	began := time.Now()
	if notified := s.drain(1); notified != 1 || s.deployed() != n {
		t.Errorf("%d messages for a chain of %d; %d deployed", notified, n, s.deployed())
	}
	t.Logf("%v\n%s", time.Since(began), s.meter.Take())
}

// TestIdleMinute pins what a minute without work costs: one read, whatever there is.
func TestIdleMinute(t *testing.T) {
	s := newStack(t)
	s.export(modelOf(40, 20, 0))
	s.drain(20)
	h := s.open(true)
	swept, err := h.Engine.Sweep(t.Context(), "prod")
	if err != nil {
		t.Fatal(err)
	}
	if rests, err := h.State.MarkQuiet(t.Context(), "prod", swept.Next); err != nil || !rests {
		t.Fatalf("%v: it does not rest: %v", err, rests)
	}
	if _, err := h.Provisioner.Idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.meter.Take()
	if _, err := h.State.QuietUntil(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Provisioner.Idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.meter.Take(); got.Sum().Calls != 1 || got.Sum().RCU > 1 {
		t.Errorf("an idle minute:\n%s", got)
	}
}

// ahead is the time of the machine, moved.
type ahead struct {
	platform.Clock
	by atomic.Int64
}

// Now implements state.Clock.
func (a *ahead) Now() time.Time { return a.Clock.Now().Add(time.Duration(a.by.Load())) }

// TestTimers counts what the timers take where everything is as it should be: the deploy timer,
// every ten minutes unless a setting says otherwise, and a repair, every day, which reads reality
// and has nothing to change.
func TestTimers(t *testing.T) {
	const n, agents = 1000, 10
	s := newStack(t)
	clock := &ahead{}
	s.clock = clock
	s.restart()
	s.export(modelOf(n, agents, 0))
	s.drain(agents)
	sweep := s.open(false)
	one := func(after time.Duration) cost.Usage {
		t.Helper()
		clock.by.Add(int64(after))
		s.take(0)
		swept, err := sweep.Engine.Sweep(t.Context(), "prod")
		if err != nil {
			t.Fatal(err)
		}
		s.drain(agents)
		if _, err := sweep.State.MarkQuiet(t.Context(), "prod", swept.Next); err != nil {
			t.Fatal(err)
		}
		return s.take(n)
	}
	one(11 * time.Minute)
	deploy := one(11 * time.Minute)
	repair := one(24 * time.Hour)
	if got := deploy.Counts.Sum(); got.Calls > 25 || got.WCU > 15 {
		t.Errorf("a deploy timer without work:\n%s", deploy.Counts)
	}
	if got := repair.Counts.Sum(); float64(got.Calls) > 0.5*n || got.WCU > 0.5*n {
		t.Errorf("a repair that changes nothing:\n%s", repair.Counts)
	}
	t.Logf("deploy timer\n%srepair of %d\n%s", deploy.Counts, n, repair.Counts)
	line := func(name string, u cost.Usage, times float64) string {
		sum := u.Counts.Sum()
		return fmt.Sprintf("| %s | %d | %.0f | %.0f | $%.6f | $%.3f |", name, sum.Calls, sum.WCU,
			sum.RCU, cost.Of(u).Total(), cost.Of(u).Total()*times)
	}
	report(t, []string{"| case | requests | WCU | RCU | dollars | a month |",
		"|---|---|---|---|---|---|", line("deploy timer, nothing unfinished", deploy, 30*144),
		line("repair of 1,000 on 10 agents, nothing to change", repair, 30)})
}
