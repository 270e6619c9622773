package run

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// identityOf returns what is only reported of a thing, in the form that notes have: by that an old
// one is told from a new one.
func (r *Run) identityOf(observed map[string]any) map[string]any {
	out := map[string]any{}
	for i := range r.typ.Attributes {
		a := &r.typ.Attributes[i]
		v, err := resource.FromGo(observed[a.Name])
		if a.Behaviour != schema.ReadOnly || a.Sensitive || v == nil || err != nil ||
			!resource.Equal(v, r.host.redactAny(v)) {
			continue
		}
		out[a.Name] = v
	}
	return out
}

// old returns the things that are still to be deleted: those that the notes name and that is not
// what was read.
func (r *Run) old() []map[string]any {
	if len(r.notes.Old) == 0 {
		return nil
	}
	seen := r.identityOf(r.seen.Attributes)
	return slices.DeleteFunc(
		slices.Clone(r.notes.Old),
		func(o map[string]any) bool { return r.seen.Exists && resource.Equal(o, seen) },
	)
}

// witness identifies what a resource says of an attribute and how its agent is reached. Of a secret
// it knows the name and the version only.
func (t *task) witness(attribute string) string {
	value, err := resource.CanonicalValue(
		map[string]any{
			"options":   t.agent.Options,
			"transport": t.agent.Transport,
			"value":     t.res.Attributes[attribute],
		},
	)
	if err != nil {
		return "" // never the witness of what was written: it is written once more
	}
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:16])
}

// writeOnly names the write-only attributes that the resource sets.
func (t *task) writeOnly() []string {
	var out []string
	for i := range t.typ.Attributes {
		if a := &t.typ.Attributes[i]; a.Behaviour == schema.WriteOnly &&
			t.want.Attributes[a.Name] != nil {
			out = append(out, a.Name)
		}
	}
	return out
}

// unwritten adds to the differences the write-only attributes that were not written as they are
// wanted.
func (r *Run) unwritten() {
	for _, name := range r.writeOnly() {
		if w := r.witness(name); w != "" && r.notes.Written[name] == w {
			continue
		}
		if r.diff == nil {
			r.diff = map[string]diff.Diff{}
		}
		r.diff[name] = diff.Diff{Desired: r.want.Attributes[name]}
	}
}

// written returns the notes of a run that ended well.
func (r *Run) written() []byte {
	n := state.Notes{}
	if r.ReportOnly { // it has only been compared
		n.Left = r.notes.Left
	}
	if names := r.writeOnly(); len(names) > 0 && !r.want.Purged {
		n.Written = make(map[string]string, len(names))
		for _, name := range names {
			n.Written[name] = r.witness(name)
		}
	}
	return n.Encode()
}

// note completes what has to be stored before a run acts, and reports whether it is something: the
// token of a create whose outcome could not be told from the real thing, what it replaces, facts that
// the handler remembers, and that nobody knows any more what was written.
func (r *Run) note() bool {
	first := r.act == diff.Created || r.replaces && r.typ.CreateFirst
	r.Facts = remembered(r)
	needed := len(r.Facts) > 0
	if r.notes.Deleting && !r.replaces && r.act != diff.Purged {
		r.ctx = r.ctx.WithState(nil) // it is that of the delete, which has ended
	}
	r.notes.Deleting = false
	if r.typ.Assigned && first && (r.token == "" || r.found && r.replaces) {
		r.token, needed = r.ID, true // what was found is made: another create is another
	}
	if r.replaces && r.typ.CreateFirst {
		if old := append(r.old(), r.identityOf(r.seen.Attributes)); len(old) != len(r.notes.Old) ||
			needed {
			r.notes.Old, needed = old, true
		}
	}
	for _, name := range r.writeOnly() {
		_, differs := r.diff[name]
		if _, known := r.notes.Written[name]; known &&
			(differs || r.act == diff.Created || r.replaces) {
			r.notes.Written = maps.Clone(r.notes.Written)
			delete(r.notes.Written, name)
			needed = true
		}
	}
	return needed
}
