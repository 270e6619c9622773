package sweep_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/aws/sweep"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// standing is a state that stands still; what is not here is not asked for.
type standing struct {
	schedule state.Schedule
	leases   []state.Lease
	agents   map[string]state.Agent
	env      state.Env
	versions []state.Version
	read     int // versions
}

func (s *standing) Schedule(context.Context, string, ...string) (state.Schedule, error) {
	return s.schedule, nil
}
func (s *standing) Leases(context.Context, string) ([]state.Lease, error) { return s.leases, nil }
func (s *standing) Agents(context.Context, string, ...string) (map[string]state.Agent, error) {
	return s.agents, nil
}
func (s *standing) Env(context.Context, string) (state.Env, error) { return s.env, nil }
func (s *standing) Versions(
	_ context.Context, _ string, numbers ...int,
) ([]state.Version, error) {
	s.read += len(numbers)
	return slices.DeleteFunc(slices.Clone(s.versions), func(v state.Version) bool {
		return len(numbers) > 0 && !slices.Contains(numbers, v.Number)
	}), nil
}

func TestUnserved(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	ticket := func(lane string) state.Ticket {
		return state.Ticket{ID: resource.ID("std::Null[" + lane + "]"), Agent: lane, N: 1}
	}
	agents := map[string]state.Agent{"a": {Agent: resource.Agent{Name: "a", Transport: "local"}},
		"b": {Agent: resource.Agent{Name: "b"}, Paused: true}}
	for _, c := range []struct {
		reason string
		state  standing
		want   []sweep.Waiting
	}{
		{"nothing is scheduled", standing{}, nil},
		{"halted: nobody is to serve",
			standing{schedule: state.Schedule{Halted: true,
				Tickets: []state.Ticket{ticket("a")}}}, nil},
		{"served now", standing{schedule: state.Schedule{Tickets: []state.Ticket{ticket("a")}},
			leases: []state.Lease{{Key: "a", Holder: "x", Until: now.Add(time.Second)}},
			agents: agents}, nil},
		{"paused", standing{schedule: state.Schedule{Tickets: []state.Ticket{ticket("b")}},
			leases: []state.Lease{{Key: "b", Until: ago(time.Hour)}}, agents: agents}, nil},
		{"a planner has worked since",
			standing{schedule: state.Schedule{Tickets: []state.Ticket{ticket("a")}},
				leases: []state.Lease{{Key: "a", Until: ago(time.Hour)},
					{Key: state.PlanKey, Until: ago(time.Minute)}},
				agents: agents},
			[]sweep.Waiting{{"a", time.Hour}}},
		{"never served: as long as the version is released",
			standing{schedule: state.Schedule{Unfinished: map[string][]resource.ID{"a": nil}},
				env:      state.Env{Released: 3},
				versions: []state.Version{{Number: 3, At: ago(time.Minute)}}, agents: agents},
			[]sweep.Waiting{{"a", time.Minute}}},
		{"idle for long, and work came with a version",
			standing{schedule: state.Schedule{Tickets: []state.Ticket{ticket("a")}},
				leases: []state.Lease{{Key: "a", Until: ago(9 * time.Hour)}},
				env:    state.Env{Released: 3},
				versions: []state.Version{{Number: 2, At: ago(10 * time.Hour)},
					{Number: 3, At: ago(time.Minute)}}, agents: agents},
			[]sweep.Waiting{{"a", time.Minute}}},
		{"and versions go on coming",
			standing{schedule: state.Schedule{Tickets: []state.Ticket{ticket("a")}},
				leases: []state.Lease{{Key: "a", Until: ago(9 * time.Hour)}},
				env:    state.Env{Released: 4},
				versions: []state.Version{{Number: 2, At: ago(10 * time.Hour)},
					{Number: 3, At: ago(time.Hour)}, {Number: 4, At: ago(time.Second)}},
				agents: agents},
			[]sweep.Waiting{{"a", time.Hour}}},
		{"idle for long, and a repair began",
			standing{schedule: state.Schedule{Unfinished: map[string][]resource.ID{"a": nil}},
				leases: []state.Lease{{Key: "a", Until: ago(24 * time.Hour)}},
				env: state.Env{Released: 3, Wave: state.Wave{Epoch: 2, At: ago(time.Second)},
					LastDeploy: ago(48 * time.Hour)},
				versions: []state.Version{{Number: 3, At: ago(50 * time.Hour)}}, agents: agents},
			[]sweep.Waiting{{"a", time.Second}}},
		{"never served, and the version is not kept",
			standing{schedule: state.Schedule{Tickets: []state.Ticket{ticket("a")}},
				agents: agents}, nil},
	} {
		got, err := (&sweep.Dates{}).Unserved(t.Context(), &c.state, "prod", now)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", c.reason, err, diff)
		}
	}
}

// TestDatesAreRemembered pins that versions are read once while an agent is stuck, and then only those
// that come.
func TestDatesAreRemembered(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	stuck := standing{
		schedule: state.Schedule{Tickets: []state.Ticket{
			{ID: "std::Null[a/0]", Agent: "a", N: 1}, {ID: "std::Null[b/0]", Agent: "b", N: 2}}},
		leases: []state.Lease{{Key: "a", Until: now.Add(-9 * time.Hour)}},
		env:    state.Env{Released: 20},
	}
	for n := 14; n <= 30; n++ { // 13 is not kept any more
		stuck.versions = append(stuck.versions, state.Version{Number: n, At: now.Add(-time.Hour)})
	}
	var dates sweep.Dates
	for _, step := range []struct{ released, read int }{{20, 8}, {20, 0}, {20, 0}, {21, 1}, {20, 1}} {
		stuck.env.Released, stuck.read = step.released, 0
		got, err := dates.Unserved(t.Context(), &stuck, "prod", now)
		if want := []sweep.Waiting{{Agent: "a", For: time.Hour}, {Agent: "b", For: time.Hour}}; err !=
			nil || !slices.Equal(got, want) || stuck.read != step.read {
			t.Errorf("%+v: %v, %v, with %d versions read", step, got, err, stuck.read)
		}
	}
}
