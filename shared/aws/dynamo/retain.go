package dynamo

import (
	"context"
	"maps"
	"slices"
	"time"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/fault"
)

// DropActions implements state.State. It raises the horizon, which hides all actions that finished
// earlier. Then it removes pages that hold only such actions, or only logged actions, unless a
// tablet still needs the page. Logged actions expire in the log.
func (s *actions) DropActions(ctx context.Context, env string, before time.Time) (int, error) {
	const tries = 5
	for try := 1; ; try++ {
		n, err := s.dropActions(ctx, env, before)
		if fault.Is(err, fault.NotFound) && try < tries { // concurrent merges remove pieces
			continue
		}
		return n, err
	}
}

func (s *actions) dropActions(ctx context.Context, env string, before time.Time) (int, error) {
	was, err := s.readHead(ctx, env)
	if err != nil || was.seq == 0 && before.IsZero() || !before.After(was.horizon) {
		return 0, err
	}
	d := &dropper{
		s:     s,
		env:   env,
		from:  was.horizon,
		to:    before,
		ids:   map[string]bool{},
		inUse: map[string]bool{},
	}
	if err := d.survey(ctx); err != nil {
		return 0, err
	}
	if len(d.ids) > 0 {
		if _, err := s.changeHead(ctx, env, func(h *head) error {
			if before.After(h.horizon) {
				h.horizon = before
			}
			return nil
		}); err != nil {
			return 0, err
		}
	}
	if s.log != nil {
		if err := s.log.Expire(ctx, env); err != nil {
			return 0, err
		}
	}
	return len(d.ids), d.remove(ctx)
}

// dropper removes actions that finished before a time.
type dropper struct {
	s        *actions
	env      string
	from, to time.Time
	ids      map[string]bool // of the removed actions
	at       map[string]int64
	recs     map[string]*record
	old      []page
	inUse    map[string]bool // objects that are named by more than old pages
}

func (d *dropper) survey(ctx context.Context) error {
	var err error
	if d.at, err = d.s.cursors(ctx, d.env); err != nil {
		return err
	}
	recs, err := d.s.tabletRecords(ctx, d.env)
	if err != nil {
		return err
	}
	d.recs = map[string]*record{}
	for _, rec := range recs {
		d.recs[rec.key] = rec
		if _, err := d.count(ctx, rec.key, rec.tail); err != nil {
			return err
		}
		d.use(rec.tail)
	}
	for shard := range uint32(shards) {
		if err := d.pages(ctx, pagePart(d.env, shard)); err != nil {
			return err
		}
	}
	if d.s.log == nil {
		return nil
	}
	logged, err := d.s.log.Ended(ctx, d.env, d.from, d.to)
	maps.Copy(d.ids, logged)
	return err
}

// pages finds the removable pages of one partition. With a log these are the pages with only logged
// entries, otherwise the pages with only expired actions.
func (d *dropper) pages(ctx context.Context, part string) error {
	return d.s.query(ctx, partition(part, "", true), func(i item) (bool, error) {
		p := page{part: part, sort: attributevalue.TextOf(i, attrSort)}
		var key string
		key, p.last = pageOf(p.sort)
		var err error
		if p.entries, err = pageEntries(i); err != nil {
			return false, err
		}
		gone, err := d.count(ctx, key, p.entries)
		if d.s.log != nil {
			gone = p.last <= d.at[key]
		}
		if gone && d.recs[key] != nil {
			d.old = append(d.old, p)
		} else {
			d.use(p.entries)
		}
		return true, err
	})
}

// use records the objects of entries that stay. There may be two pages with the same changes, the
// second with more of them.
func (d *dropper) use(entries []entry) {
	for _, x := range entries {
		if x.object != nil {
			d.inUse[x.name] = true
		}
	}
}

// count records the expired actions in entries, and reports whether all actions have expired.
// Logged actions are counted in the log.
func (d *dropper) count(ctx context.Context, key string, entries []entry) (bool, error) {
	all := true
	var list []entry
	for _, x := range entries {
		switch {
		case x.seq <= d.at[key]:
		case x.object == nil:
			list = append(list, x)
		case !x.acts(),
			x.finished[1].Before(d.from): // expired before, and perhaps already removed
		case !x.finished[0].Before(d.to):
			all = false
		default:
			list = append(list, x)
		}
	}
	if err := d.s.fetch(ctx, list); err != nil {
		return false, err
	}
	for _, x := range list {
		got, err := d.s.deltaOf(x)
		if err != nil {
			return false, err
		}
		for _, a := range got.actions {
			switch {
			case !a.Finished.Before(d.to):
				all = false
			case !a.Finished.Before(d.from):
				d.ids[a.ID] = true
			}
		}
	}
	return all, nil
}

// remove removes old pages and their objects. Without a log it first merges tablets that still need
// such a page. With a log, their next merge removes the page.
func (d *dropper) remove(ctx context.Context) error {
	merged := map[string]bool{}
	var gone []page
	for _, p := range d.old {
		key, _ := pageOf(p.sort)
		rec := d.recs[key]
		if rec.needs(p.last) && d.s.log == nil {
			if _, tried := merged[key]; !tried {
				merged[key] = d.s.merge(ctx, d.env, rec, 0) == nil
			}
		}
		if rec.needs(p.last) && (!merged[key] || p.last > rec.seq) {
			d.use(p.entries) // a later call of DropActions removes it
			continue
		}
		gone = append(gone, p)
	}
	var keys []item
	for _, p := range gone {
		keys = append(keys, keyItem(p.part, p.sort))
	}
	if err := d.s.deleteMany(ctx, keys); err != nil {
		return err
	}
	for _, p := range gone { // after the pages that name them
		unused := slices.DeleteFunc(p.entries, func(x entry) bool {
			return x.object != nil && d.inUse[x.name]
		})
		d.s.dropObjects(ctx, unused...)
	}
	return nil
}
