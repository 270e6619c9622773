package lifecycle_test

import (
	"slices"
	"strings"
	"testing"

	"southbound/shared/service/lifecycle"
)

// add adds a transfer to a machine.
func add(m *lifecycle.Machine, t lifecycle.Transfer) { m.Transfers = append(m.Transfers, t) }

// drop takes all transfers out of a state away.
func drop(m *lifecycle.Machine, source string) {
	m.Transfers = slices.DeleteFunc(m.Transfers, func(t lifecycle.Transfer) bool {
		return t.Source == source
	})
}

// TestCheck breaks a lifecycle in each way in which one cannot be used.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		breaks func(*lifecycle.Machine)
		want   string
	}{
		{"no way out", func(m *lifecycle.Machine) { drop(m, "deleting_failed") },
			"there is no way out of the state deleting_failed"},
		{"two automatic transfers", func(m *lifecycle.Machine) {
			add(m, lifecycle.Transfer{Source: "start", Target: "terminated", Auto: true})
		},
			"the transfer from start to terminated: start has two transfers with auto, the other " +
				"one to creating"},
		{"two updates", func(m *lifecycle.Machine) {
			add(m, lifecycle.Transfer{Source: "up", Target: "start", OnUpdate: true})
		}, "up has two transfers with on_update"},
		{"two ways to ask for a state", func(m *lifecycle.Machine) {
			for range 2 {
				add(m, lifecycle.Transfer{Source: "up", Target: "start", APISetState: true})
			}
		}, "up has two transfers with api_set_state to start"},
		{"unreachable", func(m *lifecycle.Machine) {
			m.States = append(m.States, lifecycle.State{Name: "island"})
			add(m, lifecycle.Transfer{Source: "island", Target: "terminated", APISetState: true})
		}, "the state island cannot be reached from start"},
		{"not a state", func(m *lifecycle.Machine) { m.Transfers[0].Target = "nowhere" },
			`its target "nowhere" is not a state`},
		{"not an initial state",
			func(m *lifecycle.Machine) { m.Alternatives = []string{"nowhere"} },
			`the initial state "nowhere" is not a state`},
		{"begins at the end", func(m *lifecycle.Machine) { m.Initial = "terminated" },
			"the initial state terminated is one of instances that are gone"},
		{"goes on after the end", func(m *lifecycle.Machine) {
			add(m, lifecycle.Transfer{Source: "terminated", Target: "start", APISetState: true})
		}, "it begins where instances are gone"},
		{"a name twice", func(m *lifecycle.Machine) { m.States = append(m.States, m.States[0]) },
			"there are two states"},
		{"no name", func(m *lifecycle.Machine) { m.States = append(m.States, lifecycle.State{}) },
			"a state has no name"},
		{"a label", func(m *lifecycle.Machine) { m.States[0].Label = "pink" },
			`has the label "pink"`},
		{"a set", func(m *lifecycle.Machine) { m.States[0].ValidateSelf = "next" },
			`names the set of attributes "next"`},
		{"an operation", func(m *lifecycle.Machine) { m.Transfers[0].TargetOperation = "undo" },
			`"undo" is not an operation`},
		{"nothing begins it", func(m *lifecycle.Machine) {
			add(m, lifecycle.Transfer{Source: "up", Target: "failed"})
		}, "nothing can begin it"},
		{"no state error", func(m *lifecycle.Machine) {
			add(m, lifecycle.Transfer{
				Source: "up", Target: "failed", APISetState: true, Validate: true,
			})
		}, "it is validated, and leads nowhere when that fails"},
		{"validates what is there", func(m *lifecycle.Machine) {
			i := slices.IndexFunc(m.Transfers,
				func(t lifecycle.Transfer) bool { return t.ResourceBased })
			m.Transfers[i].Validate = true
		}, "a deployed state can no longer be validated"},
		{"an operation for nothing", func(m *lifecycle.Machine) {
			add(m, lifecycle.Transfer{
				Source: "up", Target: "failed", APISetState: true,
				ErrorOperation: lifecycle.ClearActive,
			})
		}, "it has an error_operation, and leads nowhere"},
		{"a setting for nothing", func(m *lifecycle.Machine) {
			add(m, lifecycle.Transfer{
				Source: "up", Target: "failed", APISetState: true, ConfigName: "x",
			})
		}, "config_name turns an automatic transfer on and off"},
		{"other resources", func(m *lifecycle.Machine) {
			add(m, lifecycle.Transfer{
				Source: "up", Target: "start", APISetState: true, TargetSameDesiredState: true,
			})
		}, "target_same_desired_state is true, and start exports or purges otherwise than up"},
		{"deleted while it is deployed", func(m *lifecycle.Machine) {
			add(m, lifecycle.Transfer{Source: "up", Target: "terminated", APISetState: true})
		}, "the transfer from up to terminated: resources of the instance would stay deployed"},
		{"deleted after a state without resources", func(m *lifecycle.Machine) {
			m.States = append(m.States, lifecycle.State{Name: "off"})
			add(m, lifecycle.Transfer{Source: "up", Target: "off", APISetState: true})
			add(m, lifecycle.Transfer{Source: "off", Target: "terminated", OnDelete: true})
		}, "the transfer from off to terminated: resources of the instance would stay deployed"},
		{"deleted before it is purged", func(m *lifecycle.Machine) {
			drop(m, "deleting")
			add(m, lifecycle.Transfer{Source: "deleting", Target: "terminated", Auto: true})
		}, "the transfer from deleting to terminated: resources of the instance would stay deployed"},
		{"deleted when it cannot be purged", func(m *lifecycle.Machine) {
			drop(m, "deleting")
			add(m, lifecycle.Transfer{
				Source: "deleting", Target: "deleting_failed", Error: "terminated",
				ResourceBased: true,
			})
		}, "the transfer from deleting to deleting_failed: resources of the instance would stay " +
			"deployed when it comes to terminated"},
		{"round for ever", func(m *lifecycle.Machine) {
			m.States = append(m.States, lifecycle.State{Name: "again"})
			drop(m, "rejected")
			add(m, lifecycle.Transfer{Source: "rejected", Target: "again", Auto: true})
			add(m, lifecycle.Transfer{Source: "again", Target: "start", Auto: true})
		}, "the automatic transfers go round for ever: "},
		{"resources go round", func(m *lifecycle.Machine) {
			drop(m, "up")
			add(m, lifecycle.Transfer{
				Source: "up", Target: "failed", ResourceBased: true, TargetSameDesiredState: true,
			})
		}, "the transfers that deployed resources begin go round for ever: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := machine(t, "service")
			test.breaks(m)
			var said []string
			for _, p := range m.Check() {
				if p.Hint == "" {
					t.Errorf("there is no hint: %s", p.Message)
				}
				said = append(said, p.Message)
			}
			if !strings.Contains(strings.Join(said, "\n"), test.want) {
				t.Errorf("it says %q, and not %q", said, test.want)
			}
		})
	}
}
