package inventory_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// wider returns a definition with an attribute more, and one less.
func wider(t *testing.T) *definition.Service {
	t.Helper()
	s := withLifecycle(t, "service_with_delete_validate")
	s.Attributes = append(slices.Clone(s.Attributes), definition.Attribute{
		Name: "more", Type: "string", Modifier: definition.ReadWrite, DefaultSet: true, Default: "m",
	})
	return s
}

// goal returns a definition and a model.
func goal(t *testing.T, s *definition.Service, model string) inventory.Goal {
	t.Helper()
	digest, err := s.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return inventory.Goal{ServiceVersion: s.Version, Definition: digest, Model: model}
}

// rolled asks for a move and does it.
func rolled(
	t *testing.T, s *definition.Service, r inventory.Record, m inventory.Move,
	before *inventory.Record,
) inventory.Record {
	t.Helper()
	c, err := inventory.Ask(s, r, m, before, now)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(c.Record.Tasks, func(task inventory.Task) bool {
		return task.Kind == inventory.TaskRollout
	}) || c.Record.State != r.State || c.Record.Version != r.Version {
		t.Errorf("asked: %+v", c.Record)
	}
	if c, err = inventory.Moved(s, c.Record, before, now); err != nil {
		t.Fatal(err)
	}
	if len(c.Events) != 1 || c.Events[0].Kind != inventory.KindRollout {
		t.Errorf("the events of a move are %+v", c.Events)
	}
	return c.Record
}

// TestMoved moves an instance to a definition with an attribute more, and back.
func TestMoved(t *testing.T) {
	t.Parallel()
	old := withLifecycle(t, "service_with_delete_validate")
	c, err := inventory.New(old, "i1", "", object(t, order), now)
	if err != nil {
		t.Fatal(err)
	}
	r := work(t, old, c.Record, false)
	r.Model, r.Resources = "one", []string{"a"}
	next := wider(t)
	from, to := goal(t, old, "one"), goal(t, next, "two")
	if !r.At(from) || r.At(to) {
		t.Errorf("before: %+v", r)
	}
	is := rolled(t, next, r, inventory.Move{Goal: to}, nil)
	want := maps.Clone(r.Active)
	want["more"] = "m"
	if d := cmp.Diff(want, is.Active); d != "" {
		t.Error(d)
	}
	if is.State != r.State || is.Version != r.Version+1 || is.Desired != r.Desired+1 ||
		is.Definition != to.Definition || is.Made.Active != to.Definition || is.Pinned != "two" ||
		is.Rolling != nil || is.Identity != r.Identity {
		t.Errorf("moved: %+v", is)
	}
	if is.Rollout.From != from || is.Rollout.Back {
		t.Errorf("it would come back to %+v", is.Rollout)
	}
	if !slices.ContainsFunc(is.Tasks, func(task inventory.Task) bool {
		return task.Kind == inventory.TaskExport && task.Present
	}) {
		t.Errorf("its tasks are %+v", is.Tasks)
	}
	is.Tasks, is.Model = nil, "two"
	again := rolled(t, next, is, inventory.Move{Goal: to}, nil)
	if d := cmp.Diff(is.Rollout.From, again.Rollout.From); d != "" {
		t.Errorf("to repeat a move: %s", d)
	}
	again.Tasks = nil
	back := rolled(t, old, again, inventory.Move{Goal: from, Back: true}, &r)
	if d := cmp.Diff(r.Active, back.Active); d != "" {
		t.Error(d)
	}
	if !back.Rollout.Back || back.Pinned != "one" || back.Definition != from.Definition {
		t.Errorf("back: %+v", back)
	}
}

// TestDroppedComesBack drops an attribute, and has it as it was after the way back, but for one that
// was changed since.
func TestDroppedComesBack(t *testing.T) {
	t.Parallel()
	old := wider(t)
	c, err := inventory.New(old, "i1", "", object(t, order), now)
	if err != nil {
		t.Fatal(err)
	}
	r := work(t, old, c.Record, false)
	r.Active = maps.Clone(r.Active)
	r.Active["more"] = "mine"
	next := withLifecycle(t, "service_with_delete_validate")
	is := rolled(t, next, r, inventory.Move{Goal: goal(t, next, "two")}, nil)
	if _, has := is.Active["more"]; has {
		t.Errorf("it has %v", is.Active)
	}
	is.Tasks = nil
	back := rolled(t, old, is, inventory.Move{Goal: goal(t, old, "one"), Back: true}, &r)
	if d := cmp.Diff(r.Active, back.Active); d != "" {
		t.Error(d)
	}
}

// TestMoveIsRefused names what does not fit, and changes nothing.
func TestMoveIsRefused(t *testing.T) {
	t.Parallel()
	old := withLifecycle(t, "service_with_delete_validate")
	c, err := inventory.New(old, "i1", "", object(t, order), now)
	if err != nil {
		t.Fatal(err)
	}
	r := work(t, old, c.Record, false)
	needs := wider(t)
	needs.Attributes[len(needs.Attributes)-1].DefaultSet = false
	_, err = inventory.Ask(needs, r, inventory.Move{Goal: goal(t, needs, "two")}, nil, now)
	problems, _ := diag.Of(err)
	if len(problems) != 1 || problems[0].Attribute != "more" ||
		problems[0].Code != inventory.CodeMissing {
		t.Errorf("a missing attribute: %v", err)
	}
	other := withLifecycle(t, "service_with_delete_validate")
	other.Lifecycle.States = slices.Clone(other.Lifecycle.States)
	other.Lifecycle.States = slices.DeleteFunc(other.Lifecycle.States,
		func(s lifecycle.State) bool { return s.Name == r.State })
	_, err = inventory.Ask(other, r, inventory.Move{Goal: goal(t, other, "two")}, nil, now)
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("a lifecycle without the state: %v", err)
	}
}
