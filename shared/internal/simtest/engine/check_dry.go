package engine

import (
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// restDryRun makes a dry run of a deploy of everything, and compares its result with the world,
// which it must not change.
func restDryRun(r *run) bool {
	c := r.books.released
	if c == nil {
		return true
	}
	r.tracef("--- what is left, by a dry run")
	began, since := r.time(), r.sched.now
	p := r.process()
	var out deploy.DryRun
	var failed error
	r.task(p, "DryRun", func(t *task) error {
		t.books.dry = true
		out, failed = p.engine.DryRun(taskContext{t}, env, 0)
		return failed
	})
	if finishUp(r); r.violation != nil || failed != nil {
		return r.violation == nil
	}
	recorded := map[resource.ID]bool{}
	for _, a := range r.state.read(env).actions {
		if a.Action == state.ActionDryRun && a.Version == c.number && !a.Started.Before(began) {
			recorded[a.Resource] = true
		}
	}
	covered, told, order := 0, map[resource.ID]verdict{}, orderOf(c, nil)
	for i := range out.Planned {
		w := &out.Planned[i]
		told[w.ID] = checkPlannedChange(r, c, order, w, since, told, recorded[w.ID])
		if w.Action != "undefined" && len(awaitedBy(w)) == 0 && (!w.Failed || isSkip(w)) {
			covered++
		}
	}
	if len(told) != len(c.ids) || out.Covered != covered || out.Version != c.number {
		r.violate("dry",
			"a dry run of version %d says %d of its %d resources, of version %d, and %d covered "+
				"of %d", c.number, len(told), len(c.ids), out.Version, out.Covered, covered)
	}
	return r.violation == nil
}

// verdict is the evaluation of a dry run's result for a resource. lacks: its dependants would be
// skipped. known is false if the simulation cannot decide.
type verdict struct {
	lacks, known bool
	said         *deploy.PlannedChange
}

// isSkip reports whether a dry run expects a resource to be skipped.
func isSkip(w *deploy.PlannedChange) bool {
	return w.Failed && strings.HasPrefix(w.Reason, "would be skipped")
}

// checkPlannedChange compares the result for one resource of a dry run that began at since with the
// world.
func checkPlannedChange(r *run,
	c *content,
	order *effective,
	w *deploy.PlannedChange,
	since time.Duration,
	told map[resource.ID]verdict,
	recorded bool,
) verdict {
	it := c.entries[w.ID]
	if it == nil {
		r.violate("dry", "a dry run tells of %s, which is not in version %d", w.ID, c.number)
		return verdict{}
	}
	n := order.index[w.ID]
	skipped, unsure := false, false
	for i, q := range order.ids {
		if order.needs[n]&(1<<i) == 0 {
			continue
		}
		v, have := told[q]
		if !have {
			r.violate("dry", "a dry run tells of %s before %s, which it requires", w.ID, q)
		}
		skipped = skipped || v.known && v.lacks && !it.res.ReportOnly
		unsure = unsure || !v.known && !it.res.ReportOnly
	}
	blocked := slices.ContainsFunc(order.ids, func(q resource.ID) bool {
		said := told[q].said
		return order.needs[n]&(1<<order.index[q]) != 0 && said != nil && said.Action == "undefined"
	})
	if open := openIn(r, c, w.ID); blocked || len(open) > 0 {
		return checkOpen(r, c, w, open, blocked, told)
	}
	if !recorded {
		r.violate("dry", "a dry run keeps no record of %s", w.ID)
	}
	action, fails, known := wouldDo(r, w.ID, it, since)
	differs := action != "none"
	if it.res.ReportOnly && !fails {
		action = "none" // only the differences are reported
	}
	stays := fails || skipped
	switch {
	case !known || unsure && !stays:
	case w.Failed != stays, skipped && !fails && !isSkip(w), !fails && w.Action != action:
		r.violate("dry", "a dry run says %s of %s (failed: %v, %s; %v), and it is %s (failed: %v, "+
			"skipped: %v)", w.Action, w.ID, w.Failed, w.Reason, w.Changes, action, fails, skipped)
	case !fails && (len(w.Changes) > 0) != differs:
		r.violate("dry", "a dry run says %s of %s and %d changes", w.Action, w.ID, len(w.Changes))
	}
	return verdict{stays || it.res.ReportOnly && differs, stays || known && !unsure, w}
}

// awaitedBy returns the facts that a planned change waits for.
func awaitedBy(w *deploy.PlannedChange) []deploy.AwaitedFact {
	return slices.DeleteFunc(slices.Clone(w.KnownAfter),
		func(f deploy.AwaitedFact) bool { return f.MayChange })
}

// checkOpen checks the result for a resource of which something is not known: the open references, or
// values of a requirement. It is known after a deploy if that learns all of them, and undefined else.
func checkOpen(r *run, c *content, w *deploy.PlannedChange, open []any, blocked bool,
	told map[resource.ID]verdict) verdict {
	learned, sure, named := !blocked, true, awaitedBy(w)
	for _, ref := range open {
		from := learnedFrom(ref)
		is := from != ""
		known, certain := is && learns(r, told[from].said), true
		if of := told[from].said; is && of != nil {
			certain = !of.Failed && !c.entries[from].res.ReportOnly
		}
		learned, sure = learned && (known || !certain), sure && certain
		if w.Action != "undefined" && !slices.ContainsFunc(named, func(a deploy.AwaitedFact) bool {
			f, fact := factIn(ref)
			return is && a.Of == from && a.Fact == f.Name && fact == (a.Output == "")
		}) {
			r.violate("dry", "a dry run says %s of %s, and does not name %v", w.Action, w.ID, ref)
		}
	}
	switch undefined := w.Action == "undefined"; {
	case undefined && w.Reason == "", !undefined && len(named) > len(open),
		sure && undefined == learned, !learned && !undefined:
		r.violate("dry", "a dry run says %s of %s, of which something is not known (%s, %v)",
			w.Action, w.ID, w.Reason, named)
	case !undefined:
		return verdict{lacks: w.Failed, known: w.Failed, said: w}
	}
	return verdict{known: true, said: w}
}

// learns reports whether a deploy learns the facts of a resource of which a dry run has said of; nil:
// nothing.
func learns(r *run, of *deploy.PlannedChange) bool {
	if of == nil || of.Failed {
		return false
	}
	if of.Action != "none" {
		return of.Action == "create" || of.Action == "update"
	}
	row := r.state.read(env).rows[of.ID]
	return of.ID.Type() == typeThing && (row == nil || row.FactsRead == 0)
}

// openIn returns the parameters and facts without a value to which a resource refers in a version.
func openIn(r *run, c *content, id resource.ID) []any {
	it := c.entries[id]
	if it == nil {
		return nil
	}
	var out []any
	for _, ref := range resource.References(it.res.Attributes) {
		if it.res.Purged && resource.IsFollowed(ref) {
			continue // its handler finds the object without the text
		}
		switch ref.(type) {
		case resource.Parameter, resource.Fact:
			if _, known := valueOf(r.state.read(env), ref); !known {
				out = append(out, ref)
			}
		case resource.Secret:
			if o, _, is := outputIn(ref); is && r.state.read(env).kept[o.Of].Outputs == "" {
				out = append(out, ref)
			}
		}
	}
	return out
}

// knownIn returns a resource of a version, encoded, with the values of parameters and facts that are
// known.
func knownIn(r *run, it *item) []byte {
	res := *it.res
	attributes, _ := resource.Walk(res.Attributes, func(ref any) (any, error) {
		if text, known := valueOf(r.state.read(env), ref); known {
			return text, nil
		}
		return ref, nil
	})
	res.Attributes, _ = attributes.(map[string]any)
	body, err := res.Encode()
	if err != nil {
		r.violate("V1", "%s does not encode: %v", res.ID, err)
	}
	return body
}

// wouldDo computes the effect of a deploy. fails is true if the object cannot be read, or cannot be
// changed as required. known is false if the effect cannot be determined, for example if the object
// was changing at since or later.
func wouldDo(
	r *run, id resource.ID, it *item, since time.Duration,
) (action string, fails, known bool) {
	for _, ref := range resource.References(it.res.Attributes) {
		if s, is := ref.(resource.Secret); is && s.Version == "" {
			return "", false, false
		}
	}
	t := r.world.thing(id)
	have, exists := t.observe(r.sched.now)
	if _, keeps := r.state.read(env).kept[id]; id.Type() == typeIssuer && !keeps {
		have.v = 0
	}
	want, purged := wantedOf(r, &state.Row{ID: id, Intent: state.Intent{Body: knownIn(r, it)}})
	switch {
	case t.pending != nil || t.busyUntil > since:
		return "", false, false
	case t.fail(true) != nil:
		return "", true, true
	case purged && exists:
		return "delete", false, true
	case purged: // remains of a replacement are deleted by identity, even if gone
		return "none", false, id.Type() != typeSwap
	case !exists:
		return "create", false, true
	case have.fits(want):
		return "none", false, want.key == 0 // whether the key counts as written is not observable
	}
	stays := want.fixed != 0 && have.fixed != want.fixed && !replaces(id)
	return "update", stays || isPrevented(r, id, it.res, have, want), true
}
