package dynamo

import (
	"cmp"
	"context"
	"slices"
	"time"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// ParameterChange is a parameter or fact that was written or, if Gone is set, removed at Updated.
type ParameterChange = state.ParameterChange

// Unlogged holds committed actions and parameters that are not in the log.
type Unlogged struct {
	Env        string
	Keep       time.Duration // how long actions are retained in this environment
	Actions    []state.Action
	Parameters []ParameterChange
	// Name identifies the tablets and changes: it is the same for the same changes of the same
	// tablets.
	Name string
	// More is set if there is more than the limit allowed.
	More    bool
	tablets []unlogged
}

// unlogged holds the entries of a tablet that are to be logged.
type unlogged struct {
	rec     *record
	from    int64 // its cursor
	to      int64 // the cursor after all entries are logged
	pages   []page
	entries []entry
}

// Unlogged returns the committed actions of lanes, and the changes of parameters and facts, that
// are not in the log. It returns about limit actions, the oldest of each lane first. If lanes is
// nil, it covers the whole environment. If nothing is to be logged, it costs one read, or three for
// nil lanes.
func (s *actions) Unlogged(
	ctx context.Context,
	env string,
	lanes []string,
	limit int,
) (*Unlogged, error) {
	const tries = 5
	for try := 1; ; try++ {
		out, err := s.unlogged(ctx, env, lanes, limit)
		if fault.Is(err, fault.NotFound) &&
			try < tries { // another process logged it since, and it was removed
			continue
		}
		return out, err
	}
}

func (s *actions) unlogged(
	ctx context.Context,
	env string,
	lanes []string,
	limit int,
) (*Unlogged, error) {
	out := &Unlogged{Env: env}
	if err := s.behind(ctx, lanes, out); err != nil || len(out.tablets) == 0 {
		return out, err
	}
	left := room{limit, maxBytes}
	for i := range out.tablets {
		b := &out.tablets[i]
		if left.full() {
			out.tablets, out.More = out.tablets[:i], true
			break
		}
		if err := s.collect(ctx, env, b, &left); err != nil {
			return nil, err
		}
		last, err := s.actedTo(b.rec)
		if err != nil {
			return nil, err
		}
		out.More = out.More || b.to < last
	}
	out.Name = out.name()
	return out, out.decode(s)
}

// room is the rest of the limits of one call.
type room struct{ actions, bytes int }

// maxBytes limits the compressed bytes of one call, approximately. Log lines take some ten times
// that space in memory.
const maxBytes = 8 << 20

func (r *room) full() bool { return r.actions <= 0 || r.bytes <= 0 }

// behind finds the tablets with entries to log, and how long the log retains them.
func (s *actions) behind(ctx context.Context, lanes []string, out *Unlogged) error {
	var recs []*record
	var at map[string]int64
	var err error
	if lanes == nil {
		if at, err = s.cursors(ctx, out.Env); err == nil {
			recs, err = s.tabletRecords(ctx, out.Env)
		}
	} else {
		recs, at, err = s.named(ctx, lanes, out)
	}
	if err != nil {
		return err
	}
	for _, rec := range recs {
		last, err := s.actedTo(rec)
		if err != nil {
			return err
		}
		if last > at[rec.key] {
			out.tablets = append(out.tablets, unlogged{rec: rec, from: at[rec.key]})
		}
	}
	slices.SortFunc(
		out.tablets,
		func(a, b unlogged) int { return cmp.Compare(a.rec.key, b.rec.key) },
	)
	if lanes != nil || len(out.tablets) == 0 {
		return nil
	}
	h, err := s.readHead(ctx, out.Env)
	if err != nil {
		return err
	}
	return out.kept(h)
}

func (u *Unlogged) kept(h *head) error {
	e, err := h.env()
	u.Keep = e.Settings.ActionsKept()
	return err
}

// named reads the head, and the records and cursors of lanes and of the parameters, in one request.
func (s *actions) named(
	ctx context.Context,
	lanes []string,
	out *Unlogged,
) ([]*record, map[string]int64, error) {
	keys := []item{keyItem(headPart, headPrefix+out.Env)}
	tablets := append(make([]string, 0, len(lanes)+1), paramsKey)
	for _, lane := range lanes {
		tablets = append(tablets, keyOf(lane))
	}
	slices.Sort(tablets)
	for _, key := range slices.Compact(tablets) {
		keys = append(keys, keyItem(recordPart(out.Env), key), keyItem(cursorPart(out.Env), key))
	}
	got, err := s.getMany(ctx, keys)
	if err != nil {
		return nil, nil, err
	}
	at := map[string]int64{}
	var recs []*record
	h := &head{name: out.Env}
	for _, i := range got {
		key := attributevalue.TextOf(i, attrSort)
		switch attributevalue.TextOf(i, attrPart) {
		case cursorPart(out.Env):
			at[key] = attributevalue.NumberOf(i, attrSeq)
		case recordPart(out.Env):
			rec, err := s.recordOf(out.Env, key, i)
			if err != nil {
				return nil, nil, err
			}
			recs = append(recs, rec)
		default:
			if h, err = headOf(out.Env, i); err != nil {
				return nil, nil, err
			}
		}
	}
	return recs, at, out.kept(h)
}

// collect reads the entries of a tablet after its cursor, at least one, until the limits are
// reached.
func (s *actions) collect(ctx context.Context, env string, b *unlogged, left *room) error {
	var err error
	if b.rec.acted > b.from {
		if b.pages, err = s.pagesAfter(ctx, env, b.rec.key, b.from); err != nil {
			return err
		}
	}
	all := slices.Clone(b.rec.tail)
	for _, p := range b.pages {
		all = append(all, p.entries...)
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(a.seq, b.seq) })
	// Two pages may have the same changes.
	all = slices.CompactFunc(all, func(a, b entry) bool { return a.seq == b.seq })
	if b.to, err = s.actedTo(b.rec); err != nil {
		return err
	}
	for _, x := range all {
		if x.seq <= b.from {
			continue
		}
		o, err := s.describeEntry(x)
		if err != nil {
			return err
		}
		if o.n == 0 {
			continue
		}
		size := len(x.data)
		if x.object != nil {
			size = x.size
		}
		if len(b.entries) > 0 && (o.n > left.actions || size > left.bytes) {
			b.to = b.entries[len(b.entries)-1].seq
			left.actions = 0
			break
		}
		left.actions -= o.n
		left.bytes -= size
		b.entries = append(b.entries, x)
	}
	return s.fetch(ctx, b.entries)
}

// name returns a name that encodes the tablets and the range of changes of each.
func (u *Unlogged) name() string {
	e := &enc{}
	for i := range u.tablets {
		e.Text(u.tablets[i].rec.key)
		e.Int(u.tablets[i].from)
		e.Int(u.tablets[i].to)
	}
	return string(e.B)
}

// decode extracts the actions and the changes of parameters from the entries, each action once.
func (u *Unlogged) decode(s *actions) error {
	at := map[string]int{}
	for i := range u.tablets {
		for _, x := range u.tablets[i].entries {
			d, err := s.deltaOf(x)
			if err != nil {
				return err
			}
			for _, a := range d.actions {
				j, have := at[a.ID]
				if !have {
					at[a.ID] = len(u.Actions)
					u.Actions = append(u.Actions, a)
				} else if !u.Actions[j].Stale {
					u.Actions[j] = a // the later entry is more complete
				}
			}
			for _, p := range d.params {
				u.Parameters = append(u.Parameters, ParameterChange{Parameter: p})
			}
			for _, k := range d.without {
				u.Parameters = append(
					u.Parameters,
					ParameterChange{
						Parameter: state.Parameter{Name: k.Name, Of: k.Of, Updated: k.At},
						Gone:      true,
					},
				)
			}
		}
	}
	return nil
}

// Logged records that all of u is in the log. It advances the cursors, and removes pages that are
// no longer needed.
func (s *actions) Logged(ctx context.Context, u *Unlogged) error {
	const width = 8
	errs := make([]error, len(u.tablets))
	s.host.Each(len(u.tablets), width, func(i int) {
		if b := &u.tablets[i]; b.to > b.from {
			errs[i] = s.advance(ctx, u.Env, b.rec.key, b.to)
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	var keys []item
	var entries []entry
	for i := range u.tablets {
		for _, p := range u.tablets[i].spent() {
			keys = append(keys, keyItem(p.part, p.sort))
			entries = append(entries, p.entries...)
		}
	}
	if err := s.deleteMany(ctx, keys); err != nil {
		return err
	}
	s.dropObjects(ctx, entries...) // after the pages that name them
	return nil
}

// spent returns the pages that were logged completely and whose rows were merged before. The record
// that was read does not name these pages, and its pieces start after them. So no later record
// names them.
func (b *unlogged) spent() []page {
	return slices.DeleteFunc(slices.Clone(b.pages), func(p page) bool {
		return p.last > b.to || b.rec.needs(p.last)
	})
}

// needs reports whether a page that ends with a change may hold changes that the record has in no
// other piece.
func (r *record) needs(last int64) bool {
	return last > r.since() ||
		slices.ContainsFunc(
			r.refs,
			func(f ref) bool { return f.kind == pageRef && last >= f.first && last <= f.last },
		)
}

// Empty reports whether there is nothing to log, not even a cursor to move.
func (u *Unlogged) Empty() bool { return len(u.tablets) == 0 }

// Lanes returns the number of tablets in u: lanes, and the parameters.
func (u *Unlogged) Lanes() int { return len(u.tablets) }
