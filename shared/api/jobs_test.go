package api_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/resource"
)

// ahead is a clock that may be put forward. Who waits for seconds waits until the test says so.
type ahead struct {
	local.Clock
	by   atomic.Int64
	beat chan struct{}
}

// Now implements state.Clock.
func (a *ahead) Now() time.Time { return a.Clock.Now().Add(time.Duration(a.by.Load())) }

// Sleep implements state.Clock.
func (a *ahead) Sleep(ctx context.Context, d time.Duration) error {
	if d < 5*time.Second {
		return a.Clock.Sleep(ctx, d)
	}
	select {
	case <-a.beat:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *ahead) advance(d time.Duration) { a.by.Add(int64(d)) }

// jobs is a server whose jobs a test starts itself.
type jobs struct {
	*world
	t      *testing.T
	clock  *ahead
	starts chan string // ids
}

// runs are n resources of which each is read for a while, on two agents.
func runs(n int) *model.Model {
	m := &model.Model{}
	for i := range n {
		agent, name := fmt.Sprintf("a%d", i%2), fmt.Sprintf("r%02d", i)
		m.Resources = append(m.Resources, resource.Resource{Type: "exec::Run", Agent: agent,
			ID:         resource.NewID("exec::Run", agent, resource.Key{Name: "name", Value: name}),
			Attributes: map[string]any{"name": name, "command": "true", "unless": "exit 1"}})
	}
	return m
}

// startJobs serves an environment with some resources, and offers jobs to the test.
func startJobs(t *testing.T, m *model.Model) *jobs {
	t.Helper()
	j := &jobs{
		world:  start(t, nil),
		t:      t,
		clock:  &ahead{beat: make(chan struct{})},
		starts: make(chan string, 100),
	}
	j.service.Engine.Clock = j.clock
	j.service.Start = func(_ context.Context, _, id string) error {
		j.starts <- id
		return nil
	}
	if _, err := j.service.Export(t.Context(), "e", deploy.Export{Model: m}, nil); err != nil {
		t.Fatal(err)
	}
	return j
}

func jobID(n int) string { return fmt.Sprintf("%032x", n) }

// ask asks for a dry run under an id.
func (j *jobs) ask(id string) api.JobState {
	j.t.Helper()
	s, err := j.service.AskJob(j.t.Context(), "e", id, api.ReadJob{Environment: "e"})
	if err != nil {
		j.t.Fatal(err)
	}
	return s
}

// work takes up a start, and works until a time from now.
func (j *jobs) work(d time.Duration) {
	j.t.Helper()
	if err := j.service.Work(j.t.Context(), "e", <-j.starts, j.clock.Now().Add(d)); err != nil {
		j.t.Error(err)
	}
}

func (j *jobs) state(id string) api.JobState {
	j.t.Helper()
	s, err := j.service.Job(j.t.Context(), "e", id)
	if err != nil {
		j.t.Fatal(err)
	}
	return s
}

// wants pins how a job is.
func (j *jobs) wants(what string, s api.JobState, state string, more string) {
	j.t.Helper()
	text := fmt.Sprint(s.Left)
	if s.Error != nil {
		text += " " + s.Error.Message
	}
	if s.State != state || !strings.Contains(text, more) {
		j.t.Errorf("%s: %s, %s; want %s, %s", what, s.State, text, state, more)
	}
}

// TestDropOver wants a job that is over to stay as it ended when it is given up.
func TestDropOver(t *testing.T) {
	t.Parallel()
	j := startJobs(t, runs(2))
	j.ask(jobID(1))
	j.work(time.Hour)
	j.wants("in the end", j.state(jobID(1)), api.JobDone, "")
	resp, text := j.world.ask(t, "DELETE", "/v1/environments/e/jobs/"+jobID(1), "")
	if resp.StatusCode != 200 || !strings.Contains(text, `"state":"done"`) ||
		!strings.Contains(text, `"covered":2`) {
		t.Errorf("given up later: %d %.300s", resp.StatusCode, text)
	}
}

// TestJobInSlices pins that a job that is worked on in many slices says what a comparison says that
// is made in one go, for all that can be asked, and that it is driven by who asks.
func TestJobInSlices(t *testing.T) {
	t.Parallel()
	j := startJobs(t, runs(12))
	whole, err := j.service.DryRun(t.Context(), "e", 1, nil, false)
	if err != nil || whole.Covered != 12 {
		t.Fatalf("%+v, %v", whole, err)
	}
	slices := atomic.Int64{}
	j.service.Start = func(_ context.Context, _, id string) error {
		go func() {
			// The first has no time at all. Others have more and more, however slow the machine is.
			until := j.clock.Now()
			if n := slices.Add(1); n > 1 {
				until = until.Add(3 * time.Millisecond << (n % 8))
			}
			if err := j.service.Work(context.WithoutCancel(t.Context()), "e", id,
				until); err != nil {
				t.Error(err)
			}
		}()
		return nil
	}
	c := j.client(t)
	d, err := c.DryRun(t.Context(), "e", 0, nil, false)
	if err != nil || slices.Load() < 2 {
		t.Fatalf("%d slices, %v", slices.Load(), err)
	}
	d.Found, whole.Found = nil, nil
	if a, b := fmt.Sprintf("%+v", d), fmt.Sprintf("%+v", whole); a != b {
		t.Errorf("in slices: %s\nin one go: %s", a, b)
	}
	actions, err := j.service.Actions(t.Context(), "e", api.ActionQuery{Action: state.ActionDryRun})
	if err != nil || len(actions) != 24 {
		t.Errorf("%d actions of two dry runs of 12, %v", len(actions), err)
	}
	if d, err := c.Plan(t.Context(), "e", deploy.Export{Model: runs(12)},
		deploy.CompareOptions{Read: true}); err != nil ||
		len(d.Planned) != 12 ||
		d.State == "" {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := c.DryRun(t.Context(), "e", 7, nil, false); !fault.Is(err, fault.NotFound) {
		t.Errorf("a version that is not there: %v", err)
	}
	if _, err := c.DryRun(t.Context(), "e", 0, []string{"colour=red"}, false); !fault.Is(
		err,
		fault.Usage,
	) {
		t.Errorf("a wrong filter: %v", err)
	}
}

// TestJobIsAskedTwice pins that an id stands for one job, and for no other.
func TestJobIsAskedTwice(t *testing.T) {
	t.Parallel()
	j := startJobs(t, runs(2))
	j.ask(jobID(1))
	j.ask(jobID(1))
	if len(j.starts) != 1 {
		t.Errorf("it was started %d times", len(j.starts))
	}
	other := api.ReadJob{Environment: "e", Filter: []string{"agent=a1"}}
	if _, err := j.service.AskJob(t.Context(), "e", jobID(1), other); !fault.Is(
		err,
		fault.Conflict,
	) {
		t.Errorf("something else under its id: %v", err)
	}
	j.work(time.Minute)
	j.wants("done", j.state(jobID(1)), api.JobDone, "")
	j.ask(jobID(1))
	if len(j.starts) != 0 {
		t.Error("it was started when it was done")
	}
	j.clock.advance(24 * time.Hour)
	if _, err := j.service.Job(t.Context(), "e", jobID(1)); !fault.Is(err, fault.NotFound) {
		t.Errorf("after a day: %v", err)
	}
	if _, err := j.service.Job(t.Context(), "e", jobID(2)); !fault.Is(err, fault.NotFound) {
		t.Errorf("one that nobody asked for: %v", err)
	}
}

// TestJobStartsAreLost pins that a start which nobody takes up is made again, that one which comes
// too late does nothing, and that a job which is never taken up fails and says so.
func TestJobStartsAreLost(t *testing.T) {
	t.Parallel()
	j := startJobs(t, runs(2))
	j.ask(jobID(1))
	late := <-j.starts
	j.clock.advance(2 * time.Minute)
	if err := j.service.Work(t.Context(), "e", late, j.clock.Now().Add(time.Minute)); err != nil {
		t.Error(err)
	}
	j.wants("after a late start", j.state(jobID(1)), api.JobRunning, "")
	j.work(time.Minute)
	j.wants("after another start", j.state(jobID(1)), api.JobDone, "")

	j.ask(jobID(2))
	for range 4 {
		j.clock.advance(2 * time.Minute)
		j.wants("not taken up", j.state(jobID(2)), api.JobRunning, "")
	}
	j.clock.advance(2 * time.Minute)
	j.wants(
		"never taken up",
		j.state(jobID(2)),
		api.JobFailed,
		"started 5 times and sent no result",
	)
	if len(j.starts) != 5 {
		t.Errorf("%d starts", len(j.starts))
	}
	for range 5 {
		j.work(time.Minute) // of a job that is over
	}
	j.wants("later", j.state(jobID(2)), api.JobFailed, "sent no result")
}

// hang makes the first comparison of what is on an agent wait until release is called.
func hang(t *testing.T, m *model.Model, agent string) (began <-chan struct{}, release func()) {
	t.Helper()
	hole, started := filepath.Join(t.TempDir(), "hole"), filepath.Join(t.TempDir(), "started")
	for _, name := range []string{hole, started} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range m.Resources {
		if m.Resources[i].Agent == agent {
			// mv succeeds once, also if two run at once.
			won := started + ".won"
			m.Resources[i].Attributes["unless"] = "mv " + started + " " + won +
				" 2>/dev/null || exit 1; echo > " + won + "; exec cat " + hole
		}
	}
	pipe, err := os.OpenFile(started, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pipe.Close() })
	ch := make(chan struct{})
	go func() {
		_, _ = pipe.Read(make([]byte, 1))
		close(ch)
	}()
	return ch, sync.OnceFunc(func() { go func() { _ = os.WriteFile(hole, nil, 0o600) }() })
}

// TestJobIsTakenOver pins that the job of a worker that gives no sign of life goes on with another,
// and that the first, when it was only slow, changes nothing any more.
func TestJobIsTakenOver(t *testing.T) {
	t.Parallel()
	m := runs(2)
	began, release := hang(t, m, "a1")
	defer release()
	j := startJobs(t, m)
	j.ask(jobID(1))
	first := make(chan error, 1)
	id := <-j.starts
	go func() { first <- j.service.Work(t.Context(), "e", id, j.clock.Now().Add(time.Hour)) }()
	<-began
	j.wants("while it hangs", j.state(jobID(1)), api.JobRunning, "a0 a1")
	j.clock.advance(time.Minute)
	j.wants("after a minute without a beat", j.state(jobID(1)), api.JobRunning, "")
	if len(j.starts) != 1 {
		t.Fatalf("%d starts", len(j.starts))
	}
	j.beats(first) // the first learns that the job is no longer its own
	if err := <-first; err != nil {
		t.Errorf("the first: %v", err)
	}
	release()
	// Its lanes are given back, so the other need not wait for them.
	j.work(time.Hour)
	j.wants("with another worker", j.state(jobID(1)), api.JobDone, "")
}

// beats lets workers beat until one has ended.
func (j *jobs) beats(ended chan error) {
	j.t.Helper()
	select {
	case j.clock.beat <- struct{}{}:
	case err := <-ended:
		ended <- err
	}
}

// TestJobIsGivenUp pins that whoever takes a job back learns what was not compared, and that the
// worker ends.
func TestJobIsGivenUp(t *testing.T) {
	t.Parallel()
	m := runs(2)
	began, release := hang(t, m, "a1")
	defer release()
	j := startJobs(t, m)
	ended := make(chan error, 1)
	j.service.Start = func(_ context.Context, _, id string) error {
		go func() {
			ended <- j.service.Work(context.WithoutCancel(t.Context()), "e", id,
				j.clock.Now().Add(time.Hour))
		}()
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	d, err := j.client(t).DryRun(ctx, "e", 0, nil, false)
	if !fault.Is(err, fault.Canceled) || len(d.Unread) == 0 || d.Unread[len(d.Unread)-1] != "a1" {
		t.Errorf("%v, not compared: %v", err, d.Unread)
	}
	j.beats(ended)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestJobsAreBounded pins how many jobs of an environment are under way, and that those which
// nobody asks about any more do not count for long.
func TestJobsAreBounded(t *testing.T) {
	t.Parallel()
	j := startJobs(t, runs(2))
	for i := range 8 {
		j.ask(jobID(i))
	}
	more := func(env string) error {
		_, err := j.service.AskJob(t.Context(), env, jobID(99), api.ReadJob{Environment: env})
		return err
	}
	if err := more("e"); !fault.Is(err, fault.Busy) || fault.HintOf(err) == "" {
		t.Errorf("a ninth: %v", err)
	}
	if err := more("f"); err != nil {
		t.Errorf("in another environment: %v", err)
	}
	j.work(time.Minute)
	if err := more("e"); err != nil {
		t.Errorf("when one has ended: %v", err)
	}
	j.clock.advance(3 * time.Minute)
	for i := range 8 {
		j.ask(jobID(100 + i))
	}
}
