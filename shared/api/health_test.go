package api_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/local"
	"southbound/shared/resource"
)

// manyRows stores rows of some agents and types: every 5,000th has failed.
func manyRows(tb testing.TB, home *local.Home, rows int) {
	tb.Helper()
	ctx := context.Background()
	l, err := home.Acquire(ctx, "e", state.PlanKey, home.Holder(), time.Now(),
		time.Now().Add(time.Hour))
	if err != nil {
		tb.Fatal(err)
	}
	c := state.Commit{Guard: state.Guard{Key: l.Key, Fence: l.Fence}, Plan: true}
	for n := range rows {
		agent, kind := fmt.Sprintf("web%02d", n%50), []string{"fs::File", "std::Null"}[n/50%2]
		r := state.Row{ID: resource.NewID(kind, agent, resource.Key{Name: "path",
			Value: fmt.Sprintf("/srv/site/pages/page-%06d.html", n)})}
		r.Agent, r.Version, r.Hash = agent, 1, fmt.Sprintf("%064x", n)
		r.Body = fmt.Appendf(nil, `{"id":%q,"attributes":{"mode":"0644"},"managed":true}`, r.ID)
		r.Ran, r.Deployed, r.Compliance, r.LastRun = r.Hash, r.Hash, state.Compliant, state.RunSuccess
		r.Blocked, r.SucceededAt = state.NotBlocked, time.Unix(int64(n), 0)
		if n%5000 == 51 {
			r.Compliance, r.LastRun, r.Reason = state.NonCompliant, state.RunFailed, "no room on the disk"
		}
		c.Rows = append(c.Rows, r)
	}
	if _, err := home.Commit(ctx, "e", c); err != nil {
		tb.Fatal(err)
	}
}

// TestStandings wants health to say how agents and types are doing, the worst first, the same from a
// service and from a client of its server.
func TestStandings(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	manyRows(t, w.home, 6000)
	client, err := api.NewClient(api.ClientConfig{URL: w.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []api.Home{w.service, client} {
		got, err := h.Health(t.Context(), "e")
		if err != nil || len(got.Agents) != 50 || len(got.Types) != 2 || len(got.Groups) != 1 {
			t.Fatalf("%d agents, %d types, %d groups, %v", len(got.Agents), len(got.Types),
				len(got.Groups), err)
		}
		const failed, deployed = state.StatusFailed, state.StatusDeployed
		want := []api.Standing{
			{Name: "web01", Worst: failed, Count: 120, Counts: map[state.Status]int{failed: 2, deployed: 118}},
			{Name: "web00", Worst: deployed, Count: 120, Counts: map[state.Status]int{deployed: 120}},
			{Name: "std::Null", Worst: failed, Count: 3000, Counts: map[state.Status]int{failed: 2, deployed: 2998}},
			{Name: "fs::File", Worst: deployed, Count: 3000, Counts: map[state.Status]int{deployed: 3000}},
		}
		if d := cmp.Diff(want, append(got.Agents[:2:2], got.Types...)); d != "" {
			t.Errorf("standings (-want +got):\n%s", d)
		}
	}
}

// BenchmarkHealth reads the health of 100,000 resources, of which 20 have failed.
func BenchmarkHealth(b *testing.B) {
	home, err := local.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = home.Close() }()
	manyRows(b, home, 100_000)
	engine := deploy.New(deploy.Config{State: home, Files: home.Files(), Notifier: home.Notifier,
		Clock: local.Clock{}, Caller: local.Caller{}, Holder: home.Holder(), NewID: home.NewID})
	s := api.New(api.Config{Engine: engine})
	b.ResetTimer()
	for b.Loop() {
		h, err := s.Health(b.Context(), "e")
		if err != nil || len(h.Groups) != 1 || h.Groups[0].Count != 20 {
			b.Fatalf("%+v, %v", h, err)
		}
	}
}
