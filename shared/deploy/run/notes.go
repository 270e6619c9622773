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

// identityOf returns the read-only attributes of a thing, in the form that notes have. They
// distinguish an old thing from a new one.
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

// old returns the things that are still to be deleted: the things in the notes, except for the
// thing that was read.
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

// witness returns a digest of the intended value of an attribute and of how its agent is reached.
// For a secret, it covers only the name and the version.
func (t *task) witness(attribute string) string {
	value, err := resource.CanonicalValue(
		map[string]any{
			"options":   t.agent.Options,
			"transport": t.agent.Transport,
			"value":     t.res.Attributes[attribute],
		},
	)
	if err != nil {
		return "" // never equal to a stored witness: the attribute is written again
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

// unwritten adds write-only attributes to the differences whose intended values have not been
// written.
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
	if names := r.writeOnly(); len(names) > 0 && !r.want.Purged {
		n.Written = make(map[string]string, len(names))
		for _, name := range names {
			n.Written[name] = r.witness(name)
		}
	}
	return n.Encode()
}

// note completes the data that has to be stored before a run acts, and reports whether there is
// any. This data is:
//
//   - the token of a create whose outcome cannot be read from the real thing
//   - the things that it replaces
//   - facts that the handler remembers
//   - the removal of the witnesses of attributes that it will write
func (r *Run) note() bool {
	first := r.act == diff.Created || CreatesFirst(r)
	r.Facts = remembered(r)
	needed := len(r.Facts) > 0
	if r.notes.Deleting && (first || !r.replaces && r.act != diff.Purged) {
		// the state belongs to the delete, which has ended, or is repeated after a create
		r.ctx = r.ctx.WithState(nil)
	}
	r.notes.Deleting = false
	if r.typ.Assigned && first && (r.token == "" || r.found && r.replaces) {
		r.token, needed = r.ID, true // the found thing is made: another create needs another token
	}
	if CreatesFirst(r) {
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
