package local

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// A facet is a number that stands for the status and the vector of a row, as the index
// resources_facet has it: four bits for the status, then three each for compliance, last run and
// blocked. In each, 0 is a value that no filter names.
type facet int64

const vectorBits, vectorMask = 3, 7

func facetOf(r *state.Row) facet {
	f := facet(slices.Index(state.ByUrgency(), r.Status()) + 1)
	for _, n := range []int{slices.Index(compliances, r.Comparison()), slices.Index(lastRuns, r.LastRun),
		slices.Index(blocks, r.Block())} {
		f = f<<vectorBits | facet(n+1)
	}
	return f
}

// The values of the parts of a facet. New values are added at the end.
var (
	compliances = []state.Compliance{state.HasUpdate, state.Compliant, state.NonCompliant,
		state.Undefined}
	lastRuns = []state.LastRun{state.RunNew, state.RunSuccess, state.RunFailed, state.RunSkipped}
	blocks   = []state.Blocked{state.NotBlocked, state.BlockedYes, state.BlockedTemp,
		state.NeedsPerson}
)

// status returns the place of the status among those by urgency, from 1.
func (f facet) status() int { return int(f >> (3 * vectorBits)) }

// selects reports whether a filter selects rows with a facet.
func (f facet) selectedBy(q *state.Filter) bool {
	return oneOf(q.Statuses, state.ByUrgency(), f.status()) &&
		oneOf(q.Compliance, compliances, int(f>>(2*vectorBits)&vectorMask)) &&
		oneOf(q.LastRun, lastRuns, int(f>>vectorBits&vectorMask)) &&
		oneOf(q.Blocked, blocks, int(f&vectorMask))
}

// oneOf reports whether a list is empty, or has the n-th of all values, from 1.
func oneOf[T comparable](list, all []T, n int) bool {
	return len(list) == 0 || n > 0 && n <= len(all) && slices.Contains(list, all[n-1])
}

// FindRows implements state.RowFinder. It reads the ids of candidates from an index: by facet if
// the query is about the state or its order, and in ranges of ids that a type, an agent or the
// beginning of a glob defines. Rows of named sets and rows with a reason have an index of their own. Only
// the rows of the page are decoded.
func (h *Home) FindRows(ctx context.Context, env string, q state.RowQuery) (state.RowPage, error) {
	var page state.RowPage
	err := h.read(ctx, "read resources", func(c *sqlite.Conn) error {
		f := &finder{c: c, env: env, q: &q, after: q.After, without: map[resource.ID]bool{}}
		for _, id := range q.Without {
			f.without[id] = true
		}
		err := f.plan()
		if err == nil && q.Count > 0 {
			err = f.count()
		}
		if err == nil && !f.whole && len(f.page.Rows) < q.Limit {
			err = f.find()
		}
		page = f.page
		return err
	})
	return page, err
}

// finder finds the page of one query.
type finder struct {
	c       *sqlite.Conn
	env     string
	q       *state.RowQuery
	without map[resource.ID]bool
	groups  [][]facet // in the order of the page; an empty group: all facets
	ranges  []idRange // ascending and disjoint
	page    state.RowPage
	after   *state.Place // of the last row that was found, or of the query
	whole   bool         // all rows were compared
}

// idRange holds the ids from lo, inclusive, to hi, exclusive; hi "" is no bound.
type idRange struct{ lo, hi string }

// prefixed returns the range of the ids that begin with a text.
func prefixed(prefix string) idRange {
	hi := []byte(prefix)
	for len(hi) > 0 && hi[len(hi)-1] == 0xff {
		hi = hi[:len(hi)-1]
	}
	if len(hi) > 0 {
		hi[len(hi)-1]++
	}
	return idRange{prefix, string(hi)}
}

// and returns the ids of both ranges, and whether there can be any.
func (r idRange) and(o idRange) (idRange, bool) {
	out := idRange{max(r.lo, o.lo), o.hi}
	if o.hi == "" || r.hi != "" && r.hi < o.hi {
		out.hi = r.hi
	}
	return out, out.hi == "" || out.lo < out.hi
}

// end returns the upper bound for a statement. A blob is greater than any text.
func (r idRange) end() any {
	if r.hi == "" {
		return []byte{0}
	}
	return r.hi
}

// maxSought bounds the ranges of types and agents that are searched one by one. With more, all ids
// are candidates.
const maxSought = 1000

// plan decides what is searched.
func (f *finder) plan() error {
	filter := &f.q.Filter
	byFacet := len(filter.Statuses)+len(filter.Compliance)+len(filter.LastRun)+
		len(filter.Blocked) > 0 || filter.OfNamed() || len(f.reasons()) > 0
	if byFacet || f.q.Order == state.WorstFirst {
		have, err := f.facets()
		if err != nil {
			return err
		}
		last := -1
		for _, one := range have {
			if !one.selectedBy(filter) {
				continue
			}
			if of := one.status(); f.q.Order == state.WorstFirst && of != last || len(f.groups) == 0 {
				f.groups, last = append(f.groups, nil), of
			}
			at := len(f.groups) - 1
			f.groups[at] = append(f.groups[at], one)
		}
	} else {
		f.groups = [][]facet{nil}
	}
	whole := prefixed(filter.ID[:literal(filter.ID)])
	if filter.Type != "" {
		var some bool
		if whole, some = whole.and(prefixed(filter.Type + "[")); !some {
			return nil
		}
	}
	f.ranges = []idRange{whole}
	if len(filter.Agents) == 0 {
		return nil
	}
	types, err := f.types(whole)
	if err != nil || len(types)*len(filter.Agents) > maxSought {
		return err
	}
	f.ranges = nil
	for _, t := range types {
		for _, agent := range slices.Compact(slices.Sorted(slices.Values(filter.Agents))) {
			of := strings.TrimSuffix(string(resource.NewID(t, agent)), "]") + ","
			if r, some := whole.and(prefixed(of)); some {
				f.ranges = append(f.ranges, r)
			}
		}
	}
	slices.SortFunc(f.ranges, func(a, b idRange) int { return cmp.Compare(a.lo, b.lo) })
	return nil
}

// likeEscapes escapes the signs of a pattern of LIKE.
var likeEscapes = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`)

// literal returns the length of the text of a glob before its first sign.
func literal(glob string) int {
	if n := strings.IndexAny(glob, "*?"); n >= 0 {
		return n
	}
	return len(glob)
}

// facets returns the facets that rows have, ascending. Each costs one search of the index.
func (f *finder) facets() ([]facet, error) {
	const next = "SELECT facet FROM resources INDEXED BY resources_facet WHERE env = +? AND " +
		"facet > +? ORDER BY facet LIMIT 1"
	var out []facet
	for last := int64(-1); ; last = int64(out[len(out)-1]) {
		n := len(out)
		if err := query(f.c, next, func(s *sqlite.Stmt) error {
			out = append(out, facet(s.ColumnInt64(0)))
			return nil
		}, f.env, last); err != nil || len(out) == n {
			return out, err
		}
	}
}

// types returns the types of the rows in a range of ids. Each costs one search of the index.
func (f *finder) types(in idRange) ([]string, error) {
	const next = "SELECT id FROM resources INDEXED BY resources_id WHERE env = +? AND id >= +? AND " +
		"id < +? ORDER BY id LIMIT 1"
	var out []string
	for from := in.lo; ; {
		id := resource.ID("")
		if err := query(f.c, next, func(s *sqlite.Stmt) error {
			id = resource.ID(s.ColumnText(0))
			return nil
		}, f.env, from, in.end()); err != nil || id == "" || len(out) > maxSought {
			return out, err
		}
		if out = append(out, id.Type()); id.Type() == "" {
			from = string(id) + "\x00" // it has no type, and no agent
			continue
		}
		from = prefixed(id.Type() + "[").hi
	}
}

// find reads the rows of the page.
func (f *finder) find() error {
	for _, group := range f.groups {
		after := f.after
		if after != nil && f.q.Order == state.WorstFirst {
			switch by := cmp.Compare(group[0].status(),
				slices.Index(state.ByUrgency(), after.Status)+1); {
			case by < 0:
				continue
			case by > 0:
				after = nil
			}
		}
		if err := f.each(group, after, f.row); err != nil || len(f.page.Rows) == f.q.Limit {
			return err
		}
	}
	return nil
}

// row adds the row of an id to the page, and reports whether the page has room for more.
func (f *finder) row(id resource.ID) (bool, error) {
	var found []record
	if err := appendRecords(f.c, &found, selectRow, f.env, string(id)); err != nil {
		return false, err
	}
	for i := range found {
		var r state.Row
		if err := found[i].read(&r); err != nil {
			return false, err
		}
		if f.q.Filter.Live(&r, false) {
			f.page.Rows = append(f.page.Rows, r)
		}
	}
	return len(f.page.Rows) < f.q.Limit, nil
}

// count counts the rows that match, up to the number of the query. On its way it reads the rows of
// the page that it meets: comparing ids is what takes time.
func (f *finder) count() error {
	n := 0
	for _, group := range f.groups {
		err := f.each(group, nil, func(id resource.ID) (bool, error) {
			if n++; n > f.q.Count {
				return false, nil
			}
			at := state.Place{ID: id}
			if f.q.Order == state.WorstFirst {
				at.Status = state.ByUrgency()[group[0].status()-1]
			}
			if len(f.page.Rows) == f.q.Limit || f.after != nil && f.q.Order.Compare(at, *f.after) <= 0 {
				return true, nil
			}
			f.after = &at
			_, err := f.row(id)
			return true, err
		})
		if err != nil || n > f.q.Count {
			f.page.Count, f.page.More = f.q.Count, true
			return err
		}
	}
	f.page.Count, f.whole = n, true
	return nil
}

// each calls do for the candidates of some facets after a place, in order of id, until it returns
// false. Candidates match the filter.
func (f *finder) each(
	group []facet, after *state.Place, do func(resource.ID) (bool, error),
) error {
	ranges := f.ranges
	if f.q.Order == state.ByIDDescending {
		ranges = slices.Clone(ranges)
		slices.Reverse(ranges)
	}
	for _, r := range ranges {
		if after != nil {
			rest := idRange{lo: string(after.ID) + "\x00"}
			if f.q.Order == state.ByIDDescending {
				rest = idRange{hi: string(after.ID)}
			}
			var some bool
			if r, some = r.and(rest); !some {
				continue
			}
		}
		if more, err := f.eachIn(group, r, do); err != nil || !more {
			return err
		}
	}
	return nil
}

// eachIn is each for one range. It reads as many ids of each facet at a time as a page has, or more
// if only some of them match, and merges them.
func (f *finder) eachIn(
	group []facet, r idRange, do func(resource.ID) (bool, error),
) (more bool, err error) {
	down := f.q.Order == state.ByIDDescending
	size := f.q.Limit + len(f.without)
	for ; ; size = min(4*size, 4096) {
		ids, whole, err := f.ids(group, r, size)
		if err != nil {
			return false, err
		}
		for _, id := range ids {
			if f.without[id] || !f.q.Filter.PicksID(id) {
				continue
			}
			if more, err := do(id); err != nil || !more {
				return false, err
			}
		}
		if whole {
			return true, nil
		}
		if last := string(ids[len(ids)-1]); down {
			r.hi = last
		} else {
			r.lo = last + "\x00"
		}
	}
}

// ids returns the first ids of a range, and whether these are all. Of each facet it reads size ids;
// behind the last id of a facet that has more, others are not known yet.
func (f *finder) ids(group []facet, r idRange, size int) ([]resource.ID, bool, error) {
	down := f.q.Order == state.ByIDDescending
	var out []resource.ID
	whole, bound := true, resource.ID("")
	read := func(sql string, args ...any) error {
		n := 0
		err := query(f.c, sql, func(s *sqlite.Stmt) error {
			out = append(out, resource.ID(s.ColumnText(0)))
			n++
			return nil
		}, append(args, size)...)
		if n < size || err != nil {
			return err
		}
		if last := out[len(out)-1]; whole || (last < bound) != down {
			bound = last
		}
		whole = false
		return nil
	}
	order := "ORDER BY id LIMIT ?"
	if down {
		order = "ORDER BY id DESC LIMIT ?"
	}
	index, where, also := f.index(len(group) > 0)
	rest := "id >= +? AND id < +? " + where + order
	if len(group) == 0 {
		err := read("SELECT id FROM resources INDEXED BY "+index+" WHERE env = +? AND "+rest,
			append([]any{f.env, r.lo, r.end()}, also...)...)
		return out, whole, err
	}
	for _, one := range group {
		if err := read("SELECT id FROM resources INDEXED BY "+index+" WHERE env = +? AND "+
			"facet = +? AND "+rest, append([]any{f.env, int64(one), r.lo, r.end()},
			also...)...); err != nil {
			return nil, false, err
		}
	}
	slices.Sort(out)
	if down {
		slices.Reverse(out)
	}
	if !whole {
		n, _ := slices.BinarySearchFunc(out, bound, func(a, b resource.ID) int {
			if down {
				a, b = b, a
			}
			return cmp.Compare(a, b)
		})
		out = out[:n+1]
	}
	return out, whole, nil
}

// index returns the index for candidates, the conditions that it leaves, and their arguments.
func (f *finder) index(facets bool) (name, where string, args []any) {
	filter := &f.q.Filter
	name = "resources_id"
	if facets {
		name = "resources_facet"
	}
	switch sets := filter.Sets; len(sets) {
	case 0:
	case 1:
		where, args = "AND set_name = +? ", append(args, sets[0])
	default: // one statement for any number of them
		list, _ := json.Marshal(sets) // texts never fail
		where, args = "AND set_name IN (SELECT value FROM json_each(+?)) ", append(args, string(list))
	}
	if filter.OfNamed() {
		name, where = "resources_set", where+"AND set_name <> '' "
	}
	for n, part := range f.reasons() {
		if n == 0 {
			name, where = "resources_why", where+"AND why <> '' "
		}
		where, args = where+"AND instr(why, +?) > 0 ", append(args, part)
	}
	for _, w := range filter.Words { // parts of the id, as patterns
		where += `AND id LIKE +? ESCAPE '\' `
		args = append(args, "%"+likeEscapes.Replace(w)+"%")
	}
	return name, where, args
}

// reasons returns the parts of the reason that the query is about.
func (f *finder) reasons() []string {
	return slices.DeleteFunc(slices.Clone(f.q.Filter.Reasons),
		func(part string) bool { return part == "" })
}
