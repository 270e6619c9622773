package engine

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// targets makes targeted exports in one plan in four.
func (d *drawer) targets(rng *rand.Rand) {
	if rng.IntN(4) != 0 && (d.focus == nil || !d.focus.targeted) {
		return
	}
	for i := range d.p.Ops {
		o := &d.p.Ops[i]
		if o.kind != opExport || o.At == 0 || o.partial != nil || o.noRelease || rng.IntN(3) == 0 {
			continue
		}
		s := d.pool[rng.IntN(len(d.pool))]
		o.target = []string{"agent=" + s.id.Agent(), "type=" + s.id.Type(), "set=" + s.set,
			string(s.id)}[rng.IntN(4)]
		o.later, o.check = rng.IntN(3) == 0, o.check || rng.IntN(2) == 0
	}
}

// aim sets the filter of an operation in its export.
func (o *op) aim(x *deploy.Export) {
	x.CheckAgents = o.at
	if o.target == "" {
		return
	}
	f, err := state.ParseFilter([]string{o.target})
	if err != nil {
		panic(err)
	}
	x.Target, x.Defer = f, o.later
}

// checked reports whether an operation with a target requests a check of a resource.
func (o *op) checked(s *spec) bool {
	if o.at != nil {
		return slices.Contains(o.at, s.id.Agent())
	}
	return o.target != "" && o.hits(s.id, s.set)
}

// hits reports whether the filter of an operation selects a resource.
func (o *op) hits(id resource.ID, set string) bool {
	key, value, _ := strings.Cut(o.target, "=")
	switch key {
	case "agent":
		return id.Agent() == value
	case "type":
		return id.Type() == value
	case "set":
		return set == value
	}
	return string(id) == o.target
}

// about returns the resources of a targeted export, including requirements of its model, if base is
// in force.
func (o *op) about(base *content) map[resource.ID]bool {
	out := map[resource.ID]bool{}
	if base != nil {
		for id, it := range base.entries {
			out[id] = o.hits(id, it.res.Set)
		}
	}
	for i := range o.model {
		s := &o.model[i]
		out[s.id] = out[s.id] || o.hits(s.id, s.set)
	}
	for range o.model { // each resource requires only earlier ones, so this suffices
		for i := range o.model {
			if s := &o.model[i]; out[s.id] {
				for _, id := range append(slices.Clone(s.requires), o.factOf(s)...) {
					out[id] = true
				}
			}
		}
	}
	return out
}

// factOf returns the resource to whose fact or secret output a spec refers, if the model has it.
func (o *op) factOf(s *spec) []resource.ID {
	of := learnedFrom(s.text)
	if of != "" && slices.ContainsFunc(o.model, func(o spec) bool { return o.id == of }) {
		return []resource.ID{of}
	}
	return nil
}

// refusable reports whether a targeted export may be refused with an error, which depends on the
// rest of the model.
func refusable(o *op, err error) bool {
	return o.target != "" && (errors.As(err, new(diag.Problems)) || fault.Is(err, fault.Invalid))
}

// fingerprint detects that a row was written. The revision alone is not sufficient for a row that
// was removed and created again.
type fingerprint struct {
	rev, ticket int64
	action      string
}

// fingerprintOf returns the fingerprint of the row of a resource. It is the zero value if there is
// no row, or if the resource may not run.
func fingerprintOf(r *run, id resource.ID) fingerprint {
	row := r.state.read(env).rows[id]
	if row == nil || row.Orphaned || row.Comparison() == state.Undefined ||
		row.Block() == state.BlockedYes || row.Block() == state.NeedsDecision {
		return fingerprint{}
	}
	return fingerprint{row.Rev, row.Ticket(), row.LastAction}
}

// fingerprints returns the fingerprints of the rows whose check a targeted export requests.
func fingerprints(r *run, o *op) map[resource.ID]fingerprint {
	out := map[resource.ID]fingerprint{}
	if !o.check {
		return out
	}
	for i := range o.model {
		if s := &o.model[i]; o.checked(s) {
			out[s.id] = fingerprintOf(r, s.id)
		}
	}
	return out
}

// checkFingerprints checks that all requested checks were scheduled.
func checkFingerprints(r *run, t *task, was map[resource.ID]fingerprint) {
	for id, before := range was {
		if before.rev != 0 && fingerprintOf(r, id) == before {
			r.violate("target", "%s was to have %s checked, and has not asked for it", t.name, id)
		}
	}
}

// checkTargeted compares the version of a targeted export with the documents and with the version
// in force.
func checkTargeted(r *run, t *task, o *op, number int, c *content) {
	base := r.books.released
	if base == nil && number != 0 || base != nil && base.number != number {
		r.violate("target", "%s makes version %d of version %d, which is not in force", t.name,
			c.number, number)
		return
	}
	about := o.about(base)
	mine := map[resource.ID]bool{}
	x := exportOf(r, o)
	for i := range x.Model.Resources {
		mine[x.Model.Resources[i].ID] = true
	}
	// By its type, a resource outside the model may be a requirement, too.
	ours := func(ids []resource.ID) []resource.ID {
		return slices.DeleteFunc(slices.Clone(ids), func(id resource.ID) bool { return !mine[id] })
	}
	for i := range x.Model.Resources {
		w := &x.Model.Resources[i]
		have := c.entries[w.ID]
		switch {
		case !about[w.ID]:
			if have != nil && (base == nil || base.entries[w.ID] == nil) {
				r.violate("target", "%s: version %d has %s, which is new and not targeted", t.name,
					c.number, w.ID)
			}
		case have == nil:
			r.violate("target", "%s: version %d lacks %s", t.name, c.number, w.ID)
		case have.res.Attributes["v"] != w.Attributes["v"] || have.res.Flags != w.Flags,
			!slices.Equal(ours(have.res.Requires), ours(c.tied(w))),
			!slices.Equal(ours(have.res.Subscriptions), ours(c.subscribed(w))):
			r.violate("target", "%s: version %d has %s as %s, which is not what was exported",
				t.name, c.number, w.ID, have.body)
		}
	}
	if base != nil {
		checkOthers(r, t, o, base, c, about, mine)
	}
}

// checkOthers checks the effect of a targeted export on the resources of the version in force.
func checkOthers(r *run, t *task, o *op, base, c *content, about, mine map[resource.ID]bool) {
	rows := r.state.read(env).rows
	for id, was := range base.entries {
		now := c.entries[id]
		switch {
		case about[id] && mine[id]:
		case about[id]:
			if now != nil && !(o.later && c.requires(id)) {
				r.violate("target", "%s: version %d has %s, which was to leave", t.name, c.number,
					id)
			}
		case now == nil && c.entryOf(id) != "": // moved with its target
		case now == nil:
			r.violate("target", "%s: version %d lacks %s, which is not targeted", t.name, c.number,
				id)
		case now.res.Flags != was.res.Flags || now.res.Attributes["v"] != was.res.Attributes["v"],
			now.hash != was.hash && !valuesOf(rows[id], was, now):
			r.violate("target", "%s: version %d has %s as %s, and it was %s and is not targeted",
				t.name, c.number, id, now.body, was.body)
		}
	}
}

// valuesOf reports whether two versions of a resource differ at most by values of references, and
// the later has those that its row has: facts as references, parameters as values.
func valuesOf(row *state.Row, was, now *item) bool {
	if row == nil || len(resource.References(was.res.Attributes)) == 0 {
		return false
	}
	have, err := resource.Decode(row.Body)
	return row.Hash == now.hash || err == nil && !resource.Equal(was.res.Attributes, now.res.Attributes) &&
		resource.Equal(have.Written().Attributes, now.res.Attributes)
}

// requires reports whether a resource in a version requires a given one.
func (c *content) requires(id resource.ID) bool {
	for _, it := range c.entries {
		if slices.Contains(it.res.Requires, id) {
			return true
		}
	}
	return false
}

// checkNotTargeted checks that the release of a targeted export leaves other resources unchanged;
// old is the version in force before. During a check of everything, the export may request such a
// resource again, because the lane may advance after the planner has read the progress of the
// check.
func checkNotTargeted(
	r *run, t *task, old *content, c *state.Commit, out *state.Committed, b before,
) {
	book := t.books.export
	if book == nil || book.op.target == "" || c.Env == nil || c.Env.Released == b.env.Released ||
		b.env.Releasing != 0 {
		return
	}
	about := book.op.about(old)
	written(c, out, func(row *state.Row) {
		was, had := b.rows[row.ID]
		switch {
		// an undefined resource receives values that are known by now
		case about[row.ID], about[otherOf(row.ID)] && row.ID.Type() == typeLabel,
			had && was.Comparison() == state.Undefined:
		case !had || row.Hash != was.Hash || row.Orphaned != was.Orphaned ||
			row.Removing != was.Removing:
			r.violate("target", "%s changes %s, which is not targeted", t.name, row.ID)
		case row.Ticket() != was.Ticket() && was.Ticket() == 0 && asWanted(&was) &&
			was.Block() == state.NotBlocked && string(row.Body) == string(was.Body) &&
			!row.WantFacts() &&
			!t.books.waving:
			r.violate("target", "%s asks for %s, which is not targeted", t.name, row.ID)
		}
	})
}
