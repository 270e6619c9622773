package local

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/internal/simtest/callbacktest"
	"southbound/shared/internal/simtest/definitiontest"
	"southbound/shared/internal/simtest/deploytest"
	"southbound/shared/internal/simtest/inventorytest"
	"southbound/shared/resource"
	"southbound/shared/service/inventory"
)

func TestState(t *testing.T) {
	t.Parallel()
	deploytest.TestState(t, func(t *testing.T) deploytest.StateHarness {
		dir := t.TempDir()
		a, b := open(t, dir), open(t, dir)
		return deploytest.StateHarness{A: a, B: b, HolderA: holders(a), HolderB: holders(b),
			KillA: func() { _ = a.Close() }}
	})
}

// holders names holders of leases as the engine does.
func holders(h *Home) func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprintf("%s#%d", h.Holder(), n.Add(1)) }
}

func TestJobs(t *testing.T) {
	t.Parallel()
	deploytest.TestJobs(t, func(t *testing.T) deploytest.JobsHarness {
		dir := t.TempDir()
		return deploytest.JobsHarness{A: open(t, dir), B: open(t, dir)}
	})
}

func TestAudit(t *testing.T) {
	t.Parallel()
	deploytest.TestAudit(t, func(t *testing.T) (a, b state.AuditLog) {
		dir := t.TempDir()
		return open(t, dir), open(t, dir)
	})
}

// TestAuditKept pins that the newest records of each environment are kept.
func TestAuditKept(t *testing.T) {
	t.Parallel()
	h := open(t, t.TempDir())
	ctx := t.Context()
	for n := range 12 {
		r := state.AuditRecord{ID: fmt.Sprintf("%02d", n), At: time.Unix(int64(n), 0).UTC(), Act: "halt"}
		for _, env := range []string{"e", "f"} {
			if env == "f" && n > 1 {
				continue
			}
			if err := h.putAudit(ctx, env, r, 5); err != nil {
				t.Fatal(err)
			}
		}
	}
	for env, want := range map[string]string{"e": "11 10 09 08 07", "f": "01 00"} {
		got, err := h.AuditRecords(ctx, env, state.AuditQuery{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, r := range got {
			ids = append(ids, r.ID)
		}
		if text := strings.Join(ids, " "); text != want {
			t.Errorf("%s: %s, want %s", env, text, want)
		}
	}
}

func TestInstances(t *testing.T) {
	t.Parallel()
	inventorytest.Test(t, func(t *testing.T) inventorytest.Harness {
		dir := t.TempDir()
		return inventorytest.Harness{A: open(t, dir).Instances(), B: open(t, dir).Instances()}
	})
}

func TestOrders(t *testing.T) {
	t.Parallel()
	inventorytest.TestOrders(t, func(t *testing.T) inventorytest.OrdersHarness {
		dir := t.TempDir()
		return inventorytest.OrdersHarness{A: open(t, dir).Instances(), B: open(t, dir).Instances()}
	})
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	definitiontest.Test(t, func(t *testing.T) definitiontest.Harness {
		dir := t.TempDir()
		a, b := open(t, dir), open(t, dir)
		write := func(t *testing.T, env string, r inventory.Record) {
			_, err := b.Instances().Write(t.Context(), env, []inventory.Change{{Record: r}})
			if err != nil {
				t.Fatal(err)
			}
		}
		return definitiontest.Harness{
			A: a.Definitions(), B: b.Definitions(),
			Order: func(t *testing.T, env, id, service string, version int) {
				write(t, env, inventory.Record{ID: id, Service: service, ServiceVersion: version})
			},
			Delete: func(t *testing.T, env, id string) {
				r, err := b.Instances().Instance(t.Context(), env, id)
				if err != nil {
					t.Fatal(err)
				}
				r.Deleted = true
				write(t, env, r)
			},
		}
	})
}

func TestFiles(t *testing.T) {
	t.Parallel()
	deploytest.TestFiles(t, func(t *testing.T) deploytest.FilesHarness {
		dir := t.TempDir()
		a, b := open(t, dir).Files(), open(t, dir).Files()
		return deploytest.FilesHarness{A: a, B: b, Damage: func(hash string) {
			if err := os.WriteFile(a.path(hash), []byte("other bytes"), 0o600); err != nil {
				t.Fatal(err)
			}
		}}
	})
}

func TestNotifier(t *testing.T) {
	t.Parallel()
	deploytest.TestNotifier(t, func(*testing.T) deploytest.NotifierHarness {
		b := NewNotifier()
		return deploytest.NotifierHarness{Notifier: b,
			Received: func(_ context.Context, env, lane string) ([]resource.ID,
				bool) {
				return b.Answer(env, lane)
			}}
	})
}

var _ state.Notifier = (*Notifier)(nil)

func TestCallbacks(t *testing.T) {
	t.Parallel()
	callbacktest.Test(t, func(t *testing.T) callbacktest.Harness {
		dir := t.TempDir()
		a, b := open(t, dir), open(t, dir)
		return callbacktest.Harness{A: a.Callbacks(), B: b.Callbacks(), Instances: a.Instances()}
	})
}

func TestFeedOfServices(t *testing.T) {
	t.Parallel()
	h := open(t, t.TempDir())
	inventorytest.TestFeed(t, inventorytest.FeedHarness{Store: h.Instances(),
		Definitions: h.Definitions(), Feed: h})
}
