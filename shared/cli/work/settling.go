package work

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"southbound/shared/api"
	"southbound/shared/cli/output"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// The bounds within which facts have to settle; see docs/design/facts.md.
const (
	// maxFollowed is how many changes of a resource a command waits for if facts cause them.
	maxFollowed = 20
	// lastChanges is how many of the last changes must contain maxFollowed changes of one resource:
	// a command that waits for other work does not end for a fact that changes occasionally.
	lastChanges = 10 * maxFollowed
	// firstLook is when a wait first looks for such resources. Each further look comes after twice
	// the time, so long waits cost few requests.
	firstLook = 2 * time.Second
)

// settling detects, during a wait, facts that do not settle: something outside the model changes a
// fact whenever a resource that refers to it is deployed, so the work never ends.
type settling struct {
	w    *Waiter
	of   Request
	next time.Time
	wait time.Duration
}

func (w *Waiter) settling(of Request, now time.Time) *settling {
	return &settling{w: w, of: of, next: now.Add(firstLook), wait: firstLook}
}

// look returns an error if facts do not settle. It reads the last changes if a look is due. If they
// cannot be read, the next look reads them.
func (s *settling) look(ctx context.Context, now time.Time) error {
	if now.Before(s.next) {
		return nil
	}
	s.wait *= 2
	s.next = now.Add(s.wait)
	actions, err := s.w.Home.Actions(ctx, s.w.Env, api.ActionQuery{After: s.of.Since,
		Version: s.of.Version, Notable: true, Limit: lastChanges})
	if err != nil {
		return nil
	}
	changes, began := changesOf(actions)
	for _, id := range slices.Sorted(maps.Keys(changes)) {
		if values := s.changedFor(ctx, id, began); len(values) > 0 {
			return unsettled(id, changes[id], len(changes)-1, values)
		}
	}
	return nil
}

// changesOf counts the changes of resources that have changed maxFollowed times for one version. It
// also returns when the first of all actions has begun. Corrected drift does not count.
func changesOf(actions []api.Action) (map[resource.ID]int, time.Time) {
	type intent struct {
		of      resource.ID
		version int
	}
	changes, out := map[intent]int{}, map[resource.ID]int{}
	var began time.Time
	for i := range actions {
		x := &actions[i]
		if began.IsZero() || x.Started.Before(began) {
			began = x.Started
		}
		if x.Action != state.ActionDeploy || x.Outcome != state.StatusDeployed ||
			x.Change == diff.NoChange || x.Change == "" {
			continue
		}
		of := intent{x.Resource, x.Version}
		if changes[of]++; changes[of] >= maxFollowed {
			out[of.of] = changes[of]
		}
	}
	return out, began
}

// changedFor names the facts that have changed since then, and the secret outputs, to which a
// resource may refer: those of resources that it requires.
func (s *settling) changedFor(ctx context.Context, id resource.ID, since time.Time) []string {
	d, err := s.w.Home.Resource(ctx, s.w.Env, id)
	if err != nil {
		return nil
	}
	facts, err := s.w.Home.Parameters(ctx, s.w.Env, true)
	if err != nil {
		return nil
	}
	var out []string
	for i := range facts {
		f := &facts[i]
		if slices.Contains(d.Requires, f.Of) && !f.Updated.Before(since) {
			out = append(out, fmt.Sprintf("fact %q of %s", f.Name, f.Of))
		}
	}
	return append(out, outputsIn(d.Desired)...)
}

// outputsIn names the secret outputs in values that have the form of documents.
func outputsIn(v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		source, _ := v["secret"].(string)
		if o, is := resource.ParseOutput(source); is {
			return []string{fmt.Sprintf("secret output %q of %s", o.Path, o.Of)}
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, outputsIn(v[k])...)
		}
	case []any:
		for i := range v {
			out = append(out, outputsIn(v[i])...)
		}
	}
	return out
}

// unsettled returns the error for values that do not settle, because of which a resource and a
// number of others have changed.
func unsettled(id resource.ID, times, others int, values []string) error {
	what := values[0]
	if more := len(values) - 1; more > 0 {
		what += fmt.Sprintf(" (or %d more)", more)
	}
	who := string(id)
	if others > 0 {
		who += " and " + output.Plural(others, "more resource")
	}
	err := fault.New(fault.Unknown, "", "%s does not settle: it has changed whenever %s was deployed,"+
		" %d times during this command; the rest stays scheduled", output.OneLine(what),
		output.OneLine(who), times).
		WithHint("find the program that changes the value, with `southbound logs '%s'`, and stop it; or put a "+
			"literal or a parameter in place of the reference, and apply again", output.OneLine(string(id)))
	return &output.LeftBehind{Err: err}
}
