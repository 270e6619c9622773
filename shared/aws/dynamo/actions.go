package dynamo

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/provider"
)

// Actions implements deploy.State: the tails of all lanes, and the pages from the newest on until there are enough.
func (s *State) Actions(ctx context.Context, env string, q deploy.ActionQuery) ([]deploy.Action, error) {
	out, err := s.actions(ctx, env, q)
	if fault.Is(err, fault.NotFound) { // dropped while they were read
		out, err = s.actions(ctx, env, q)
	}
	return out, err
}

func (s *State) actions(ctx context.Context, env string, q deploy.ActionQuery) ([]deploy.Action, error) {
	h, err := s.readHead(ctx, env)
	if err != nil {
		return nil, err
	}
	f := &finder{s: s, q: q, horizon: h.horizon, found: map[string]deploy.Action{}}
	recs, err := s.readRecords(ctx, env)
	if err != nil {
		return nil, err
	}
	for _, rec := range recs {
		if _, err := f.look(ctx, rec.tail); err != nil {
			return nil, err
		}
	}
	tails := f.found
	lists := make([]map[string]deploy.Action, shards)
	errs := make([]error, shards)
	s.Host.Each(shards, shards, func(shard int) {
		one := *f
		one.found = map[string]deploy.Action{}
		errs[shard] = one.pages(ctx, pagePart(env, uint32(shard))) //nolint:gosec // a few
		lists[shard] = one.found
	})
	for i := range lists {
		if errs[i] != nil {
			return nil, errs[i]
		}
		for _, a := range lists[i] {
			merge(tails, a)
		}
	}
	return newest(tails, q.Limit), nil
}

// finder collects the actions that match.
type finder struct {
	s       *State
	q       deploy.ActionQuery
	horizon time.Time
	found   map[string]deploy.Action
}

// merge keeps of two records of one action the one that knows more.
func merge(found map[string]deploy.Action, a deploy.Action) {
	if have, ok := found[a.ID]; !ok || !have.Stale {
		found[a.ID] = a
	}
}

func newest(found map[string]deploy.Action, limit int) []deploy.Action {
	out := make([]deploy.Action, 0, len(found))
	for _, a := range found {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b deploy.Action) int { return strings.Compare(b.ID, a.ID) })
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	return out
}

// pages looks through one partition of pages, the newest first. Actions that are asked for by their ids are looked for from the oldest of
// them on.
func (f *finder) pages(ctx context.Context, part string) error {
	in := partition(part, "", true)
	in.ScanIndexForward = aws.Bool(len(f.q.IDs) > 0)
	if from := max(f.q.After, minID(f.q.IDs)); from != "" {
		in.KeyConditionExpression = aws.String("k = :k AND s >= :s")
		in.ExpressionAttributeValues[":s"] = text(from)
	}
	if f.unfiltered() {
		in.Limit = aws.Int32(25) // pages hold some actions each: most queries end here
	}
	beyond := 0
	return f.s.query(ctx, in, func(i item) (bool, error) {
		greatest, _, _ := strings.Cut(textOf(i, attrSort), "/")
		if f.enough(greatest) {
			return false, nil
		}
		list, err := pageEntries(i)
		if err != nil {
			return false, err
		}
		least, err := f.look(ctx, list)
		if beyond++; len(f.q.IDs) == 0 || least <= slices.Max(f.q.IDs) {
			beyond = 0
		}
		return beyond < mostKept, err
	})
}

// unfiltered reports whether every action matches that is new enough.
func (f *finder) unfiltered() bool {
	q := f.q
	return q.Limit > 0 && q.Resource == "" && len(q.IDs) == 0 && q.Version == 0 && q.Action == "" && q.Outcome == "" && q.Before == "" && q.Level == "" && q.Text == ""
}

func minID(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return slices.Min(ids)
}

// enough reports whether as many were found as are asked for, all newer than what is to come.
func (f *finder) enough(greatest string) bool {
	if f.q.Limit <= 0 {
		return false
	}
	n := 0
	for id := range f.found {
		if id > greatest {
			n++
		}
	}
	return n >= f.q.Limit
}

// look takes the actions that match out of entries, and returns the least id that it saw.
func (f *finder) look(ctx context.Context, entries []entry) (string, error) {
	var list []entry
	least := ""
	saw := func(id string) {
		if id != "" && (least == "" || id < least) {
			least = id
		}
	}
	for _, x := range entries {
		if x.object != nil {
			saw(x.ids[0])
		}
		if x.object == nil || f.may(x.object) {
			list = append(list, x)
		}
	}
	if err := f.s.fetch(ctx, list); err != nil {
		return "", err
	}
	for _, x := range list {
		d, err := f.s.deltaOf(x)
		if err != nil {
			return "", err
		}
		for _, a := range d.actions {
			saw(a.ID)
			if !a.Finished.Before(f.horizon) && matches(&a, f.q) {
				merge(f.found, a)
			}
		}
	}
	return least, nil
}

// may reports whether an object can hold actions that match.
func (f *finder) may(o *object) bool {
	q := f.q
	switch {
	case o.n == 0, o.finished[1].Before(f.horizon), !q.Since.IsZero() && o.finished[1].Before(q.Since),
		q.After != "" && o.ids[1] <= q.After, q.Before != "" && o.ids[0] >= q.Before,
		len(q.IDs) > 0 && (slices.Max(q.IDs) < o.ids[0] || slices.Min(q.IDs) > o.ids[1]):
		return false
	}
	return true
}

func matches(a *deploy.Action, q deploy.ActionQuery) bool {
	switch {
	case q.Resource != "" && a.Resource != q.Resource, len(q.IDs) > 0 && !slices.Contains(q.IDs, a.ID), q.Version != 0 && a.Version != q.Version,
		q.Action != "" && a.Action != q.Action, q.Outcome != "" && a.Outcome != q.Outcome, q.After != "" && a.ID <= q.After,
		q.Before != "" && a.ID >= q.Before, !q.Since.IsZero() && a.Finished.Before(q.Since):
		return false
	}
	return q.Level == "" && q.Text == "" || slices.ContainsFunc(a.Messages, func(l provider.Line) bool {
		return severity(l.Level) >= severity(q.Level) && strings.Contains(l.Msg, q.Text)
	})
}

func severity(l provider.Level) int {
	return slices.Index([]provider.Level{provider.LevelDebug, provider.LevelInfo, provider.LevelWarning, provider.LevelError}, l)
}

// DropActions implements deploy.State: what was finished before the horizon is forgotten by moving it. Then what lies behind it
// altogether is removed, as far as no bag needs it.
func (s *State) DropActions(ctx context.Context, env string, before time.Time) (int, error) {
	return s.dropActions(ctx, env, before, false)
}

func (s *State) dropActions(ctx context.Context, env string, before time.Time, again bool) (int, error) {
	was, err := s.readHead(ctx, env)
	if err != nil || was.seq == 0 && before.IsZero() || !before.After(was.horizon) {
		return 0, err
	}
	d := &dropper{s: s, env: env, from: was.horizon, to: before, ids: map[string]bool{}, inUse: map[string]bool{}}
	if err := d.survey(ctx); err != nil || len(d.ids) == 0 {
		if fault.Is(err, fault.NotFound) && !again {
			return s.dropActions(ctx, env, before, true) // others drop, too, or merge
		}
		return 0, err
	}
	if _, err := s.changeHead(ctx, env, func(h *head) error {
		if before.After(h.horizon) {
			h.horizon = before
		}
		return nil
	}); err != nil {
		return 0, err
	}
	return len(d.ids), d.remove(ctx)
}

// dropper removes actions that were finished before a time.
type dropper struct {
	s        *State
	env      string
	from, to time.Time
	ids      map[string]bool // of what is forgotten
	old      []oldPage
	inUse    map[string]bool // objects that something else than an old page names
	recs     []*record
}

// oldPage is a page of which nothing is to be kept.
type oldPage struct {
	part, sort string
	entries    []entry
}

func (d *dropper) survey(ctx context.Context) error {
	var err error
	if d.recs, err = d.s.readRecords(ctx, d.env); err != nil {
		return err
	}
	for _, rec := range d.recs {
		if _, err := d.count(ctx, rec.tail); err != nil {
			return err
		}
		d.use(rec.tail)
	}
	for shard := range uint32(shards) {
		part := pagePart(d.env, shard)
		kept := 0
		err := d.s.query(ctx, partition(part, "", true), func(i item) (bool, error) {
			list, err := pageEntries(i)
			if err != nil {
				return false, err
			}
			all, err := d.count(ctx, list)
			if err != nil {
				return false, err
			}
			if kept++; !all {
				d.use(list)
			} else {
				kept = 0
				d.old = append(d.old, oldPage{part, textOf(i, attrSort), list})
			}
			return kept < mostKept, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// use notes the objects of entries that stay. A page may exist twice, the second time with more in it.
func (d *dropper) use(entries []entry) {
	for _, x := range entries {
		if x.object != nil {
			d.inUse[x.name] = true
		}
	}
}

// mostKept ends a search in order of ids: they grow with time, so behind so many pages without anything that is looked for there is nothing.
const mostKept = 500

// count notes the actions in entries that are forgotten, and reports whether those are all there are.
func (d *dropper) count(ctx context.Context, entries []entry) (bool, error) {
	all := true
	var list []entry
	for _, x := range entries {
		switch {
		case x.object == nil:
			list = append(list, x)
		case x.n == 0, x.finished[1].Before(d.from): // forgotten before, and maybe not there any more
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

// remove merges the bags that still need old pages, and removes those and their objects.
func (d *dropper) remove(ctx context.Context) error {
	if len(d.old) == 0 {
		return nil
	}
	used := map[string]bool{}
	byKey := map[string]*record{}
	for _, rec := range d.recs {
		byKey[rec.key] = rec
		for _, f := range rec.refs {
			if f.kind == pageRef {
				_, sort := d.s.refKey(d.env, rec.key, f)
				used[sort] = true
			}
		}
	}
	merged := map[string]bool{}
	for _, rec := range d.recs {
		needs := slices.ContainsFunc(d.old, func(p oldPage) bool {
			return used[p.sort] && strings.Contains(p.sort, "/"+rec.key+"/")
		})
		if needs && d.s.merge(ctx, d.env, rec, 0) == nil {
			merged[rec.key] = true
		}
	}
	var drop []oldPage
	for _, p := range d.old {
		key, last := keyOfPage(p.sort)
		if !merged[key] && (used[p.sort] || byKey[key].mayName(last)) {
			d.use(p.entries) // the next collection takes it
			continue
		}
		drop = append(drop, p)
	}
	var keys []item
	for _, p := range drop {
		keys = append(keys, keyItem(p.part, p.sort))
		d.s.dropObjects(ctx, slices.DeleteFunc(p.entries, func(x entry) bool { return x.object != nil && d.inUse[x.name] })...)
	}
	return d.s.deleteMany(ctx, keys)
}

// mayName reports whether somebody may be about to name a page with the changes up to one: a copy of the tail is made before it is named.
func (r *record) mayName(last int64) bool {
	return r == nil || last > r.seq || (len(r.tail) > 0 && r.tail[0].seq <= last)
}

// keyOfPage returns the key of the bag of a page, which stands between the first and the last slash, and the number of its last change, after it.
func keyOfPage(sort string) (key string, last int64) {
	_, rest, _ := strings.Cut(sort, "/")
	i := max(strings.LastIndexByte(rest, '/'), 0)
	last, _ = strconv.ParseInt(strings.TrimPrefix(rest[i:], "/"), 10, 64)
	return rest[:i], last
}
