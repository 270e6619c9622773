package services

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// checkMove checks that a rollout moves an instance to the requested goal or leaves it unchanged.
// It also checks that only a move pins an instance to a model: I8.
func (r *run) checkMove(c *change) {
	if c.was == nil {
		return
	}
	was, is := c.was, c.is
	ended := c.by != nil && was.Rolling != nil && is.Rolling == nil
	moved := ended && is.Version != was.Version
	switch {
	case moved && (is.State != was.State || is.Version != was.Version+1 ||
		is.Definition != was.Rolling.Definition || !noted(is.Rollout, was.Rolling)):
		r.bench.Violate("I8", "%s is moved from %s at version %d to %s at %d", is.ID, was.State,
			was.Version, is.State, is.Version)
	case ended && !moved && !sameDesire(was, is):
		r.bench.Violate("I8", "%s is not moved, and is not as it was", is.ID)
	case ended && !moved && len(c.events) > 0:
		r.happened("move that is refused")
	case moved && was.Rolling.Back:
		r.happened("move back")
	case moved:
		r.happened("move")
	}
	if moved {
		r.forgetDropped(c)
	}
	exported := c.by != nil && is.Pinned == "" && is.Model == was.Pinned
	updated := c.wish != nil && is.Definition != was.Definition
	if is.Pinned != was.Pinned && !moved && !exported && !updated {
		r.bench.Violate("I8", "%s is pinned to %.6s in place of %.6s", is.ID, is.Pinned, was.Pinned)
	}
}

// noted reports whether a record names the requested move as its last move.
func noted(last *inventory.Rollout, m *inventory.Move) bool {
	return last != nil && last.Back == m.Back && (m.Back || last.To == m.Model)
}

// sameDesire reports whether the desired state of an instance is unchanged.
func sameDesire(was, is *inventory.Record) bool {
	return was.State == is.State && was.Version == is.Version && was.Desired == is.Desired &&
		was.Definition == is.Definition && was.Outcome == is.Outcome &&
		reflect.DeepEqual(was.Candidate, is.Candidate) && reflect.DeepEqual(was.Active, is.Active)
}

// forgetDropped drops requested attributes that a definition lacks.
func (r *run) forgetDropped(c *change) {
	s, ok := r.said[c.is.ID]
	if !ok {
		return
	}
	has := modifiersOf(&c.service)
	s.gives = maps.Clone(s.gives)
	maps.DeleteFunc(s.gives, func(name string, _ any) bool { return has[name] == "" })
	r.said[c.is.ID] = s
}

// checkModel checks that the resources of an instance are those of its model: I8.
func (r *run) checkModel(rec *inventory.Record) {
	if rec.Deleted || rec.Outcome != lifecycle.Deployed || rec.Model == "" || len(rec.Problems) > 0 {
		return
	}
	if last := rec.Rollout; last != nil {
		kind := "rest after a move"
		if last.Back {
			kind = "rest after a move back"
		}
		r.happened(kind)
	}
	// An instance that is exported along with others of its owner gets the model of that export. If
	// the instance is changed concurrently, its record lacks that model, and a rollout treats it as
	// behind.
	alone := rec.Service == "note" || rec.Service == "site" && !r.owns(rec.ID)
	if rec.Pinned != "" && rec.Model != rec.Pinned && alone && deployedBy(rec) == rec.Definition {
		r.bench.Violate("I8", "%s has resources of the model %.6s, and is pinned to %.6s", rec.ID,
			rec.Model, rec.Pinned)
	}
	if rec.Service != "site" || rec.Active == nil || !alone {
		return
	}
	text := fmt.Sprintf("%v%s %v %v", rec.Active["text"], r.models.byDigest[rec.Model].mark,
		rec.Active["fixed"], rec.Active["port"])
	for id, row := range r.rows() {
		if row.set == rec.ID && !row.Orphaned && id != page(claimed) && row.text != text {
			r.bench.Violate("I8", "%s of %s is to show %q, and %q in the model that it has", id, rec.ID,
				row.text, text)
		}
	}
}

// deployedBy returns the digest of the definition that the deployed set was made for. A pin applies
// only to the definition of the instance. A set that a rollback has restored may have another
// definition.
func deployedBy(rec *inventory.Record) string {
	made := rec.Made.Active
	if rec.Active == nil {
		made = rec.Made.Candidate
	}
	return cmp.Or(made, rec.Definition)
}

// owns reports whether a site has ever had a part.
func (r *run) owns(id string) bool {
	for _, i := range r.instances.look(env) {
		if i.record.Service == "part" && slices.ContainsFunc(i.versions, func(v inventory.Record) bool {
			return slices.Contains(v.References, id)
		}) {
			return true
		}
	}
	return false
}
