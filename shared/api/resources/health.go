package resources

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"southbound/shared/api/wire"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

const (
	// maxGroups and maxSingle bound the result of Health.
	maxGroups = 100
	maxSingle = 100
	// maxNotDone is how many of the resources that are blocked by a group are named.
	maxNotDone = 3
)

// Unhealthy are the statuses for which a waiting command exits with code 3.
func Unhealthy() []state.Status {
	return []state.Status{state.StatusFailed, state.StatusUnavailable, state.StatusSkipped,
		state.StatusBlocked, state.StatusUndefined}
}

// Health implements Home. It reads counters, and the unhealthy rows if there are any. See
// docs/design/health.md.
func (s *Service) Health(ctx context.Context, env string) (Health, error) {
	out := Health{Groups: []Group{}, Single: []Problem{}, Agents: []Standing{}, Types: []Standing{}}
	tally, err := s.Env.Engine.Tally(ctx, env)
	if err != nil {
		return out, err
	}
	out.stand(tally)
	found, err := s.unhealthy(ctx, env, tally)
	if err != nil || len(found.rows)+len(found.because) == 0 {
		return out, err
	}
	if err := s.explainFacts(ctx, env, found.rows, found.lacks); err != nil {
		return out, err
	}
	for _, g := range grouped(found.rows) {
		if len(out.Groups) < maxGroups {
			out.Groups = append(out.Groups, groupOf(g, found))
		}
		for _, r := range g {
			if len(out.Single) < maxSingle {
				out.Single = append(out.Single,
					Problem{r.ID, r.Status(), r.Reason, wire.TimeOrNil(r.Timer()),
						wire.OrEmpty(found.because[r.ID])})
			}
		}
	}
	return out, nil
}

// unhealthyRows are the unhealthy rows of an environment.
type unhealthyRows struct {
	rows    []state.Row                   // without bodies, in order of id; unhealthy on their own
	lacks   map[string]missingValue       // by the unknown value, as named for people
	because map[resource.ID][]resource.ID // the others, by their causes
	reached map[string]time.Time          // when each unavailable agent was last reached
}

// unhealthy reads the unhealthy rows, if counters say that there are any.
func (s *Service) unhealthy(
	ctx context.Context, env string, tally []state.Tally,
) (unhealthyRows, error) {
	out := unhealthyRows{lacks: map[string]missingValue{},
		because: map[resource.ID][]resource.ID{}, reached: map[string]time.Time{}}
	statuses := slices.DeleteFunc(Unhealthy(), func(status state.Status) bool {
		return !slices.ContainsFunc(tally, func(t state.Tally) bool { return t.Status == status })
	})
	if len(statuses) == 0 {
		return out, nil
	}
	if err := s.Env.Engine.EachWith(ctx, env, statuses, func(r *state.Row) error {
		if causes := r.RootCauses(); causes[0] != r.ID {
			for _, c := range causes {
				out.because[c] = append(out.because[c], r.ID)
			}
			return nil
		}
		row := *r
		recordMissing(out.lacks, &row)
		row.Body, row.Reason = nil, r.Why()
		out.rows = append(out.rows, row)
		return nil
	}); err != nil {
		return out, err
	}
	slices.SortFunc(out.rows, func(a, b state.Row) int { return cmp.Compare(a.ID, b.ID) })
	out.rows = slices.CompactFunc(out.rows, func(a, b state.Row) bool { return a.ID == b.ID })
	for _, ids := range out.because {
		slices.Sort(ids)
	}
	return out, s.lastReached(ctx, env, tally, &out)
}

// lastReached finds when agents with unavailable resources were last reached: a run succeeded.
func (s *Service) lastReached(
	ctx context.Context, env string, tally []state.Tally, of *unhealthyRows,
) error {
	for i := range of.rows {
		if r := &of.rows[i]; r.Status() == state.StatusUnavailable {
			of.reached[r.ID.Agent()] = time.Time{}
		}
	}
	lane := ""
	for _, t := range tally { // sorted by lane
		agent := t.Agent
		if _, asked := of.reached[agent]; !asked || t.Agent == lane {
			continue
		}
		lane = t.Agent
		rows, err := s.Env.Engine.State.AgentRows(ctx, env, lane, true)
		if err != nil {
			return fault.Wrap(fault.Unknown, "read resources", err)
		}
		for i := range rows {
			if at := rows[i].SucceededAt; at.After(of.reached[agent]) {
				of.reached[agent] = at
			}
		}
	}
	return nil
}

// maxStanding bounds the number of agents and of types in Health.
const maxStanding = 100

// stand fills in how agents and types are doing.
func (h *Health) stand(tally []state.Tally) {
	h.Agents, h.MoreAgents = standings(tally, func(t *state.Tally) string {
		return t.Agent
	})
	h.Types, h.MoreTypes = standings(tally, func(t *state.Tally) string { return t.Type })
}

// standings sums counters by a name, and returns the worst, and how many more there are.
func standings(tally []state.Tally, name func(*state.Tally) string) ([]Standing, int) {
	by := map[string]*Standing{}
	for i := range tally {
		t := &tally[i]
		one := by[name(t)]
		if one == nil {
			one = &Standing{Name: name(t), Counts: map[state.Status]int{}}
			by[one.Name] = one
		}
		one.Count += t.Count
		one.Counts[t.Status] += t.Count
		if state.Worse(t.Status, one.Worst) {
			one.Worst = t.Status
		}
	}
	out := make([]Standing, 0, len(by))
	for _, one := range by {
		out = append(out, *one)
	}
	slices.SortFunc(out, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(state.Urgency(b.Worst), state.Urgency(a.Worst)),
			cmp.Compare(a.Name, b.Name))
	})
	n := min(len(out), maxStanding)
	return out[:n], len(out) - n
}

// missingValue describes the value that an undefined resource lacks.
type missingValue struct {
	parameter string      // its name; "" if the value is not a parameter
	owner     resource.ID // the resource whose fact it is; "" if it is none
	why       string      // why that fact will not become known, as an addition to a reason; "": it may
}

// maxOwners bounds for how many resources with lacking facts Health reads whether they exist, and
// their facts.
const maxOwners = 100

// explainFacts adds to the reasons of rows why a lacking fact will not become known: its resource does
// not exist, or is deployed and has recorded other facts.
func (s *Service) explainFacts(
	ctx context.Context, env string, rows []state.Row, lacks map[string]missingValue,
) error {
	reads := 0
	for _, what := range slices.Sorted(maps.Keys(lacks)) {
		l := lacks[what]
		if l.owner == "" || reads == maxOwners {
			continue
		}
		reads++
		row, err := s.Env.Engine.Row(ctx, env, l.owner)
		switch {
		case fault.Is(err, fault.NotFound):
			l.why = ": there is no such resource"
		case err != nil:
			return err
		case row.Status() == state.StatusDeployed:
			facts, err := s.Env.Engine.State.Parameters(ctx, env,
				state.ParameterQuery{Facts: true, Of: l.owner})
			if err != nil {
				return fault.Wrap(fault.Unknown, "read facts", err)
			}
			l.why = recorded(facts)
		}
		lacks[what] = l
	}
	for i := range rows {
		if r := &rows[i]; len(r.Missing) > 0 {
			r.Reason += lacks[r.Missing[0]].why
		}
	}
	return nil
}

// maxFacts bounds how many facts a reason names.
const maxFacts = 10

// recorded names the facts that a deployed resource has recorded, for a reason.
func recorded(facts []state.Parameter) string {
	if len(facts) == 0 {
		return ": that resource has recorded no facts; refer to one that records it"
	}
	names := make([]string, 0, len(facts))
	for i := range facts[:min(len(facts), maxFacts)] {
		names = append(names, strconv.Quote(facts[i].Name))
	}
	if more := len(facts) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return ": that resource has recorded " + strings.Join(names, ", ") + "; refer to one of these facts"
}

// recordMissing records the value that an undefined row lacks, unless another row lacks the same. A
// damaged row has no more than its reason.
func recordMissing(lacks map[string]missingValue, row *state.Row) {
	if row.Status() != state.StatusUndefined || len(row.Missing) == 0 {
		return
	}
	if _, known := lacks[row.Missing[0]]; known {
		return
	}
	if res, err := resource.Decode(row.Body); err == nil {
		lacks[row.Missing[0]] = firstMissing(res)
	}
}

// firstMissing returns the lacking value that the reason of an undefined resource names.
func firstMissing(res *resource.Resource) missingValue {
	if name := missingParameter(res); name != "" {
		return missingValue{parameter: name}
	}
	for _, ref := range resource.References(res.Attributes) {
		if f, is := ref.(resource.Fact); is {
			return missingValue{owner: f.Of}
		}
		if _, is := ref.(resource.Parameter); is {
			break
		}
	}
	return missingValue{}
}

func groupOf(g []*state.Row, of unhealthyRows) Group {
	r := g[0]
	var skipped []resource.ID
	for _, r := range g {
		skipped = append(skipped, of.because[r.ID]...)
	}
	slices.Sort(skipped)
	skipped = slices.Compact(skipped)
	out := Group{ID: r.ID, Status: r.Status(), Reason: r.Reason, NextAt: wire.TimeOrNil(r.Timer()),
		Count: len(g), NotDone: len(skipped),
		FirstNot: wire.OrEmpty(skipped[:min(len(skipped), maxNotDone)])}
	if out.Status == state.StatusUnavailable {
		out.Agent = r.ID.Agent()
		out.Since = wire.TimeOrNil(of.reached[out.Agent])
	}
	if len(r.Missing) > 0 {
		out.Parameter = of.lacks[r.Missing[0]].parameter
	}
	return out
}

// grouped groups rows that are unhealthy for the same reason, ignoring their own names and that of
// their agent in it. All rows of an unreachable agent are one group. The largest groups come first.
func grouped(rows []state.Row) [][]*state.Row {
	index := map[string]int{}
	var out [][]*state.Row
	for i := range rows {
		status, agent := rows[i].Status(), rows[i].ID.Agent()
		reason := string(status) + strings.ReplaceAll(rows[i].Reason, "["+agent+",", "[…,")
		if parts, err := resource.ParseID(string(rows[i].ID)); err == nil {
			for _, k := range parts.Keys {
				reason = strings.ReplaceAll(reason, k.Value, "…")
			}
		}
		if status == state.StatusUnavailable {
			reason = string(status) + agent
		}
		at, ok := index[reason]
		if !ok {
			at = len(out)
			index[reason] = at
			out = append(out, nil)
		}
		out[at] = append(out[at], &rows[i])
	}
	slices.SortStableFunc(out, func(a, b []*state.Row) int { return len(b) - len(a) })
	return out
}
