package aws

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// The following functions report whether a result is explained by versions of the model, each part
// of the result by one version.

func versionsFit(vs []*version, out []state.Version) bool {
	got := map[int]state.Version{}
	for _, v := range out {
		got[v.Number] = v
	}
	want := map[int][]*state.Version{} // the values of each number; nil: absent
	numbers := map[int]bool{}
	for _, v := range vs {
		have, _ := v.state.Versions(bg, env)
		for _, x := range have {
			numbers[x.Number] = true
		}
	}
	for _, v := range vs {
		for n := range numbers {
			have, _ := v.state.Versions(bg, env, n)
			if len(have) > 0 {
				want[n] = append(want[n], &have[0])
			} else {
				want[n] = append(want[n], nil)
			}
		}
	}
	forgot := vs[0].side.forgot
	for n, list := range want {
		x, there := got[n]
		if !forgot[n] &&
			!slices.ContainsFunc(list,
				func(v *state.Version) bool {
					return (v != nil) == there &&
						(v == nil || reflect.DeepEqual(*v, x))
				}) {
			return false
		}
	}
	for n := range got {
		if want[n] == nil && !forgot[n] {
			return false
		}
	}
	return len(got) == len(out)
}

// agentsFit compares agents. The paused agents may be those of another version, because they are
// read separately.
func agentsFit(vs []*version, out map[string]state.Agent) bool {
	return some(vs, func(list *version) bool {
		return some(vs, func(paused *version) bool {
			want := map[string]state.Agent{}
			for name, a := range list.query().agents {
				if a.Paused = false; a.Name != "" && a.Transport != "" {
					want[name] = a
				}
			}
			for name, a := range paused.query().agents {
				if a.Paused {
					have := want[name]
					have.Name, have.Paused = name, true
					want[name] = have
				}
			}
			got := map[string]state.Agent{}
			for name, a := range out {
				if a.Paused || a.Transport != "" {
					got[name] = a
				}
			}
			return maps.EqualFunc(want, got,
				func(a, b state.Agent) bool { return reflect.DeepEqual(a, b) })
		})
	})
}

func leasesFit(vs []*version, out []state.Lease) bool {
	got := map[string]state.Lease{}
	for _, l := range out {
		got[l.Key] = l
	}
	keys := maps.Clone(got)
	for _, v := range vs {
		for key := range v.query().leases {
			keys[key] = state.Lease{}
		}
	}
	for key := range keys {
		l, there := got[key]
		if !some(vs, func(v *version) bool {
			have, is := v.query().leases[key]
			return is == there &&
				(!is || sameLease(have, l) && includes(v.side.running[key].may, l.Running))
		}) {
			return false
		}
	}
	return true
}

func (j *judge) rowsFit(o *op, out []state.Row) bool {
	switch in := o.in.(type) {
	case []resource.ID:
		vs := j.whole(o)
		for _, id := range in {
			at := slices.IndexFunc(out, func(r state.Row) bool { return r.ID == id })
			if !some(vs, func(v *version) bool {
				have := v.query().rows[id]
				return (have != nil) == (at >= 0) && (have == nil || sameRow(have, &out[at]))
			}) && !(at < 0 && moved(vs, id)) {
				return false
			}
		}
		return true
	case laneRowsIn:
		return laneRowsFit(j.during(o), in.lane, in.all, out)
	case scanIn:
		return scanFits(j.whole(o), in, out)
	}
	return false
}

func scanFits(vs []*version, in scanIn, out []state.Row) bool {
	if len(out) > in.limit ||
		!slices.IsSortedFunc(out, func(a, b state.Row) int { return compareIDs(a.ID, b.ID) }) {
		return false
	}
	last := resource.ID("\xff")
	if len(out) == in.limit {
		last = out[len(out)-1].ID
	}
	in1 := func(r state.Row) bool { return r.ID > in.after && r.ID <= last }
	for _, lane := range lanesOf(vs) {
		got := only(out, func(r state.Row) bool { return r.Lane == lane })
		if !some(vs, func(v *version) bool {
			return sameRows(only(v.query().lanes[lane],
				func(r state.Row) bool { return in1(r) && (!moved(vs, r.ID) || has(got, r.ID)) }),
				got)
		}) {
			return false
		}
	}
	return true
}

func has(rows []state.Row, id resource.ID) bool {
	return slices.ContainsFunc(rows, func(r state.Row) bool { return r.ID == id })
}

func only(rows []state.Row, f func(r state.Row) bool) []state.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r state.Row) bool { return !f(r) })
}

func compareIDs(a, b resource.ID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func scheduleFits(vs []*version, out state.Schedule) bool {
	return planFits(vs, out, instantOf(out),
		func(v *view, lane string) bool { return laneScheduled(v, lane, out) })
}

// instantOf returns a function that reports whether the lanes of a version may be read with a head
// for a schedule. They have to be of the same plan. The content of a single lane may be newer than
// the head: if it is, a later claim fails.
func instantOf(out state.Schedule) func(head, v *version) bool {
	if few(out) {
		return func(head, v *version) bool { return v.from >= head.from }
	}
	return samePlan
}

// samePlan reports whether no plan was committed between two versions.
func samePlan(a, b *version) bool {
	return a.query().env.Rev == b.query().env.Rev &&
		a.query().env.PlanSeq == b.query().env.PlanSeq
}

// planFits reports whether a schedule is explained. Its head has to be that of one version. Each
// lane has to fit a version that may be read with that head.
func planFits(
	vs []*version, out state.Schedule, may func(head, v *version) bool,
	fits func(v *view, lane string) bool,
) bool {
	return some(vs, func(head *version) bool {
		h := head.query()
		if h.env.PlanSeq != out.PlanSeq || h.env.Graph != out.Graph ||
			!reflect.DeepEqual(h.env.Wave, out.Wave) || h.env.Halted != out.Halted {
			return false
		}
		with := slices.DeleteFunc(slices.Clone(vs), func(v *version) bool { return !may(head, v) })
		for _, lane := range lanesOf(with) {
			if !some(with, func(v *version) bool { return fits(v.query(), lane) }) {
				return false
			}
		}
		return true
	})
}

// few reports whether a schedule has content of fewer than two lanes.
func few(out state.Schedule) bool {
	lanes := map[string]bool{}
	for _, t := range out.Tickets {
		lanes[t.Lane] = true
	}
	for lane := range out.Unfinished {
		lanes[lane] = true
	}
	return len(lanes) < 2
}

// laneScheduled reports whether a schedule matches the model in a lane.
func laneScheduled(v *view, lane string, out state.Schedule) bool {
	tickets := map[resource.ID]int64{}
	for _, r := range v.lanes[lane] {
		if r.Ticket() != 0 {
			tickets[r.ID] = r.Ticket()
		}
	}
	for _, t := range out.Tickets {
		if t.Lane != lane {
			continue
		}
		if tickets[t.ID] != t.N {
			return false
		}
		delete(tickets, t.ID)
	}
	return len(tickets) == 0 && unfinishedFits(v, lane, out)
}

// unfinishedFits reports whether a schedule matches the model in the unfinished rows of a wave in a
// lane.
func unfinishedFits(v *view, lane string, out state.Schedule) bool {
	want, left := v.schedule.Unfinished[lane]
	got, is := out.Unfinished[lane]
	if v.env.Wave.Epoch != out.Wave.Epoch { // the lane is newer than the head
		return is == (out.Wave.Epoch > 0 && wanted(v.lanes[lane]) &&
			v.leases[lane].Wave < out.Wave.Epoch)
	}
	return left == is && slices.Equal(want, got)
}

// wanted reports whether one of some rows is not orphaned.
func wanted(rows []state.Row) bool {
	return slices.ContainsFunc(rows, func(r state.Row) bool { return !r.Orphaned })
}

func finishedFits(vs []*version, in finishedIn, out []resource.ID) bool {
	for _, id := range in.ids {
		there := slices.Contains(out, id)
		if !some(vs, func(v *version) bool {
			want, _ := v.state.Finished(bg, env, []resource.ID{id}, in.epoch)
			return (len(want) > 0) == there
		}) && !(there && moved(vs, id)) {
			return false
		}
	}
	return true
}

// dueFits searches a version for each lane such that together they give the result.
func dueFits(vs []*version, in dueIn, out dueOut) bool {
	ids := map[resource.ID]bool{}
	for _, id := range out.ids {
		ids[id] = true
	}
	exact, found := out.next.IsZero(), 0
	for _, lane := range lanesOf(vs) {
		ok := false
		for _, v := range vs {
			due, next := 0, time.Time{}
			fits := true
			for _, r := range v.query().lanes[lane] {
				switch {
				case r.Timer().IsZero():
					fits = fits && !ids[r.ID] || inOther(vs, r.ID, lane)
				case r.Timer().After(in.at):
					fits = fits && !ids[r.ID] || inOther(vs, r.ID, lane)
					if next.IsZero() || r.Timer().Before(next) {
						next = r.Timer()
					}
				default:
					due++
					fits = fits && (ids[r.ID] || inOther(vs, r.ID, lane))
				}
			}
			if !fits || !(next.IsZero() || !out.next.IsZero() && !next.Before(out.next)) {
				continue
			}
			ok = true
			exact = exact || next.Equal(out.next)
		}
		if !ok {
			return false
		}
	}
	for id := range ids {
		if some(vs, func(v *version) bool {
			r := v.query().rows[id]
			return r != nil && !r.Timer().IsZero() && !r.Timer().After(in.at)
		}) {
			found++
		}
	}
	return exact && found == len(ids) && len(ids) == len(out.ids)
}

// inOther reports whether a row was also in another lane.
func inOther(vs []*version, id resource.ID, lane string) bool {
	return some(vs,
		func(v *version) bool { r := v.query().rows[id]; return r != nil && r.Lane != lane })
}

// countsFit searches a version for each lane such that the sums are the result.
func countsFit(vs []*version, out map[state.Status]int) bool {
	sums := []map[state.Status]int{{}}
	for _, lane := range lanesOf(vs) {
		var more []map[state.Status]int
		for _, v := range vs {
			counts := map[state.Status]int{}
			for _, r := range v.query().lanes[lane] {
				counts[r.Status()]++
			}
			for _, s := range sums {
				sum := maps.Clone(s)
				for status, n := range counts {
					sum[status] += n
				}
				if !slices.ContainsFunc(more,
					func(m map[state.Status]int) bool { return maps.Equal(m, sum) }) {
					more = append(more, sum)
				}
			}
		}
		sums = more
	}
	return slices.ContainsFunc(sums,
		func(m map[state.Status]int) bool { return maps.Equal(m, out) })
}

func outboxFits(vs []*version, out []state.Outbox) bool {
	got := map[string]state.Outbox{}
	for _, o := range out {
		got[o.ID] = o
	}
	all := maps.Clone(got)
	lists := make([]map[string]state.Outbox, len(vs))
	for i, v := range vs {
		have, _ := v.state.Outbox(bg, env, 1<<30)
		lists[i] = map[string]state.Outbox{}
		for _, o := range have {
			lists[i][o.ID], all[o.ID] = o, o
		}
	}
	for id := range all {
		o, there := got[id]
		if !slices.ContainsFunc(lists,
			func(l map[string]state.Outbox) bool {
				have, is := l[id]
				return is == there &&
					(!is || have == o)
			}) {
			return false
		}
	}
	return len(got) == len(out)
}

func actionsFit(vs []*version, q state.ActionQuery, out []state.Action) bool {
	limit := q.Limit
	q.Limit = 0
	least := ""
	if limit > 0 && len(out) == limit {
		least = out[len(out)-1].ID
	}
	got := map[string]state.Action{}
	for _, a := range out {
		got[a.ID] = a
	}
	all := maps.Clone(got)
	lists := make([]map[string]state.Action, len(vs))
	for i, v := range vs {
		have, _ := v.state.Actions(bg, env, q)
		lists[i] = map[string]state.Action{}
		for _, a := range have {
			lists[i][a.ID], all[a.ID] = a, a
		}
	}
	horizon := vs[0].side.horizon
	for id, a := range all {
		g, there := got[id]
		if id < least || !there && a.Finished.Before(horizon) {
			continue
		}
		if !slices.ContainsFunc(lists, func(l map[string]state.Action) bool {
			have, is := l[id]
			return is == there &&
				(!is || have.Resource == g.Resource && have.Finished.Equal(g.Finished))
		}) {
			return false
		}
	}
	return len(got) == len(out) &&
		slices.IsSortedFunc(out, func(a, b state.Action) int { return -compareText(a.ID, b.ID) })
}

func compareText(a, b string) int { return compareIDs(resource.ID(a), resource.ID(b)) }
