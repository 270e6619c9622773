package fulfil_test

import (
	"context"
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

// slots is a service whose instances are files, and that is compiled once more when these are gone.
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

// TestGoneForGood holds that what an instance had may be another's once it is gone, also while the
// instance is still to be compiled for the last time.
func TestGoneForGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slots)
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
