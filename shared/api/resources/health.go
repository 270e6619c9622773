package resources

import (
	"context"
	"maps"
	"slices"
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

// Health implements Home.
func (s *Service) Health(ctx context.Context, env string) (Health, error) {
	var rows []state.Row
	lacks := map[string]missingValue{} // by the unknown value, as named for people
	because := map[resource.ID][]resource.ID{}
	unhealthy := Unhealthy()
	reached := map[string]time.Time{} // when each agent was last reached
	err := s.Env.Engine.EachRow(ctx, env, state.Filter{}, func(r *state.Row) error {
		if at := r.SucceededAt; at.After(reached[r.ID.Agent()]) {
			reached[r.ID.Agent()] = at
		}
		switch s := r.Status(); {
		case !slices.Contains(unhealthy, s):
		case len(r.Causes) > 0 && r.Causes[0] != r.ID:
			for _, c := range r.Causes {
				because[c] = append(because[c], r.ID)
			}
		default:
			row := *r
			recordMissing(lacks, &row)
			row.Body = nil
			rows = append(rows, row)
		}
		return nil
	})
	out := Health{Groups: []Group{}, Single: []Problem{}}
	if err == nil {
		err = s.markMissingOwners(ctx, env, rows, lacks)
	}
	if err != nil {
		return out, err
	}
	for _, g := range grouped(rows) {
		if len(out.Groups) < maxGroups {
			out.Groups = append(out.Groups, groupOf(g, because, lacks, reached))
		}
		for _, r := range g {
			if len(out.Single) < maxSingle {
				out.Single = append(out.Single,
					Problem{r.ID, r.Status(), r.Reason, wire.TimeOrNil(r.NextAt),
						wire.OrEmpty(because[r.ID])})
			}
		}
	}
	return out, nil
}

// missingValue describes the value that an undefined resource lacks.
type missingValue struct {
	parameter string      // its name; "" if the value is not a parameter
	owner     resource.ID // the resource whose fact it is; "" if it is none
	noOwner   bool        // that resource does not exist
}

// maxOwners bounds for how many resources with lacking facts Health reads whether they exist.
const maxOwners = 100

// markMissingOwners marks the lacking facts of resources that do not exist: such a fact will never be
// known.
func (s *Service) markMissingOwners(
	ctx context.Context, env string, rows []state.Row, lacks map[string]missingValue,
) error {
	reads := 0
	for _, what := range slices.Sorted(maps.Keys(lacks)) {
		l := lacks[what]
		if l.owner == "" || reads == maxOwners {
			continue
		}
		reads++
		_, err := s.Env.Engine.Row(ctx, env, l.owner)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		l.noOwner = err != nil
		lacks[what] = l
	}
	for i := range rows {
		if r := &rows[i]; len(r.Missing) > 0 && lacks[r.Missing[0]].noOwner {
			r.Reason += ": there is no such resource"
		}
	}
	return nil
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

func groupOf(
	g []*state.Row, because map[resource.ID][]resource.ID, lacks map[string]missingValue,
	reached map[string]time.Time,
) Group {
	r := g[0]
	var skipped []resource.ID
	for _, r := range g {
		skipped = append(skipped, because[r.ID]...)
	}
	slices.Sort(skipped)
	skipped = slices.Compact(skipped)
	out := Group{ID: r.ID, Status: r.Status(), Reason: r.Reason, NextAt: wire.TimeOrNil(r.NextAt),
		Count: len(g), NotDone: len(skipped),
		FirstNot: wire.OrEmpty(skipped[:min(len(skipped), maxNotDone)])}
	if out.Status == state.StatusUnavailable {
		out.Agent = r.ID.Agent()
		out.Since = wire.TimeOrNil(reached[out.Agent])
	}
	if len(r.Missing) > 0 {
		out.Parameter = lacks[r.Missing[0]].parameter
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
