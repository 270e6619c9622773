package lifecycle

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is a defect of a machine.
type Problem struct {
	State    string // the state with the problem; "" for none
	Transfer int    // the number of the transfer with the problem; -1 for none
	Message  string
	Hint     string
}

// checker collects problems of a machine.
type checker struct {
	*Machine
	out    []Problem
	astray bool // a transfer or an initial state names an unknown state
}

func (c *checker) state(name, hint, format string, args ...any) {
	c.out = append(c.out, Problem{name, -1, fmt.Sprintf(format, args...), hint})
}

func (c *checker) transfer(i int, hint, format string, args ...any) {
	message := c.Transfers[i].title() + ": " + fmt.Sprintf(format, args...)
	c.out = append(c.out, Problem{"", i, message, hint})
}

// title returns the name of a transfer in messages.
func (t *Transfer) title() string { return "the transfer from " + t.Source + " to " + t.Target }

// Check returns the problems of a machine, in the order of its states and transfers; none if the
// machine can be used.
func (m *Machine) Check() []Problem {
	c := &checker{Machine: m}
	c.names()
	for i := range m.Transfers {
		c.one(i)
	}
	for i := range m.States {
		c.choices(&m.States[i])
	}
	if c.astray {
		return c.out // the other checks follow transfers
	}
	c.reachable()
	c.wayOut()
	c.purged()
	c.loops()
	return c.out
}

// names checks that states have unique names, valid labels and valid sets, and that initial states
// exist.
func (c *checker) names() {
	seen := map[string]bool{}
	for i := range c.States {
		s := &c.States[i]
		if s.Name == "" {
			c.state("", "give it a name", "a state has no name")
		}
		if seen[s.Name] {
			c.state(s.Name, "give one of them another name", "there are two states %s", s.Name)
		}
		seen[s.Name] = true
		if !slices.Contains([]string{"", "info", "success", "warning", "danger"}, s.Label) {
			c.state(s.Name, "use info, success, warning or danger",
				"the state %s has the label %q", s.Name, s.Label)
		}
		for _, set := range []Set{
			s.ValidateSelf, s.ValidateOthers, s.PreviousAttrSetOnExport,
			s.PreviousAttrSetOnValidate,
		} {
			if !slices.Contains([]Set{NoSet, Candidate, Active, Rollback}, set) {
				c.state(s.Name, "use candidate, active, rollback or null",
					"the state %s names the set of attributes %q", s.Name, set)
			}
		}
	}
	for _, name := range append([]string{c.Initial}, c.Alternatives...) {
		if s, ok := c.State(name); !ok {
			c.astray = true
			c.state(name, "name one of its states", "the initial state %q is not a state", name)
		} else if s.Deleted {
			c.state(name, "begin in a state that is not deleted",
				"the initial state %s is one of instances that are gone", name)
		}
	}
}

// one checks a single transfer.
func (c *checker) one(i int) {
	t := &c.Transfers[i]
	ends := map[string]string{"source": t.Source, "target": t.Target}
	if t.Error != "" {
		ends["error"] = t.Error
	}
	for _, end := range []string{"source", "target", "error"} {
		if name, ok := ends[end]; ok {
			if _, is := c.State(name); !is {
				c.astray = true
				c.transfer(i, "name one of the states", "its %s %q is not a state", end, name)
			}
		}
	}
	for _, o := range []Operation{t.TargetOperation, t.ErrorOperation} {
		if !slices.Contains([]Operation{
			NoOperation, Promote, RollBack, ClearCandidate, ClearActive, ClearRollback,
		}, o) {
			c.transfer(i, "use promote, rollback, clear candidate, clear active or clear rollback",
				"%q is not an operation", o)
		}
	}
	if !t.Auto && !t.OnUpdate && !t.OnDelete && !t.APISetState && !t.ResourceBased {
		c.transfer(i, "set auto, api_set_state, on_update, on_delete or resource_based",
			"nothing can begin it")
	}
	if t.Validate && t.Error == "" {
		c.transfer(i, "set error to a state",
			"it is validated, and leads nowhere when that fails")
	}
	if t.Validate && t.ResourceBased {
		c.transfer(i, "take validate or resource_based away",
			"a deployed state can no longer be validated")
	}
	if t.ErrorOperation != NoOperation && t.Error == "" {
		c.transfer(i, "set error to a state, or take error_operation away",
			"it has an error_operation, and leads nowhere when something goes wrong")
	}
	if s, ok := c.State(t.Source); ok && s.Deleted {
		c.transfer(i, "take it away", "it begins where instances are gone")
	}
	if t.ConfigName != "" && !t.Auto {
		c.transfer(i, "set auto too, or take config_name away",
			"config_name turns an automatic transfer on and off, and it is not automatic")
	}
	c.same(i, "target", t.Target, t.TargetSameDesiredState)
	c.same(i, "error", t.Error, t.ErrorSameDesiredState)
}

// same rejects a transfer with the same desired state between states that export or purge
// differently.
func (c *checker) same(i int, end, name string, said bool) {
	from, ok := c.State(c.Transfers[i].Source)
	to, also := c.State(name)
	if !said || !ok || !also || to.Deleted {
		return
	}
	if from.ExportResources != to.ExportResources ||
		from.ExportResources && from.PurgeResources != to.PurgeResources {
		c.transfer(i, "make it false, or make the states export and purge alike",
			"%s_same_desired_state is true, and %s exports or purges otherwise than %s",
			end, name, from.Name)
	}
}

// trigger is a way to begin a transfer. A state has at most one transfer for each trigger.
type trigger struct {
	name string
	is   func(*Transfer) bool
}

func triggers() []trigger {
	return []trigger{
		{"auto", func(t *Transfer) bool { return t.Auto }},
		{"on_update", func(t *Transfer) bool { return t.OnUpdate }},
		{"on_delete", func(t *Transfer) bool { return t.OnDelete }},
		{"resource_based", func(t *Transfer) bool { return t.ResourceBased }},
	}
}

// choices rejects two transfers out of a state that the same trigger begins.
func (c *checker) choices(s *State) {
	for _, g := range triggers() {
		first := -1
		for i := range c.Transfers {
			t := &c.Transfers[i]
			if t.Source != s.Name || !g.is(t) {
				continue
			}
			if first >= 0 {
				c.transfer(
					i,
					"keep one of them",
					"%s has two transfers with %s, the other one to %s",
					s.Name,
					g.name,
					c.Transfers[first].Target,
				)
			}
			first = i
		}
	}
	to := map[string]bool{}
	for i := range c.Transfers {
		t := &c.Transfers[i]
		if t.Source != s.Name || !t.APISetState {
			continue
		}
		if to[t.Target] {
			c.transfer(i, "keep one of them",
				"%s has two transfers with api_set_state to %s", s.Name, t.Target)
		}
		to[t.Target] = true
	}
}

// ends calls f with each end of a transfer.
func (t *Transfer) ends(f func(name string, same bool)) {
	f(t.Target, t.TargetSameDesiredState)
	if t.Error != "" {
		f(t.Error, t.ErrorSameDesiredState)
	}
}

// after returns states, and all states that can be reached from them.
func (m *Machine) after(states ...string) map[string]bool {
	seen := map[string]bool{}
	for open := states; len(open) > 0; {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		for i := range m.Transfers {
			if m.Transfers[i].Source == at {
				m.Transfers[i].ends(func(name string, _ bool) { open = append(open, name) })
			}
		}
	}
	return seen
}

// reachable rejects states that no instance can reach.
func (c *checker) reachable() {
	seen := c.after(append([]string{c.Initial}, c.Alternatives...)...)
	for _, s := range c.States {
		if !seen[s.Name] {
			c.state(s.Name, "add a transfer that leads to it, or take it away",
				"the state %s cannot be reached from %s", s.Name, c.Initial)
		}
	}
}

// wayOut rejects states from which no deleted state can be reached.
func (c *checker) wayOut() {
	out := map[string]bool{}
	for _, s := range c.States {
		out[s.Name] = s.Deleted
	}
	for changed := true; changed; {
		changed = false
		for i := range c.Transfers {
			t := &c.Transfers[i]
			t.ends(func(name string, _ bool) {
				if out[name] && !out[t.Source] {
					out[t.Source], changed = true, true
				}
			})
		}
	}
	for _, s := range c.States {
		if !out[s.Name] {
			c.state(
				s.Name,
				"add transfers that lead to a state with deleted=true",
				"there is no way out of the state %s: nothing leads from it to a deleted state",
				s.Name,
			)
		}
	}
}

// situation is a state of an instance, and whether some of its resources may be deployed.
type situation struct {
	state    string
	deployed bool
}

// purged rejects transfers that delete an instance while its resources may be deployed. Such
// resources would stay without belonging to an instance.
func (c *checker) purged() {
	var open []situation
	for _, name := range append([]string{c.Initial}, c.Alternatives...) {
		open = append(open, situation{state: name})
	}
	seen := map[situation]bool{}
	for len(open) > 0 {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		for i := range c.Transfers {
			t := &c.Transfers[i]
			if t.Source != at.state {
				continue
			}
			for _, next := range c.leads(t, at.deployed) {
				if s, _ := c.State(next.state); s.Deleted && next.deployed {
					c.leavesDeployed(i, next.state)
				}
				open = append(open, next)
			}
		}
	}
}

// leads returns the situations after a transfer. Resources are gone after a purging state has
// removed them, or when a person leaves the purging state.
func (c *checker) leads(t *Transfer, deployed bool) []situation {
	s, _ := c.State(t.Source)
	deployed = deployed || s.ExportResources && !s.PurgeResources
	purges := s.ExportResources && s.PurgeResources
	out := []situation{{t.Target, deployed && (!purges || t.Auto)}}
	if t.Error != "" {
		out = append(out, situation{t.Error, deployed && (!purges || t.Auto || t.ResourceBased)})
	}
	return out
}

func (c *checker) leavesDeployed(i int, deleted string) {
	const hint = "lead to a state with export_resources=true and purge_resources=true first, and " +
		"from there to the deleted state by a resource_based transfer"
	if !slices.ContainsFunc(c.out, func(p Problem) bool { return p.Hint == hint && p.Transfer == i }) {
		c.transfer(i, hint, "resources of the instance would stay deployed when it comes to %s",
			deleted)
	}
}

// loops rejects cycles that an instance would run through forever: cycles of automatic transfers,
// and cycles of transfers for one result of the same resources.
func (c *checker) loops() {
	c.circle("automatic transfers", func(t *Transfer, yield func(string)) {
		if t.Auto {
			t.ends(func(name string, _ bool) { yield(name) })
		}
	})
	for _, failed := range []bool{false, true} {
		what := "transfers that deployed resources begin"
		if failed {
			what = "transfers that failed resources begin"
		}
		c.circle(what, func(t *Transfer, yield func(string)) {
			if t.Auto {
				t.ends(func(name string, same bool) {
					if same {
						yield(name)
					}
				})
			}
			to, operation, same := t.Target, t.TargetOperation, t.TargetSameDesiredState
			if failed {
				to, operation, same = t.Error, t.ErrorOperation, t.ErrorSameDesiredState
			}
			if nothing := to == t.Source && operation == NoOperation; t.ResourceBased && same &&
				to != "" && !nothing {
				yield(to)
			}
		})
	}
}

// circle rejects cycles of the edges that next yields.
func (c *checker) circle(what string, next func(*Transfer, func(string))) {
	const open, done = 1, 2
	at := map[string]int{}
	var path []string
	var visit func(string) bool
	visit = func(name string) bool {
		path = append(path, name)
		at[name] = open
		found := false
		for i := range c.Transfers {
			if c.Transfers[i].Source != name {
				continue
			}
			next(&c.Transfers[i], func(to string) {
				if found || at[to] == done {
					return
				}
				if at[to] == open {
					round := append(slices.Clone(path[slices.Index(path, to):]), to)
					c.state(to, "remove one of the transfers, or make one wait for a request",
						"the %s go round for ever: %s", what, strings.Join(round, " → "))
					found = true
					return
				}
				found = visit(to)
			})
		}
		at[name] = done
		path = path[:len(path)-1]
		return found
	}
	for _, s := range c.States {
		if at[s.Name] == 0 && visit(s.Name) {
			return
		}
	}
}
