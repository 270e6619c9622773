package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// readOnly are files as a runner may use them.
type readOnly struct{ state.Files }

// Put implements state.Files.
func (readOnly) Put(context.Context, []state.Blob) error {
	return fault.New(fault.Refused, "put file", "a runner writes no files")
}

// parted are jobs of which runners do a part.
type parted struct {
	*jobs
	notices chan string // of parts
	runner  *api.Service
}

// startParts is startJobs with agents that only runners reach: those whose names begin with b.
func startParts(t *testing.T, m *model.Model) *parted {
	t.Helper()
	p := &parted{jobs: startJobs(t, m), notices: make(chan string, 1000)}
	c := p.service.Engine.Config
	c.Clock, c.Files = p.clock, readOnly{c.Files}
	p.runner = api.New(api.Config{Engine: deploy.New(c), Jobs: p.home})
	p.service.ByRunner = func(a resource.Agent) bool { return strings.HasPrefix(a.Name, "b") }
	p.service.NotifyRunner = func(_ context.Context, _, _, part string) error {
		p.notices <- part
		return nil
	}
	return p
}

// run has a runner act on a notice, and work until a time from now.
func (p *parted) run(d time.Duration) {
	p.t.Helper()
	if err := p.runner.Work(p.t.Context(), "e", <-p.notices, p.clock.Now().Add(d)); err != nil {
		p.t.Error(err)
	}
}

// goesOn has everybody do what they are asked for, until the answer to a question is there.
func (p *parted) goesOn(until <-chan struct{}) {
	for {
		select {
		case id := <-p.starts:
			go func() {
				_ = p.service.Work(context.WithoutCancel(p.t.Context()), "e", id, time.Time{})
			}()
		case part := <-p.notices:
			go func() {
				_ = p.runner.Work(context.WithoutCancel(p.t.Context()), "e", part, time.Time{})
			}()
		case <-until:
			return
		}
	}
}

// on moves resources to other agents.
func on(m *model.Model, names map[string]string) *model.Model {
	for i := range m.Resources {
		r := &m.Resources[i]
		if to, ok := names[r.Agent]; ok {
			r.Agent = to
			r.ID = resource.NewID(r.Type, to, resource.Key{Name: "name",
				Value: r.Attributes["name"].(string)})
		}
	}
	return m
}

func toB(m *model.Model) *model.Model { return on(m, map[string]string{"a1": "b/1"}) }

// TestPartsOfRunners pins that what runners have to find is in the answers to all that can be
// asked, as if one process reached everything, that it is asked of runners, and that those write no
// files.
func TestPartsOfRunners(t *testing.T) {
	t.Parallel()
	p := startParts(t, toB(runs(12)))
	c := p.client(t)
	asked := func() []string {
		var out []string
		for _, ask := range []func() (any, error){
			func() (any, error) { return c.DryRun(t.Context(), "e", 0, nil, true) },
			func() (any, error) {
				return c.Plan(t.Context(), "e", deploy.Export{Model: toB(runs(13))},
					deploy.CompareOptions{Read: true})
			},
			func() (any, error) {
				return c.Discover(t.Context(), "e", api.Discover{Type: "acct::Group", Agent: "b/1"})
			},
		} {
			ended := make(chan struct{})
			go p.goesOn(ended)
			got, err := ask()
			close(ended)
			out = append(out, fmt.Sprintf("%+v, %v", got, err))
		}
		return out
	}
	parts := asked()
	byRunner := p.service.ByRunner
	p.service.ByRunner = nil
	for i, whole := range asked() {
		if parts[i] != whole {
			t.Errorf("with runners: %s\nwithout: %s", parts[i], whole)
		}
	}
	p.service.ByRunner = byRunner
	// What is asked of a runner it does.
	p.ask(jobID(1))
	p.work(time.Minute)
	p.wants("before the runner", p.state(jobID(1)), api.JobRunning, "[b/1]")
	if s := p.state(jobID(1)); s.Found != 6 || len(p.starts) != 0 {
		t.Errorf("%+v, and %d starts", s, len(p.starts))
	}
	p.run(time.Minute)
	if s := p.state(jobID(1)); s.Found != 12 || len(p.starts) != 1 {
		t.Errorf("%+v, and %d starts", s, len(p.starts))
	}
	p.work(time.Minute)
	p.wants("after it", p.state(jobID(1)), api.JobDone, "[]")
}

// TestPartInSlices pins that a part of which a runner does a little at a time goes on with the next
// notify, and that nothing is read twice.
func TestPartInSlices(t *testing.T) {
	t.Parallel()
	p := startParts(t, toB(runs(12)))
	p.ask(jobID(1))
	p.work(time.Minute)
	slices := 0
	for ; p.state(jobID(1)).State == api.JobRunning && len(p.starts) == 0; slices++ {
		p.run(3 * time.Millisecond << (slices % 8))
	}
	p.work(time.Minute)
	s := p.state(jobID(1))
	actions, err := p.service.Actions(t.Context(), "e", api.ActionQuery{Action: state.ActionDryRun})
	if s.State != api.JobDone || s.Done.Covered != 12 || err != nil || len(actions) != 12 {
		t.Errorf("%+v after %d slices, %d actions, %v", s, slices, len(actions), err)
	}
}

// TestNoRunner pins that a part which nobody takes up, or of which an old runner swallows the
// message, is announced again and ends in time, and that the answer names the agent and what to do.
func TestNoRunner(t *testing.T) {
	t.Parallel()
	p := startParts(t, toB(runs(4)))
	p.ask(jobID(1))
	p.work(time.Minute)
	for range 4 {
		p.wants("while it is waited for", p.state(jobID(1)), api.JobRunning, "[b/1]")
		p.wants("asked again", p.state(jobID(1)), api.JobRunning, "[b/1]")
		p.clock.advance(30 * time.Second)
	}
	if len(p.notices) != 4 || len(p.starts) != 0 {
		t.Errorf("%d notices, %d starts", len(p.notices), len(p.starts))
	}
	p.wants("after two minutes", p.state(jobID(1)), api.JobRunning, "[]")
	p.work(time.Minute)
	s := p.state(jobID(1))
	if s.State != api.JobDone || s.Done.Covered != 2 || s.Done.Total != 4 {
		t.Fatalf("%+v", s)
	}
	for _, w := range s.Done.Items {
		if w.Failed != (w.ID.Agent() == "b/1") || w.Failed && !strings.Contains(w.Reason,
			"agent b/1: no runner took it up within 2m0s; `southbound agent run b/1`") {
			t.Errorf("%+v", w)
		}
	}
	p.run(time.Minute) // comes too late, and does nothing
	if got := p.state(jobID(1)); got.Found != s.Found {
		t.Errorf("%+v", got)
	}
	for ended := make(chan struct{}); ended != nil; ended = nil {
		go func() {
			p.work(time.Minute)
			for range 5 {
				p.clock.advance(30 * time.Second)
				_, _ = p.service.Job(t.Context(), "e", jobID(2))
			}
			p.work(time.Minute)
			close(ended)
		}()
		_, err := p.service.AskJob(t.Context(), "e", jobID(2), api.ReadJob{Environment: "e",
			Discover: &api.Discover{Type: "acct::Group", Agent: "b/1"}})
		if err != nil {
			t.Fatal(err)
		}
		<-ended
	}
	p.wants("a discovery", p.state(jobID(2)), api.JobFailed, "agent b/1: no runner took it up")
}

// TestOffered pins that a runner which gets no notices finds the parts that are offered to its
// agent, as long as they are.
func TestOffered(t *testing.T) {
	t.Parallel()
	p := startParts(t, toB(runs(4)))
	p.ask(jobID(1))
	p.wantsOffered("before its job began", "b/1", "")
	p.work(time.Minute)
	part := <-p.notices
	p.wantsOffered("offered", "b/1", part)
	p.wantsOffered("of another agent", "b/2", "")
	p.clock.advance(time.Minute)
	p.wantsOffered("after its time", "b/1", "")
	p.state(jobID(1))
	p.wantsOffered("offered again", "b/1", part)
	p.run(time.Minute)
	p.wantsOffered("read", "b/1", "")
}

func (p *parted) wantsOffered(when, agent, want string) {
	p.t.Helper()
	parts, err := p.runner.Offered(p.t.Context(), "e", agent)
	if got := strings.Join(parts, " "); got != want || err != nil {
		p.t.Errorf("%s: %q, %v, want %q", when, got, err, want)
	}
}

// TestRunnerIsTakenOver pins that the part of a runner that gives no sign of life goes to another,
// that the first, when it was only slow, changes nothing any more, and that parts of which all
// runners die end and say so.
func TestRunnerIsTakenOver(t *testing.T) {
	t.Parallel()
	m := toB(runs(4))
	began, release := hang(t, m, "b/1")
	defer release()
	p := startParts(t, m)
	p.ask(jobID(1))
	p.work(time.Minute)
	first := make(chan error, 1)
	part := <-p.notices
	go func() { first <- p.runner.Work(t.Context(), "e", part, p.clock.Now().Add(time.Hour)) }()
	<-began
	p.wants("while it hangs", p.state(jobID(1)), api.JobRunning, "[b/1]")
	// Another is notified at the same time, and finds it taken.
	if err := p.runner.Work(t.Context(), "e", part, p.clock.Now().Add(time.Hour)); err != nil {
		t.Error(err)
	}
	p.clock.advance(time.Minute)
	p.wants("after a minute without a beat", p.state(jobID(1)), api.JobRunning, "[b/1]")
	if len(p.notices) != 1 {
		t.Fatalf("%d notices", len(p.notices))
	}
	p.beats(first)
	if err := <-first; err != nil {
		t.Error(err)
	}
	release()
	p.run(time.Hour)
	p.state(jobID(1))
	p.work(time.Minute)
	if s := p.state(jobID(1)); s.State != api.JobDone || s.Done.Covered != 4 {
		t.Errorf("%+v", s)
	}
}

// TestPartsAreGivenUp pins that runners stop when nobody wants the job any more, and do not count
// for how many jobs there may be.
func TestPartsAreGivenUp(t *testing.T) {
	t.Parallel()
	m := toB(runs(2))
	began, release := hang(t, m, "b/1")
	defer release()
	p := startParts(t, m)
	p.ask(jobID(1))
	p.work(time.Minute)
	ended := make(chan error, 1)
	part := <-p.notices
	go func() { ended <- p.runner.Work(t.Context(), "e", part, p.clock.Now().Add(time.Hour)) }()
	<-began
	s, err := p.service.DropJob(t.Context(), "e", jobID(1))
	if err != nil || fmt.Sprint(s.Left) != "[b/1]" || s.Found != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	p.beats(ended)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for i := range 8 {
		p.ask(jobID(100 + i))
		p.work(time.Minute)
	}
	if _, err := p.service.AskJob(t.Context(), "e", jobID(99),
		api.ReadJob{Environment: "e"}); !fault.Is(err, fault.Busy) {
		t.Errorf("a ninth beside eight that runners are at: %v", err)
	}
}

type records = state.Jobs

// dying are jobs of a runner that dies with one of its writes, before or after that was made.
type dying struct {
	records
	left  int // writes until then
	after bool
}

// PutJob implements state.Jobs.
func (d *dying) PutJob(ctx context.Context, env string, j state.Job, now time.Time) (int64, error) {
	d.left--
	if d.left < 0 || d.left == 0 && !d.after {
		return 0, fault.New(fault.Unavailable, "write job", "the process is dead")
	}
	rev, err := d.records.PutJob(ctx, env, j, now)
	if err == nil && d.left == 0 {
		err = fault.New(fault.Unavailable, "write job", "the process is dead")
	}
	return rev, err
}

// TestRunnerDiesAnywhere pins that a part comes to its end, whole, wherever a runner has died.
func TestRunnerDiesAnywhere(t *testing.T) {
	t.Parallel()
	p := startParts(t, toB(runs(4)))
	whole := p.runner.Jobs
	for n := 1; n <= 3; n++ { // it takes the part, stores what it found, and says so
		for _, after := range []bool{false, true} {
			id := jobID(2 * n)
			if after {
				id = jobID(2*n + 1)
			}
			p.ask(id)
			p.work(time.Minute)
			p.runner.Jobs = &dying{whole, n, after}
			err := p.runner.Work(p.t.Context(), "e", <-p.notices, p.clock.Now().Add(time.Minute))
			if err == nil {
				t.Errorf("write %d: it does not say that it is dead", n)
			}
			p.runner.Jobs = whole
			p.clock.advance(time.Minute)
			for p.state(id); len(p.starts) == 0; p.state(id) {
				p.run(time.Minute)
			}
			p.work(time.Minute)
			if s := p.state(id); s.State != api.JobDone || s.Done.Covered != 4 {
				t.Errorf("write %d: %+v", n, s)
			}
		}
	}
}
