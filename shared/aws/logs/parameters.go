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

// Parameters returns the logged changes of the parameters and facts of a name, newest first; "": of
// all names.
func (s *Store) Parameters(
	ctx context.Context, env, name string,
) ([]dynamo.ParameterChange, error) {
	sel := newSelection(state.ActionQuery{}, time.Time{}, s.Now())
	w := &walk{s: s, sel: sel}
	found := map[parameterKey]dynamo.ParameterChange{}
	err := s.query(ctx, w.query(parameterPart(env), [2]string{minKey, greatestKey}),
		func(h *header) error {
			marked := name == "" || h.resources == nil || slices.Contains(h.resources, markOf(name))
			if !sel.may(h) || !marked {
				return nil
			}
			packed, err := s.fetch(ctx, h)
			if err != nil {
				return err
			}
			return unpack(s, packed, func(c *dynamo.ParameterChange) {
				if name == "" || c.Name == name {
					found[keyOf(c)] = *c
				}
			})
		})
	if err != nil {
		return nil, err
	}
	return newestChanges(found), nil
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

func newestChanges(found map[parameterKey]dynamo.ParameterChange) []dynamo.ParameterChange {
	return slices.SortedFunc(maps.Values(found), func(a, b dynamo.ParameterChange) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.Of, b.Of),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value), gone(&a)-gone(&b))
	})
}
