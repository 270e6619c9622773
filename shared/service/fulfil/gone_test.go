package fulfil_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// slots is a service whose instances are files, and that is exported once more when these are gone.
const slots = `
import lsm
import lsm::fsm
import southbound
import southbound::fs

entity Slot extends lsm::ServiceEntity:
    string path
end
implementation slot for Slot:
    self.owned_resources += southbound::fs::File(
        agent=here, path="SRV/{{ self.path }}", purged=self.purge_resources, content="slot",
    )
end
implement Slot using parents, slot
here = southbound::Agent(name="here")
slot = lsm::ServiceEntityBinding(
    service_entity="__config__::Slot", lifecycle=lsm::fsm::service_with_deallocation,
    service_entity_name="slot",
)
for one in lsm::all(slot):
    Slot(instance_id=one["id"], entity_binding=slot, **one["attributes"])
end
`

// last is a lifecycle whose last state compiles the instance and deploys nothing.
const last = `start = lsm::State(name="start", validate_self="candidate")
rejected = lsm::State(name="rejected")
up = lsm::State(name="up", export_resources=true, validate_others="active")
leaving = lsm::State(name="leaving", export_resources=true, purge_resources=true)
deallocating = lsm::State(name="deallocating", validate_self="active")
kept = lsm::State(name="deallocating_failed", validate_self="active")
terminated = lsm::State(name="terminated", deleted=true)
last = lsm::LifecycleStateMachine(name="last", initial_state=start, transfers=[
    lsm::StateTransfer(
        source=start, target=up, error=rejected, auto=true, validate=true,
        target_operation="promote",
    ),
    lsm::StateTransfer(source=up, target=leaving, on_delete=true),
    lsm::StateTransfer(source=leaving, target=deallocating, error=leaving, resource_based=true),
    lsm::StateTransfer(
        source=deallocating, target=terminated, error=kept, auto=true, validate=true,
        target_same_desired_state=true, error_same_desired_state=true,
    ),
    lsm::StateTransfer(
        source=kept, target=deallocating, on_delete=true, target_same_desired_state=true,
    ),
    lsm::StateTransfer(source=rejected, target=terminated, on_delete=true),
])
`

// TestGoneForGood holds that what an instance had may be another's once it is gone, also while the
// instance is still to be compiled for the last time.
func TestGoneForGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(strings.Replace(slots,
		"lsm::fsm::service_with_deallocation", "last", 1), "slot = lsm::Service",
		last+"slot = lsm::Service", 1))
	w.order("slot", "a", map[string]any{"path": "p"})
	w.work()
	w.state("a", "up")
	w.remove("a")
	w.work()
	w.state("a", "terminated")
	w.file("p", "")
	w.order("slot", "b", map[string]any{"path": "p"})
	w.work()
	w.state("b", "up")
	gone := w.read("a") // as it was when its resources had gone
	gone.State, gone.Deleted, gone.Closed = "deallocating", false, true
	gone.Validating, gone.Trigger = "terminated", lifecycle.ByItself
	gone.Tasks = []inventory.Task{
		{Kind: inventory.TaskValidate, Number: gone.Version, Set: string(lifecycle.Active)},
	}
	gone.Due = w.now()
	w.write(inventory.Change{Record: gone}, nil)
	w.work()
	w.state("a", "terminated")
	w.state("b", "up")
	w.file("p", "slot")
}

// gives is a service that purges a file of its own when its resources are gone, and shares another
// one, which it would purge with them.
const gives = `
implementation gives for Slot:
    self.resources += southbound::fs::File(
        agent=here, path="SRV/{{ self.path }}.lease", purged=true, content="",
    )
end
implement Slot using gives when lsm::has_current_state(self, "deallocating")
implementation shares for Slot:
    self.resources += southbound::fs::File(
        agent=here, path="SRV/dir/shared", purged=self.purge_resources, content="shared",
    )
end
implement Slot using shares
`

// TestGivesBack holds that an instance that goes waits for what its model purges besides, which the
// next delete tries again, and not for what it shares with others.
func TestGivesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slots+gives)
	lease, dir := filepath.Join(w.srv, "p.lease"), filepath.Join(w.srv, "dir")
	if err := errors.Join(os.Mkdir(dir, 0o700),
		os.MkdirAll(filepath.Join(lease, "held"), 0o700)); err != nil {
		t.Fatal(err)
	}
	w.order("slot", "a", map[string]any{"path": "p"})
	w.work()
	w.state("a", "up")
	w.file("dir/shared", "shared")
	if err := errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Repair(t.Context(), env, deploy.Request{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.runner.Drain(t.Context(), env, nil); err != nil {
		t.Fatal(err)
	}
	w.rounds(w.running())
	w.state("a", "failed") // what it shares has failed
	w.remove("a")
	w.work()
	w.state("a", "deallocating_failed")
	w.file("p", "")
	if err := os.RemoveAll(lease); err != nil {
		t.Fatal(err)
	}
	w.remove("a")
	w.work()
	w.state("a", "terminated")
}

// hurried is a store in which somebody is faster, once, than the write that an export was done.
type hurried struct {
	inventory.Store
	first func()
}

func (s *hurried) Write(
	ctx context.Context, env string, changes []inventory.Change,
) ([]int64, error) {
	exported := func(c inventory.Change) bool { return c.Record.Exported > 0 }
	if s.first != nil && slices.ContainsFunc(changes, exported) {
		s.first()
		s.first = nil
	}
	return s.Store.Write(ctx, env, changes)
}

// crowded is a state in which somebody plans, once, just before a worker does.
type crowded struct {
	state.State
	first func()
}

func (s *crowded) Acquire(
	ctx context.Context, env, key, holder string, now, until time.Time,
) (state.Lease, error) {
	if first := s.first; first != nil && key == state.PlanKey {
		s.first = nil
		first()
	}
	return s.State.Acquire(ctx, env, key, holder, now, until)
}

// TestSharedLeaves holds that an instance that goes is not kept by an export of the whole model
// that lets go of what it requires at the same moment.
func TestSharedLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	whole := func(names ...string) {
		t.Helper()
		m := &model.Model{}
		for _, name := range names {
			path := filepath.Join(w.srv, name)
			m.Resources = append(m.Resources, resource.Resource{
				ID:   resource.NewID("fs::File", "here", resource.Key{Name: "path", Value: path}),
				Type: "fs::File", Agent: "here",
				Attributes: map[string]any{"path": path, "content": name},
			})
		}
		if _, err := w.engine.Export(t.Context(), env, deploy.Export{Model: m}); err != nil {
			t.Fatal(err)
		}
	}
	whole("top")
	w.order("site", "one", map[string]any{"host_name": "a"})
	worker := w.running()
	for exporting := false; !exporting; {
		if _, err := worker.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		exporting = slices.ContainsFunc(w.read("one").Tasks, func(t inventory.Task) bool {
			return t.Kind == inventory.TaskExport
		})
	}
	w.remove("one")
	late := w.running()
	late.Engine = w.over(&crowded{w.home, func() { whole("other") }}, new(atomic.Int64))
	w.rounds(late)
	w.state("one", "terminated")
	w.file("other", "other")
}

// TestExportUnknown holds that an instance which is deleted while it is deployed is not taken for
// removed by what was deployed, if its removal cannot be compiled.
func TestExportUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slots)
	w.order("slot", "a", map[string]any{"path": "p"})
	w.rounds(w.worker(&hurried{w.store, func() {
		w.remove("a")
		w.offer(strings.Replace(slots, `**one["attributes"]`, `path=one["nothing"]`, 1))
	}}))
	w.state("a", "deleting_failed")
	w.rounds(w.running()) // looks at what is deployed
	w.state("a", "deleting_failed")
	w.file("p", "slot")
	w.offer(slots)
	w.remove("a")
	w.work()
	w.state("a", "terminated")
	w.file("p", "")
}
