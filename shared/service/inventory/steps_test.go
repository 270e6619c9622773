package inventory_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// withLifecycle is the service with a ready-made lifecycle.
func withLifecycle(t *testing.T, name string) *definition.Service {
	t.Helper()
	data, err := os.ReadFile("../lifecycle/testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	m := new(lifecycle.Machine)
	if err := json.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	s := site(true)
	s.Lifecycle, s.Identity = *m, ptr("name")
	return s
}

// work does the tasks of a record, as a home does, until there are none.
func work(t *testing.T, s *definition.Service, r inventory.Record, invalid bool) inventory.Record {
	t.Helper()
	for n := 0; len(r.Tasks) > 0; n++ {
		if n > 50 {
			t.Fatalf("it goes on for ever: %+v", r.Tasks)
		}
		task := r.Tasks[0]
		r = r.Finish(task)
		var e lifecycle.Event
		switch task.Kind {
		case inventory.TaskValidate:
			e = lifecycle.Validated{Version: task.Number, Failed: invalid}
		case inventory.TaskExport:
			e = lifecycle.Resources{Desired: task.Number, Outcome: lifecycle.Deployed}
		case inventory.TaskContinue:
			e = lifecycle.Auto{}
		case inventory.TaskGone:
			continue
		}
		c, err := inventory.Advance(s, r, e, now)
		if err != nil {
			t.Fatal(err)
		}
		r = c.Record
	}
	return r
}

// TestSteps takes an instance from its order to its end, by records and tasks alone.
func TestSteps(t *testing.T) {
	t.Parallel()
	s := withLifecycle(t, "service_with_delete_validate")
	c, err := inventory.New(s, "i1", "", object(t, order), now)
	if err != nil {
		t.Fatal(err)
	}
	r := work(t, s, c.Record, false)
	if r.State != "up" || r.Identity != "n" || r.Closed || strings.Join(r.References, " ") != "o" {
		t.Fatalf("%+v", r)
	}
	c, err = inventory.Update(s, r, object(t, `{"port": 81, "peers": ["p"]}`), r.Version, now)
	if err != nil || len(c.Events) != 1 || c.Events[0].To != "update_start" {
		t.Fatalf("%+v, %v", c.Events, err)
	}
	r = work(t, s, c.Record, false)
	if r.State != "up" || shown(r.Active["port"]) != "81" ||
		strings.Join(r.References, " ") != "o p" {
		t.Fatalf("%+v", r)
	}
	if c, err = inventory.Advance(s, r, lifecycle.Delete{Version: r.Version}, now); err != nil {
		t.Fatal(err)
	}
	if !c.Record.Closed {
		t.Error("others can come to need what is being deleted")
	}
	if r = work(t, s, c.Record, true); r.State != "delete_rejected" || r.Closed {
		t.Fatalf("%+v", r)
	}
	if c, err = inventory.Advance(s, r, lifecycle.Delete{Version: r.Version}, now); err != nil {
		t.Fatal(err)
	}
	if r = work(t, s, c.Record, false); r.State != "terminated" || !r.Closed || !r.Deleted {
		t.Fatalf("%+v", r)
	}
}

// TestDefinitionFollows holds that an instance keeps its definition until it is updated to another
// one, and that each set of attributes says which one it was made for.
func TestDefinitionFollows(t *testing.T) {
	t.Parallel()
	s := withLifecycle(t, "service")
	old := digest(t, s)
	c, err := inventory.New(s, "i1", "", object(t, order), now)
	if err != nil {
		t.Fatal(err)
	}
	r := work(t, s, c.Record, false)
	if r.Definition != old || (r.Made != inventory.Made{Active: old}) {
		t.Fatalf("%s: %+v", r.Definition, r.Made)
	}
	changed := withLifecycle(t, "service")
	changed.Description, changed.Version = ptr("another one"), 4
	fresh := digest(t, changed)
	if c, err = inventory.Update(changed, r, nil, r.Version, now); err != nil {
		t.Fatal(err)
	}
	r = c.Record
	want := inventory.Made{Candidate: fresh, Active: old}
	if r.Definition != fresh || r.ServiceVersion != 4 || r.Made != want {
		t.Fatalf("%s: %+v", r.Definition, r.Made)
	}
	r = work(t, changed, r, false)
	if want = (inventory.Made{Active: fresh, Rollback: old}); r.Made != want {
		t.Fatalf("promoted: %+v", r.Made)
	}
	without := withLifecycle(t, "service")
	without.Lifecycle.States = without.Lifecycle.States[:1]
	_, err = inventory.Update(without, r, nil, r.Version, now)
	if fault.KindOf(err) != fault.Conflict {
		t.Errorf("a lifecycle without the state is taken: %v", err)
	}
}

func digest(t *testing.T, s *definition.Service) string {
	t.Helper()
	out, err := s.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestStaysClosed holds that nobody can come to need what has lost its resources.
func TestStaysClosed(t *testing.T) {
	t.Parallel()
	s := withLifecycle(t, "service_with_deallocation")
	c, err := inventory.New(s, "i1", "", object(t, order), now)
	if err != nil {
		t.Fatal(err)
	}
	r := work(t, s, c.Record, false)
	if c, err = inventory.Advance(s, r, lifecycle.Delete{Version: r.Version}, now); err != nil {
		t.Fatal(err)
	}
	failed := lifecycle.Resources{Desired: c.Record.Desired, Outcome: lifecycle.Failed}
	if c, err = inventory.Advance(s, c.Record, failed, now); err != nil ||
		c.Record.State != "deleting_failed" || !c.Record.Closed {
		t.Fatalf("%+v, %v", c.Record, err)
	}
	if c, err = inventory.Advance(s, c.Record, lifecycle.Delete{Version: c.Record.Version},
		now); err != nil {
		t.Fatal(err)
	}
	kinds := map[inventory.TaskKind]int{}
	for _, task := range c.Record.Tasks {
		if kinds[task.Kind]++; task.Kind == inventory.TaskExport &&
			task.Number != c.Record.Desired {
			t.Errorf("what is not wanted any more is deployed: %+v", task)
		}
	}
	if kinds[inventory.TaskExport] != 1 || kinds[inventory.TaskContinue] != 1 {
		t.Errorf("%+v", c.Record.Tasks)
	}
	for _, step := range []struct {
		outcome lifecycle.Outcome
		state   string
	}{
		{lifecycle.Deployed, "deallocating"}, {lifecycle.Failed, "deallocating_failed"},
	} {
		e := lifecycle.Resources{Desired: c.Record.Desired, Outcome: step.outcome}
		if c, err = inventory.Advance(s, c.Record, e, now); err != nil ||
			c.Record.State != step.state || !c.Record.Closed {
			t.Fatalf("%+v, %v", c.Record, err)
		}
	}
}

// TestStepsRefused holds that what is refused names the attribute, the modifier and the state.
func TestStepsRefused(t *testing.T) {
	t.Parallel()
	s := withLifecycle(t, "service")
	c, err := inventory.New(s, "i1", "", object(t, order), now)
	if err != nil {
		t.Fatal(err)
	}
	r := work(t, s, c.Record, false)
	const want = "it has the modifier rw: it is set once, and never changes (the instance is in " +
		"the state up)"
	_, err = inventory.Update(s, r, object(t, `{"name": "m"}`), r.Version, now)
	told(t, err, "name", inventory.CodeModifier, want)
	_, err = inventory.UpdateByEdits(s, r, []inventory.Edit{{
		Operation: inventory.Replace, Target: "name", Value: "m",
	}}, r.Version, now)
	told(t, err, "name", inventory.CodeModifier, want)
	if _, err = inventory.Update(s, r, nil, r.Version-1, now); err == nil {
		t.Error("an old version is taken")
	}
	if _, err = inventory.New(s, "i2", "up", object(t, order), now); err == nil {
		t.Error("it begins anywhere")
	}
	bad := instance(t, s)
	bad["name"] = "m"
	r.Candidate = bad // as somebody might have written it
	_, err = inventory.Advance(s, r, lifecycle.Force{
		Target: "updating", Operation: lifecycle.Promote, Version: r.Version,
	}, now)
	told(t, err, "name", inventory.CodeModifier, "the instance is in the state up")
}
