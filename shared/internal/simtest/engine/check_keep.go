package engine

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// The defaults of an environment whose settings are empty.
const (
	versionsKept = 100
	actionsKept  = 7 * 24 * time.Hour
	fileGrace    = 24 * time.Hour
)

// filesInUse returns the files that are referred to by the version in force, a visible version, or
// the row of a resource that left the model.
func filesInUse(r *run) map[string]bool {
	e := r.state.read(env)
	used := map[string]bool{}
	for _, h := range version.GraphFiles(e.env.Graph) {
		used[h] = true
	}
	for n, v := range e.versions {
		if n <= e.env.Last {
			for _, list := range [][]string{v.Chunks, v.Files} {
				for _, h := range list {
					used[h] = true
				}
			}
		}
	}
	for _, row := range e.rows {
		if !bytes.Contains(row.Body, []byte(`"file"`)) {
			continue
		}
		if res, err := resource.Decode(row.Body); err == nil {
			for _, ref := range resource.References(res.Attributes) {
				if f, is := ref.(resource.File); is {
					used[f.Hash] = true
				}
			}
		}
	}
	return used
}

// checkCollected checks invariant V2: a removed file is not referred to, and is older than the
// grace period. A file stored since the collection began may be removed, since another process may
// have removed it before. An export that finds its file removed returns an error.
func checkCollected(r *run, hashes []string) {
	t := r.sched.cur
	used, grace := filesInUse(r), t.books.grace
	for _, h := range hashes {
		switch have, stored := r.files.stored[h]; {
		case used[h]:
			r.violate("V2", "file %s is removed, and something refers to it", h)
		case stored && r.time().Sub(have.at) < grace && r.since(have.at) < t.began:
			r.violate("V2",
				"file %s is removed, which was stored %s ago: an export may be about to refer to it", h, r.time().Sub(have.at))
		}
	}
}

// restCollected runs a collection, and checks that it removes exactly the unused data.
func restCollected(r *run) bool {
	r.tracef("--- what is left, after a collection")
	p := r.process()
	r.sched.now += 2 * time.Minute // recently stored files are kept
	r.task(p, "Collect", func(t *task) error {
		t.books.grace = time.Minute
		_, err := p.engine.Collect(taskContext{t}, env, t.books.grace)
		return err
	})
	if finishUp(r); r.violation != nil {
		return false
	}
	e := r.state.read(env)
	keep := e.env.Settings.KeepVersions
	if keep == 0 {
		keep = versionsKept
	}
	for n := range e.versions {
		if n <= e.env.Last-keep && n != e.env.Released {
			r.violate("gc", "version %d of %d is kept, and only %d are to be", n, e.env.Last, keep)
		}
	}
	used := filesInUse(r)
	for _, h := range slices.Sorted(maps.Keys(r.files.stored)) {
		if !used[h] {
			r.violate("gc", "file %s is kept, and nothing refers to it", h)
		}
	}
	checkFacts(r)
	return r.violation == nil
}

// checkForgotten checks that only versions beyond the retention are removed.
func checkForgotten(r *run, t *task, c *state.Commit) {
	e := r.state.read(env)
	keep := e.env.Settings.KeepVersions
	if keep == 0 {
		keep = versionsKept
	}
	for _, n := range c.Forget {
		if n == e.env.Released {
			r.violate("V2", "%s forgets version %d, which is released", t.name, n)
		} else if n > e.env.Last-keep {
			r.violate("V2", "%s forgets version %d of %d, and %d are to be kept", t.name, n,
				e.env.Last, keep)
		}
	}
}
