package orders

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

// Deleted selects deleted instances in a list.
type Deleted string

// The selections: without deleted instances, with them, and only them.
const (
	NotDeleted  Deleted = ""
	WithDeleted Deleted = "include"
	OnlyDeleted Deleted = "only"
)

// Filter selects instances.
type Filter struct {
	Service  string   // "" for all
	States   []string // empty for all
	Deleted  Deleted
	ID       string
	Identity string // the full identity
	// Name is a part of an id or of an identity.
	Name string
	// Attributes are values of attributes as text. An instance matches with its candidate or its
	// active set.
	Attributes map[string]string
	// Empty and NotEmpty are names of sets of attributes: candidate, active, rollback.
	Empty, NotEmpty []string
}

// Query selects and sorts instances.
type Query struct {
	Filter
	Place
	// Sort is one of Sorts; "" means created_at.
	Sort       string
	Descending bool
	// Bytes is the approximate size of the attributes of a page in JSON; 0: no limit.
	Bytes int
}

// Page is a page of a list of instances.
type Page = Part[Instance]

// Sorts returns the keys that instances can be sorted by.
func Sorts() []string {
	return []string{"created_at", "last_updated", "state", "service_identity_attribute_value", "id"}
}

// List returns instances.
func (s *views) List(ctx context.Context, env string, q Query) (Page, error) {
	at, err := q.check()
	if err != nil {
		return Page{}, err
	}
	l := &lister{
		s: s, ctx: ctx, env: env, q: q, at: at, limit: inventory.Page(q.Limit),
		defs: s.definitions(env),
	}
	if q.Service != "" {
		if _, err := s.Definitions.One(ctx, env, q.Service, -1); err != nil {
			return Page{}, err
		}
	}
	got, err := l.find()
	if err != nil {
		return Page{}, err
	}
	return l.page(got)
}

// page returns records in the form of the API.
func (l *lister) page(got foundRecords) (Page, error) {
	l.fit(&got)
	p := Page{Items: []Instance{}}
	for i := range got.records {
		one, err := l.shown(&got.records[i])
		if err != nil {
			return p, err
		}
		p.Items = append(p.Items, one)
	}
	if l.q.Count {
		p.count(got.ahead, got.behind)
	}
	if n := len(got.records); n > 0 {
		if got.behind > 0 {
			p.Next = l.q.place(&got.records[n-1]).text()
		}
		if got.ahead > 0 {
			p.Prev = l.q.place(&got.records[0]).text()
		}
	}
	return p, nil
}

// fit truncates a page to its size in bytes, but keeps at least one record. It keeps the records
// nearest to the requested place.
func (l *lister) fit(got *foundRecords) {
	if l.q.Bytes == 0 {
		return
	}
	bytes, n := 0, len(got.records)
	for i := range n {
		at := i
		if l.q.Before != "" {
			at = n - 1 - i
		}
		if i > 0 && bytes > l.q.Bytes {
			if l.q.Before != "" {
				got.records, got.ahead = got.records[at+1:], got.ahead+at+1
			} else {
				got.records, got.behind = got.records[:at], got.behind+n-at
			}
			return
		}
		r := &got.records[at]
		bytes += len(text(r.Candidate)) + len(text(r.Active)) + len(text(r.Rollback))
	}
}

// Check rejects an invalid query.
func (q *Query) Check() error {
	_, err := q.check()
	return err
}

// check is Check, and returns the place of the query.
func (q *Query) check() (*place, error) {
	if q.Sort != "" && !slices.Contains(Sorts(), q.Sort) {
		return nil, fault.New(fault.Invalid, "", "instances are not sorted by %q", q.Sort).
			WithHint("sort by %s", strings.Join(Sorts(), ", "))
	}
	for _, set := range slices.Concat(q.Empty, q.NotEmpty) {
		if !slices.Contains(sets(), set) {
			return nil, fault.New(fault.Invalid, "", "%q is not a set of attributes", set).
				WithHint("use candidate, active or rollback")
		}
	}
	at := cmp.Or(q.After, q.Before)
	if at == "" {
		return nil, nil // the list starts at the beginning
	}
	p := &place{}
	b, err := base64.RawURLEncoding.DecodeString(at)
	if err != nil || json.Unmarshal(b, p) != nil || p.Sort != q.Sort ||
		q.After != "" && q.Before != "" {
		return nil, noPlace()
	}
	return p, nil
}

// place is the position of an instance in a sorted list.
type place struct {
	Sort    string `json:"s,omitempty"`
	Key     string `json:"k,omitempty"`
	Created int64  `json:"c"`
	ID      string `json:"i"`
}

func (q *Query) place(r *inventory.Record) *place {
	return &place{q.Sort, key(q.Sort, r), r.Created.UnixMicro(), r.ID}
}

func (p *place) text() string {
	b, _ := json.Marshal(p) // strings and a number always encode
	return base64.RawURLEncoding.EncodeToString(b)
}

// key returns the sort key of an instance as text.
func key(sort string, r *inventory.Record) string {
	switch sort {
	case "last_updated":
		return fmt.Sprintf("%020d", r.Updated.UnixMicro())
	case "state":
		return r.State
	case "service_identity_attribute_value":
		return r.Identity
	case "id":
		return r.ID
	}
	return ""
}

func (p *place) compare(o *place) int {
	return cmp.Or(
		cmp.Compare(p.Key, o.Key), cmp.Compare(p.Created, o.Created), cmp.Compare(p.ID, o.ID),
	)
}

// lister answers a query.
type lister struct {
	s     *views
	ctx   context.Context // of the request that the lister serves
	env   string
	q     Query
	at    *place // the page is after or before it; nil: the list starts at the beginning
	limit int
	defs  *definitions
}

// foundRecords are the records of a page. Without counts, ahead and behind only report whether
// there are more records.
type foundRecords struct {
	records       []inventory.Record
	ahead, behind int
}

// find returns the records of the page.
func (l *lister) find() (foundRecords, error) {
	if got, only, err := l.one(); only || err != nil {
		return l.picked(got), err
	}
	return l.stored()
}

// one returns the only instance that a filter can match, and true; false if several can match.
func (l *lister) one() ([]inventory.Record, bool, error) {
	ref := Ref{l.q.Service, l.q.ID}
	if ref.ID == "" && l.q.Identity != "" && l.q.Service != "" && l.q.Deleted == NotDeleted {
		ref.ID = "identity=" + l.q.Identity
	}
	if ref.ID == "" {
		return nil, false, nil
	}
	r, err := l.s.record(l.ctx, l.env, ref)
	if fault.Is(err, fault.NotFound) {
		return nil, true, nil
	}
	if err != nil || !l.q.matches(&r) {
		return nil, true, err
	}
	return []inventory.Record{r}, true, nil
}

// window returns an empty page at the requested place.
func (l *lister) window() *window[inventory.Record] {
	w := &window[inventory.Record]{limit: l.limit}
	if l.at == nil {
		return w
	}
	compare := func(r *inventory.Record) int { return l.q.compare(l.q.place(r), l.at) }
	if l.q.Before != "" {
		w.before = compare
	} else {
		w.after = compare
	}
	return w
}

// compare compares two places in the order of the query.
func (q *Query) compare(a, b *place) int {
	if q.Descending {
		a, b = b, a
	}
	return a.compare(b)
}

// picked returns the page of all matching records, which are sorted.
func (l *lister) picked(all []inventory.Record) foundRecords {
	w := l.window()
	for i := range all {
		w.add(all[i])
	}
	return foundRecords{w.page, w.ahead, w.behind}
}

// asked returns the query of the store.
func (l *lister) asked() inventory.Query {
	q := l.q.query()
	q.NewestFirst = l.q.Descending
	switch l.q.Sort {
	case "last_updated":
		q.Sort = inventory.ByUpdate
	case "state":
		q.Sort = inventory.ByState
	case "service_identity_attribute_value":
		q.Sort = inventory.ByIdentity
	case "id":
		q.Sort = inventory.ByID
	}
	return q
}

// query returns the query of the store for a filter, apart from the id.
func (f *Filter) query() inventory.Query {
	return inventory.Query{
		Service: f.Service, States: f.States, Deleted: f.Deleted != NotDeleted,
		OnlyDeleted: f.Deleted == OnlyDeleted, Identity: f.Identity, Name: f.Name,
		Attributes: f.Attributes, Empty: setsOf(f.Empty), NotEmpty: setsOf(f.NotEmpty),
	}
}

// setsOf returns the sets of attributes with these names.
func setsOf(names []string) inventory.Sets {
	var out inventory.Sets
	for _, name := range names {
		out |= 1 << slices.Index(sets(), name)
	}
	return out
}

// sets returns the names of the sets of attributes, in the order of inventory.Sets.
func sets() []string { return []string{"candidate", "active", "rollback"} }

// record returns a record at a place, for queries of the store.
func (p *place) record() *inventory.Record {
	r := &inventory.Record{ID: p.ID, Created: time.UnixMicro(p.Created).UTC()}
	switch p.Sort {
	case "last_updated":
		at, _ := strconv.ParseInt(p.Key, 10, 64) // anything else is a place before all
		r.Updated = time.UnixMicro(at).UTC()
	case "state":
		r.State = p.Key
	case "service_identity_attribute_value":
		r.Identity = p.Key
	}
	return r
}

// stored returns records with a query of the store that reads no more than the page needs.
func (l *lister) stored() (foundRecords, error) {
	q, back := l.asked(), l.q.Before != ""
	q.Limit = min(l.limit+1, inventory.MaxPage)
	if back {
		q.NewestFirst = !q.NewestFirst
	}
	if l.at != nil {
		q.After = l.at.record()
	}
	page, err := l.s.Instances.Instances(l.ctx, l.env, q)
	if err != nil {
		return foundRecords{}, err
	}
	out, more := foundRecords{records: page[:min(len(page), l.limit)]}, 0
	if len(page) == inventory.MaxPage && l.limit == inventory.MaxPage { // nothing behind was read
		next := q
		next.After, next.Limit = &page[len(page)-1], 1
		if page, err = l.s.Instances.Instances(l.ctx, l.env, next); err != nil {
			return foundRecords{}, err
		}
		more = len(page)
	} else if len(page) > l.limit {
		more = 1
	}
	out.ahead, out.behind = 0, more
	switch {
	case back:
		slices.Reverse(out.records)
		out.ahead, out.behind = more, 1 // the place itself
	case l.at != nil:
		out.ahead = 1
	}
	if !l.q.Count {
		return out, nil
	}
	return out, l.counted(&out)
}

// counted counts the records around a page.
func (l *lister) counted(out *foundRecords) error {
	q := l.asked()
	n := len(out.records)
	if n > 0 {
		q.After = &out.records[0]
	} else if l.at != nil {
		q.After = l.at.record()
	}
	count, err := l.s.Instances.Count(l.ctx, l.env, q)
	if err != nil {
		return err
	}
	out.ahead = count.Ahead
	if n > 0 {
		out.ahead-- // the first record of the page
	}
	out.behind = max(count.Total-out.ahead-n, 0) // records may have changed between the two reads
	return nil
}

// matches reports whether an instance matches the filter.
func (f *Filter) matches(r *inventory.Record) bool {
	q := f.query()
	return q.Matches(r) && (f.ID == "" || strings.Contains(f.ID, "=") || f.ID == r.ID)
}

// shown returns an instance in the form of lists.
func (l *lister) shown(r *inventory.Record) (Instance, error) {
	k, err := l.defs.kept(l.ctx, r, r.Definition)
	if err != nil {
		return Instance{}, err
	}
	return shown(l.env, &found{*r, k.Service}), nil
}
