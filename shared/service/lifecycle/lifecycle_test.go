package lifecycle_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/fault"
	"southbound/shared/service/lifecycle"
)

// machine returns one of the ready-made lifecycles.
func machine(t testing.TB, name string) *lifecycle.Machine {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	m := new(lifecycle.Machine)
	if err := json.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// world is an instance with those who answer its effects.
type world struct {
	t       *testing.T
	m       *lifecycle.Machine
	i       lifecycle.Instance
	invalid bool // whether compiles fail
	broken  bool // whether deploys fail
	path    []string
	asked   []lifecycle.Effect
}

// do gives an event, and answers what it leads to until nothing is to be done any more.
func (w *world) do(e lifecycle.Event) error {
	w.t.Helper()
	r, err := lifecycle.Step(w.m, w.i, e)
	if err != nil {
		return err
	}
	w.i = r.Instance
	if r.Taken != nil {
		w.path = append(w.path, r.Taken.To)
	}
	for _, effect := range r.Effects {
		w.asked = append(w.asked, effect)
		if next := w.answer(effect); next != nil {
			if err := w.do(next); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	return nil
}

func (w *world) answer(e lifecycle.Effect) lifecycle.Event {
	switch e := e.(type) {
	case lifecycle.Validate:
		return lifecycle.Validated{Version: e.Version, Failed: w.invalid}
	case lifecycle.Export:
		if !e.Present {
			return nil
		}
		outcome := lifecycle.Deployed
		if w.broken {
			outcome = lifecycle.Failed
		}
		return lifecycle.Resources{Desired: e.Desired, Outcome: outcome}
	case lifecycle.Continue:
		return lifecycle.Auto{}
	}
	return nil
}

// act is what somebody does, and where that leads.
type act struct {
	what            string // create, update, delete, the name of a state, deployed or failed
	invalid, broken bool
	path            string
	active          string // what the attributes are afterwards; "" for none
}

func (w *world) act(a act) error {
	w.invalid, w.broken, w.path = a.invalid, a.broken, nil
	attributes := map[string]any{"v": a.what + "d"}
	switch a.what {
	case "create":
		return w.do(lifecycle.Create{Attributes: attributes})
	case "update":
		return w.do(lifecycle.Update{Attributes: attributes, Version: w.i.Version})
	case "delete":
		return w.do(lifecycle.Delete{Version: w.i.Version})
	case "deployed", "failed":
		return w.do(lifecycle.Resources{
			Desired: w.i.Desired, Outcome: lifecycle.Outcome(a.what),
		})
	}
	return w.do(lifecycle.SetState{Target: a.what, Version: w.i.Version})
}

// TestReadyMade follows orders through the ready-made lifecycles.
func TestReadyMade(t *testing.T) {
	t.Parallel()
	created := act{what: "create", path: "acknowledged inprogress up", active: "created"}
	ordered := act{what: "create", path: "creating up", active: "created"}
	for _, test := range []struct {
		name, machine string
		acts          []act
	}{
		{"all goes well", "simple", []act{
			created,
			{what: "update", path: "update_start update_acknowledged update_inprogress up",
				active: "updated"},
			{what: "delete", path: "deleting terminated", active: "updated"},
		}},
		{"an order is rejected, mended and deleted", "simple", []act{
			{what: "create", invalid: true, path: "rejected"},
			{what: "update", invalid: true, path: "start rejected"},
			{what: "update", path: "start acknowledged inprogress up", active: "updated"},
			{what: "delete", path: "deleting terminated", active: "updated"},
		}},
		{"a rejected order is deleted", "simple", []act{
			{what: "create", invalid: true, path: "rejected"},
			{what: "delete", path: "terminated"},
		}},
		{"resources fail and are mended", "service", []act{
			{what: "create", broken: true, path: "creating failed", active: "created"},
			{what: "deployed", path: "up", active: "created"},
			{what: "failed", path: "failed", active: "created"},
			{what: "deployed", path: "up", active: "created"},
		}},
		{"an update is rejected and given up", "service", []act{
			ordered,
			{what: "update", invalid: true, path: "update_start update_rejected",
				active: "created"},
			{what: "failed", path: "update_rejected_failed", active: "created"},
			{what: "deployed", path: "update_rejected", active: "created"},
			{what: "up", path: "up", active: "created"},
		}},
		{"an update fails and is rolled back", "service", []act{
			ordered,
			{what: "update", broken: true, path: "update_start updating update_failed",
				active: "updated"},
			{what: "rollback", path: "rollback up", active: "created"},
			{what: "delete", broken: true, path: "deleting deleting_failed", active: "created"},
			{what: "delete", path: "deleting terminated", active: "created"},
		}},
		{"an update is rejected while resources fail", "service", []act{
			{what: "create", broken: true, path: "creating failed", active: "created"},
			{
				what: "update", invalid: true, active: "created",
				path: "update_start update_rejected update_rejected_failed",
			},
		}},
		{"allocators let go", "service_with_deallocation", []act{
			ordered,
			{what: "delete", broken: true, path: "deleting deleting_failed", active: "created"},
			{what: "deployed", broken: true, path: "deallocating deallocating_failed",
				active: "created"},
			{what: "delete", path: "deallocating terminated", active: "created"},
		}},
		{"allocators let go later", "simple_with_deallocation", []act{
			created,
			{what: "delete", broken: true, path: "deleting deleting_failed", active: "created"},
			{what: "deployed", broken: true, path: "deallocating deallocating_failed",
				active: "created"},
			{what: "deployed", path: "terminated", active: "created"},
		}},
		{"somebody needs it", "simple_with_delete_validate", []act{
			created,
			{what: "delete", invalid: true, path: "delete_validating delete_rejected",
				active: "created"},
			{what: "up", path: "up", active: "created"},
			{what: "delete", path: "delete_validating deleting terminated", active: "created"},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, m: machine(t, test.machine)}
			for _, a := range test.acts {
				if err := w.act(a); err != nil {
					t.Fatalf("%s: %v", a.what, err)
				}
				if got := strings.Join(w.path, " "); got != a.path {
					t.Errorf("%s leads through %s, and not %s", a.what, got, a.path)
				}
				if got, _ := w.i.Active["v"].(string); got != a.active {
					t.Errorf("after %s the attributes are %q, and not %q", a.what, got, a.active)
				}
			}
			if slices.Contains(w.asked, lifecycle.Effect(lifecycle.Gone{})) != w.i.Deleted {
				t.Errorf("deleted is %v, and the effects are %v", w.i.Deleted, w.asked)
			}
		})
	}
}

// TestRefused holds what is refused, and that nothing changes then.
func TestRefused(t *testing.T) {
	t.Parallel()
	up := lifecycle.Instance{State: "up", Version: 4, Desired: 2, Active: map[string]any{}}
	gone := lifecycle.Instance{State: "terminated", Version: 9, Deleted: true}
	checked := lifecycle.Instance{
		State: "start", Version: 1, Validating: "creating", Trigger: lifecycle.ByItself,
	}
	for _, test := range []struct {
		name string
		in   lifecycle.Instance
		e    lifecycle.Event
		kind fault.Kind
		want string
	}{
		{"an old version", up, lifecycle.Delete{Version: 3}, fault.Conflict,
			"the instance has the version 4, and not 3"},
		{"no such transfer", up, lifecycle.SetState{Target: "rollback", Version: 4}, fault.Conflict,
			"the instance is in the state up, in which no transfer to rollback can be requested"},
		{"gone", gone, lifecycle.Update{Version: 9}, fault.Conflict, "the instance is deleted"},
		{"under way", checked, lifecycle.Delete{Version: 1}, fault.Conflict,
			"on its way from start to creating, and is being validated"},
		{"twice", up, lifecycle.Create{}, fault.Conflict, "the instance is there already"},
		{"not a beginning", lifecycle.Instance{}, lifecycle.Create{State: "up"}, fault.Invalid,
			"up is not a state to begin in"},
		{"no setting", up, lifecycle.Configure{Name: "auto_x", Version: 4}, fault.Invalid,
			"has no setting auto_x"},
		{"no state", up, lifecycle.Force{Target: "x", Version: 4}, fault.Invalid, "has no state x"},
		{"nothing to promote", up, lifecycle.Force{
			Target: "up", Operation: lifecycle.Promote, Version: 4,
		}, fault.Conflict, "no candidate attributes to promote"},
		{"nothing to roll back to", up, lifecycle.Force{
			Target: "up", Operation: lifecycle.RollBack, Version: 4,
		}, fault.Conflict, "no attributes to roll back to"},
		{"a state that was taken away", lifecycle.Instance{State: "old"}, lifecycle.Auto{},
			fault.Invalid, "has no state old"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, err := lifecycle.Step(machine(t, "service"), test.in, test.e)
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != test.kind ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v", err)
			}
			if d := cmp.Diff(lifecycle.Result{}, r); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestSettings holds that whoever names a setting that there is not is told which ones there are.
func TestSettings(t *testing.T) {
	t.Parallel()
	m := machine(t, "service")
	for want, change := range map[string]func(*lifecycle.Transfer, int){
		"its settings are auto_0, auto_1": func(tr *lifecycle.Transfer, i int) {
			tr.ConfigName = fmt.Sprint("auto_", i%2)
		},
		"it has none: no transfer of it has a config_name": func(tr *lifecycle.Transfer, _ int) {
			tr.ConfigName = ""
		},
	} {
		for i := range m.Transfers {
			change(&m.Transfers[i], i)
		}
		up := lifecycle.Instance{State: "up", Version: 4}
		_, err := lifecycle.Step(m, up, lifecycle.Configure{Name: "auto_x", Version: 4})
		var f *fault.Error
		if !errors.As(err, &f) || f.Hint != want {
			t.Errorf("the hint is not %q: %+v", want, f)
		}
	}
}

// TestSetting turns an automatic transfer off and on.
func TestSetting(t *testing.T) {
	t.Parallel()
	m := machine(t, "service")
	for i := range m.Transfers {
		if tr := &m.Transfers[i]; tr.Source == "start" {
			tr.ConfigName, tr.APISetState = "auto_create", true
		}
	}
	w := &world{t: t, m: m, i: lifecycle.Instance{}}
	r, err := lifecycle.Step(m, w.i, lifecycle.Create{})
	if err != nil {
		t.Fatal(err)
	}
	w.i = r.Instance
	for _, e := range []lifecycle.Event{
		lifecycle.Configure{Name: "auto_create", Version: 1}, lifecycle.Auto{},
	} {
		if err := w.do(e); err != nil || w.i.State != "start" {
			t.Fatalf("%s, %v", w.i.State, err)
		}
	}
	if err := w.do(lifecycle.Configure{Name: "auto_create", On: true, Version: 1}); err != nil {
		t.Fatal(err)
	}
	if w.i.State != "up" {
		t.Errorf("it is %s", w.i.State)
	}
}

// TestUnderWay has resources fail while a transfer waits for its compile, which it does not
// disturb.
func TestUnderWay(t *testing.T) {
	t.Parallel()
	m := machine(t, "service")
	add(m, lifecycle.Transfer{
		Source: "up", Target: "creating", Error: "failed", APISetState: true, Validate: true,
		ErrorSameDesiredState: true,
	})
	for _, invalid := range []bool{false, true} {
		i := lifecycle.Instance{State: "up", Version: 3, Desired: 2, Active: map[string]any{}}
		for _, e := range []lifecycle.Event{
			lifecycle.SetState{Target: "creating", Version: 3},
			lifecycle.Resources{Desired: 2, Outcome: lifecycle.Failed},
		} {
			r, err := lifecycle.Step(m, i, e)
			if err != nil {
				t.Fatal(err)
			}
			if i = r.Instance; i.State != "up" || i.Validating != "creating" || i.Version != 4 {
				t.Fatalf("after %T it is %+v", e, i)
			}
		}
		r, err := lifecycle.Step(m, i, lifecycle.Validated{Version: 4, Failed: invalid})
		want := map[bool]string{false: "creating", true: "failed"}[invalid]
		if err != nil || r.Instance.State != want || r.Instance.Validating != "" {
			t.Errorf("%+v, %v", r.Instance, err)
		}
	}
}

// TestForce sets a state that no transfer leads to, and brings back what was deleted.
func TestForce(t *testing.T) {
	t.Parallel()
	w := &world{t: t, m: machine(t, "service"), i: lifecycle.Instance{
		State: "terminated", Deleted: true, Version: 3, Desired: 3,
		Rollback: map[string]any{"v": 1},
	}}
	err := w.do(lifecycle.Force{Target: "creating", Operation: lifecycle.RollBack, Version: 3})
	if err != nil || w.i.State != "up" || w.i.Deleted || w.i.Active["v"] != 1 {
		t.Errorf("%+v, %v", w.i, err)
	}
}

// TestDot draws a machine.
// TestDeploys holds of which states nothing is deployed any more: those behind the last export.
func TestDeploys(t *testing.T) {
	m := machine(t, "service_with_deallocation")
	for i := range m.States {
		if strings.HasPrefix(m.States[i].Name, "deallocating") {
			m.States[i].ExportResources, m.States[i].PurgeResources = false, false
		}
	}
	var gone []string
	for _, s := range m.States {
		if !m.Deploys(s.Name) {
			gone = append(gone, s.Name)
		}
	}
	slices.Sort(gone)
	if want := []string{"deallocating", "deallocating_failed", "terminated"}; !slices.Equal(gone,
		want) {
		t.Errorf("nothing is deployed any more in %v, not in %v", gone, want)
	}
}

func TestDot(t *testing.T) {
	t.Parallel()
	dot := machine(t, "simple").Dot()
	for _, want := range []string{
		`digraph "simple" {`, `"up" [color=green, shape=box];`, `"" -> "start";`,
		`"start" -> "acknowledged" [label="auto, validate"];`,
		`"start" -> "rejected" [style=dashed, color=red];`,
	} {
		if !strings.Contains(dot, want) {
			t.Errorf("%s is missing in\n%s", want, dot)
		}
	}
}

// FuzzMachine decodes arbitrary text as a lifecycle, and runs each valid one. Its seeds are small, so
// that a failing input is soon minimized.
func FuzzMachine(f *testing.F) {
	f.Add([]byte(`{"name":"m","initial_state":"a","states":[{"name":"a","export_resources":true},
{"name":"b","export_resources":true},{"name":"z","deleted":true}],"transfers":[
{"source":"a","target":"b","error":"a","resource_based":true,"target_operation":"promote"},
{"source":"b","target":"a","on_update":true},{"source":"b","target":"z","on_delete":true}]}`), uint64(1))
	f.Add([]byte(`{"initial_state":"a","states":[{"name":"a"},{"name":"z","deleted":true}],
"transfers":[{"source":"a","target":"z","error":"z","auto":true,"validate":true}]}`), uint64(2))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		m := new(lifecycle.Machine)
		if json.Unmarshal(data, m) == nil && len(m.Check()) == 0 {
			play(t, m, seed)
			_ = m.Dot()
		}
	})
}
