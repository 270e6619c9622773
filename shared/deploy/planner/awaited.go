package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// AwaitedFact is a fact, or a secret output, whose value an apply may learn; see
// docs/design/preview.md.
type AwaitedFact struct {
	Attribute string      `json:"attribute" doc:"attribute that refers to the value"`
	Fact      string      `json:"fact,omitempty" doc:"name of the fact"`
	Output    string      `json:"output,omitempty" doc:"path of the secret output, if it is one"`
	Of        resource.ID `json:"of" doc:"resource whose run reports the fact or keeps the output"`
	// MayChange means that the attribute has a value, and that the apply may give it another one.
	MayChange bool `json:"may_change,omitempty" doc:"the value is known, and may be another one after the apply"`
}

// String names the fact or the secret output for people.
func (f AwaitedFact) String() string {
	if f.Output != "" {
		return fmt.Sprintf("secret output %q of %s", f.Output, f.Of)
	}
	return fmt.Sprintf("fact %q of %s", f.Fact, f.Of)
}

// maxAfter is the maximum number of changes that a planned change names as preceding it.
const maxAfter = 5

// Awaits returns the facts and the secret outputs without a version to which attributes refer, in
// order of attribute. only is false if the attributes also refer to a value that no run learns: a
// parameter, or a value of a model.
func Awaits(attributes map[string]any) (facts []AwaitedFact, only bool) {
	only = true
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		for _, ref := range resource.References(attributes[name]) {
			switch ref := ref.(type) {
			case resource.Fact:
				facts = append(facts, AwaitedFact{Attribute: name, Fact: ref.Name, Of: ref.Of})
			case resource.Secret:
				if o, awaited := ref.Await(); awaited {
					facts = append(facts, AwaitedFact{Attribute: name, Output: o.Path, Of: o.Of})
				}
			case resource.Parameter:
				only = false
			}
		}
	}
	return facts, only
}

// Awaiting returns the effect of a deploy on a resource that waits for facts, as far as its values are
// known: was is its stored row, and now its row with the intent of a version.
func (pl *Planner) Awaiting(
	was, now *state.Row, facts []AwaitedFact, whole bool,
) (PlannedChange, error) {
	p := rowEffects{pl: &pl.Config, whole: whole}
	w := PlannedChange{ID: now.ID, Action: "none"}
	if err := p.change(&w, was, now); err != nil {
		return w, err
	}
	if !w.Failed {
		w.Reason = "" // of an earlier run
	}
	w.Await(facts)
	return w, nil
}

// Await records the facts for which a planned change waits, and their resources as the changes that
// come before it.
func (w *PlannedChange) Await(facts []AwaitedFact) {
	w.KnownAfter = facts
	w.comesAfter(facts)
	awaited := func(name string) bool {
		return slices.ContainsFunc(facts, func(f AwaitedFact) bool { return f.Attribute == name })
	}
	for name := range w.Changes {
		if !awaited(name) {
			return
		}
	}
	switch {
	case w.Failed || len(facts) == 0:
	case w.Replace:
		w.Reason = "may be replaced: " + knownAfterApply
	case w.Action == "update":
		w.Reason = "may change: " + knownAfterApply
	}
}

// MayFollow records known facts that the plan may change. A resource that would stay as it is comes
// after the changes of their resources.
func (w *PlannedChange) MayFollow(facts []AwaitedFact) {
	if len(facts) == 0 {
		return
	}
	w.KnownAfter = append(w.KnownAfter, facts...)
	if w.Action != "none" {
		return
	}
	w.comesAfter(facts)
	if w.Reason == "" {
		w.Reason = MayChangeText(facts)
	}
}

// MayChangeText describes known facts that an apply may change, for people; "" if there is none.
func MayChangeText(facts []AwaitedFact) string {
	first, more := "", 0
	for _, f := range facts {
		switch {
		case !f.MayChange:
		case first == "":
			first = fmt.Sprintf("%s may change: %s is %s", f.Attribute, f, knownAfterApply)
		default:
			more++
		}
	}
	if more > 0 {
		return fmt.Sprintf("%s, and %d more", first, more)
	}
	return first
}

// comesAfter records the resources of facts as changes that precede this one.
func (w *PlannedChange) comesAfter(facts []AwaitedFact) {
	for _, f := range facts {
		if !slices.Contains(w.After, f.Of) && len(w.After) < maxAfter {
			w.After = append(w.After, f.Of)
		}
	}
}

const knownAfterApply = "known after apply"

// waiting holds the rows that are undefined or blocked in a plan.
type waiting struct {
	*forecast
	s    *steps
	g    *version.Graph
	acts map[resource.ID]PlannedChange
}

// pair is a row before and after a plan.
type pair struct{ was, now *state.Row }

// settle returns which rows that are undefined or blocked run in an apply of the plan: the apply
// learns all facts that they lack. It calls add for each row, requirements first.
func (p *forecast) settle(ctx context.Context, s *steps, rows map[resource.ID]pair,
	add func(was, now *state.Row) error) error {
	if len(rows) == 0 {
		return nil
	}
	g, err := p.graphOf(ctx)
	if err != nil {
		return err
	}
	p.awaited = make(map[resource.ID]bool, len(rows))
	w := waiting{forecast: p, s: s, g: g, acts: make(map[resource.ID]PlannedChange, len(s.planned))}
	for i := range s.planned {
		w.acts[s.planned[i].ID] = s.planned[i]
	}
	for _, n := range g.Order() {
		one, waits := rows[g.IDs[n]]
		if !waits {
			continue
		}
		if err := w.one(n, one, add); err != nil {
			return err
		}
		delete(rows, one.now.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(rows)) { // rows that the graph lacks
		if err := add(rows[id].was, rows[id].now); err != nil {
			return err
		}
	}
	return nil
}

// one decides on one row and adds it.
func (w *waiting) one(n int32, one pair, add func(was, now *state.Row) error) error {
	runs := true
	for _, q := range w.g.Requires(n) {
		known, waited := w.awaited[w.g.IDs[q]]
		runs = runs && (known || !waited)
	}
	if runs && one.now.Undefined() {
		res, err := resource.Decode(one.now.Body)
		if err != nil {
			return fault.Wrap(fault.Damaged, "read resource", err)
		}
		facts, only := Awaits(res.Attributes)
		runs = only && !one.now.Removing && !slices.ContainsFunc(facts, func(f AwaitedFact) bool {
			return !w.learns(f)
		})
	}
	w.awaited[one.now.ID] = runs
	before := len(w.s.planned)
	err := add(one.was, one.now)
	if len(w.s.planned) > before {
		last := w.s.planned[before]
		w.acts[last.ID] = last
	}
	return err
}

// learns reports whether an apply of the plan may learn a fact or a secret output: it creates or
// updates the thing of the resource, or is the first to ask for its facts.
func (w *waiting) learns(f AwaitedFact) bool {
	row, planned := w.s.rows[f.Of], w.acts[f.Of]
	if row == nil || row.Removing || planned.Failed || planned.Rechecked {
		return false
	}
	switch planned.Action {
	case "create", "update":
		return true
	case "none":
		return f.Output == "" && row.WantFacts() && row.FactsRead == 0 && row.Runnable()
	}
	return false
}

// graphOf returns the graph that would be in force.
func (p *forecast) graphOf(ctx context.Context) (*version.Graph, error) {
	if p.plan.graph != nil {
		return p.plan.graph, nil
	}
	return p.plan.inForce(ctx)
}
