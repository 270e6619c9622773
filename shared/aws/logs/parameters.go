package logs

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/platform"
	"southbound/shared/resource"
)

// ParameterQuery selects changes of parameters and facts. Zero fields select all changes.
type ParameterQuery struct {
	Name  string
	Of    resource.ID // only facts of this resource
	Since time.Time   // only changes at this time or later
	Until time.Time   // only changes before this time
	Limit int         // 0: all
}

func (q *ParameterQuery) selects(c *dynamo.ParameterChange) bool {
	return (q.Name == "" || c.Name == q.Name) && (q.Of == "" || c.Of == q.Of) &&
		(q.Since.IsZero() || !c.Updated.Before(q.Since)) &&
		(q.Until.IsZero() || c.Updated.Before(q.Until))
}

// parameters stores changes of parameters in blocks of their own, in order of time.
func (w *writer) parameters(ctx context.Context, u *dynamo.Unlogged) error {
	changes := slices.Clone(u.Parameters)
	slices.SortStableFunc(changes, func(a, b dynamo.ParameterChange) int {
		return cmp.Or(a.Updated.Compare(b.Updated), cmp.Compare(a.Of, b.Of),
			cmp.Compare(a.Name, b.Name))
	})
	for n := 0; len(changes) > 0; n++ {
		some := changes[:min(len(changes), w.s.limits.block)]
		changes = changes[len(some):]
		if err := w.changes(ctx, u.Name, n, some); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) changes(
	ctx context.Context, of string, n int, some []dynamo.ParameterChange,
) error {
	first, last := some[0].Updated, some[len(some)-1].Updated
	h := header{part: parameterPart(w.env), count: len(some), expires: w.expires.Unix(),
		finished: [2]int64{first.UnixMilli(), last.UnixMilli() + 1}}
	raws := make([]json.RawMessage, len(some))
	for i := range some {
		var err error
		if raws[i], err = json.Marshal(&some[i]); err != nil {
			return fault.Wrap(fault.Internal, "encode parameter", err)
		}
		h.resources = include(include(h.resources, markOf(some[i].Name)),
			markOf(string(some[i].Of)))
	}
	name := blockName(of+"\x00parameters", n, raws)
	h.sort = sorted(platform.IDAt(last.Add(time.Millisecond)), name)
	const maxMarks = 1000
	if len(h.resources) > maxMarks {
		h.resources = nil
	}
	h.data = w.s.pack(raws)
	if len(h.data) > w.s.limits.inline {
		h.object = objectFolder(w.env) + w.day + "/" + name
		if err := w.s.Objects.Put(ctx, h.object, h.data); err != nil {
			return err
		}
	}
	return w.s.put(ctx, []item{h.item()})
}

// Parameters returns the logged changes of parameters and facts that q selects, newest first.
func (s *Store) Parameters(
	ctx context.Context, env string, q ParameterQuery,
) ([]dynamo.ParameterChange, error) {
	sel := newSelection(state.ActionQuery{Since: q.Since, Until: q.Until}, time.Time{}, s.Now())
	w := &walk{s: s, sel: sel}
	until := greatestKey
	if end := w.end(); end != "" {
		until = end
	}
	marked := func(h *header, text string) bool {
		return text == "" || h.resources == nil || slices.Contains(h.resources, markOf(text))
	}
	found := map[parameterKey]dynamo.ParameterChange{}
	err := s.query(ctx, w.query(parameterPart(env), [2]string{minKey, until}),
		func(h *header) error {
			if w.over(h) || q.Limit > 0 && len(found) >= q.Limit && newerThan(found, q.Limit, h) {
				return errEnough
			}
			if !sel.may(h) || !marked(h, q.Name) || !marked(h, string(q.Of)) {
				return nil
			}
			packed, err := s.fetch(ctx, h)
			if err != nil {
				return err
			}
			return unpack(s, packed, func(c *dynamo.ParameterChange) {
				if q.selects(c) {
					found[keyOf(c)] = *c
				}
			})
		})
	if err != nil && err != errEnough { // it is never wrapped
		return nil, err
	}
	return newestChanges(found, q.Limit), nil
}

// parameterKey identifies a change. The same change may be in two blocks.
type parameterKey struct {
	name  string
	of    resource.ID
	at    int64
	gone  bool
	value string // two changes may have the same time
}

func keyOf(c *dynamo.ParameterChange) parameterKey {
	return parameterKey{c.Name, c.Of, c.Updated.UnixNano(), c.Gone, c.Value}
}

// gone orders changes of the same time, whose real order is unknown, deterministically.
func gone(c *dynamo.ParameterChange) int {
	if c.Gone {
		return 1
	}
	return 0
}

// newerThan reports whether at least limit changes were found that are newer than all changes of an
// item.
func newerThan(found map[parameterKey]dynamo.ParameterChange, limit int, h *header) bool {
	n := 0
	for k := range found {
		if k.at > time.UnixMilli(h.finished[1]).UnixNano() {
			n++
		}
	}
	return n >= limit
}

func newestChanges(
	found map[parameterKey]dynamo.ParameterChange, limit int,
) []dynamo.ParameterChange {
	out := slices.SortedFunc(maps.Values(found), func(a, b dynamo.ParameterChange) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.Of, b.Of),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value), gone(&a)-gone(&b))
	})
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	return out
}
