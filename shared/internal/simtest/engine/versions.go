package engine

import (
	"math/rand/v2"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// rollbacks releases earlier versions, and then later ones, in one plan in four.
func (d *drawer) rollbacks(rng *rand.Rand) {
	p := d.p
	if rng.IntN(4) != 0 {
		return
	}
	for range 1 + rng.IntN(4) {
		at := time.Duration(rng.Int64N(int64(p.End)))
		p.Ops = append(p.Ops, op{At: at, kind: opRelease, n: rng.Int64N(20)})
	}
	slices.SortStableFunc(p.Ops, func(a, b op) int { return int(a.At - b.At) })
}

// releaseVersion releases a stored version.
func releaseVersion(r *run, p *process, o *op) {
	if r.books.last == 0 {
		return
	}
	number := 1 + int(o.n)%r.books.last
	r.task(p, "Release", func(t *task) error {
		t.books.plain, t.books.releases = true, number
		t.books.inForce = len(r.books.inForce)
		out, err := p.engine.Release(taskContext{t}, env, number, state.Origin{})
		switch {
		case fault.Is(err, fault.NotFound) && r.state.read(env).versions[number].Number == 0:
			return nil // removed by a concurrent collection
		case err != nil:
			return err
		case out.Version != number:
			r.violate("V1", "%s was to release version %d, and says %d", t.name, number,
				out.Version)
		case !wasInForce(r, t, number):
			r.violate("V1", "%s says that version %d is released, and it is not", t.name, number)
		case r.books.released.number == number:
			noteExported(r, t, nil, r.books.released)
		}
		return nil
	})
}

// wasInForce reports whether a version was in force at any time since a task began.
func wasInForce(r *run, t *task, number int) bool {
	return slices.Contains(r.books.inForce[max(t.books.inForce-1, 0):], number)
}

// checkBase checks the version into which the next partial export is merged.
func checkBase(r *run, t *task, was, now *state.Env) {
	rolled := t.books.releases != 0 && now.Released == t.books.releases && now.Last == was.Last
	switch {
	case rolled && now.Released != was.Released && now.Released != now.Last &&
		now.Base != now.Released:
		r.violate("V1", "%s releases version %d of %d, and parts are merged into %d", t.name,
			now.Released, now.Last, now.Base)
	case now.Base != was.Base && now.Base != 0 && !rolled:
		r.violate("V1", "%s has parts merged into version %d from now on", t.name, now.Base)
	case now.Base != was.Base && now.Base == 0 && !rolled && t.books.export == nil:
		r.violate("V1", "%s has parts merged into version %d, and %d is in force", t.name, now.Last,
			now.Released)
	}
}

// noteExported records the start of the last export that resolved the references of each resource.
// An incomplete export is not recorded.
func noteExported(r *run, t *task, o *op, c *content) {
	about := map[resource.ID]bool{}
	if o != nil && o.target != "" {
		about = o.about(c)
	}
	for id, it := range c.entries {
		if o != nil && o.target != "" && !about[id] {
			continue
		}
		if o == nil || o.partial == nil || o.replaces(it.res.Set) {
			r.books.exported[id] = max(r.books.exported[id], t.began)
		}
	}
}
