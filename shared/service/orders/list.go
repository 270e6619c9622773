package orders

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// Deleted says whether deleted instances are listed.
type Deleted string

// Whether deleted instances are listed: they are not, too, or alone.
const (
	NotDeleted  Deleted = ""
	WithDeleted Deleted = "include"
	OnlyDeleted Deleted = "only"
)

// Filter picks instances.
type Filter struct {
	Service  string   // "" for all
	States   []string // none for all
	Deleted  Deleted
	ID       string
	Identity string // the whole of it
	// Name is a part of an id, or of an identity.
	Name string
	// Attributes are values, as text, that attributes have: those asked for, or those that hold.
	Attributes map[string]string
	// Empty and NotEmpty are sets of attributes: candidate, active, rollback.
	Empty, NotEmpty []string
}

// Query asks for instances.
type Query struct {
	Filter
	// Sort is one of Sorts; "" is created_at.
	Sort       string
	Descending bool
	After      string // Next of the page before
	Limit      int    // 0: as many as a page holds
	// Bytes is how much JSON a page has about; 0: as much as it takes.
	Bytes int
}

// Page is a part of a list. Next, when not empty, is what the following one is asked for with.
type Page struct {
	Items []Instance
	Next  string
}

// Sorts returns what instances can be sorted by.
func Sorts() []string {
	return []string{"created_at", "last_updated", "state", "service_identity_attribute_value", "id"}
}

// maxSorted is how many instances are put in another order than that of their creation.
const maxSorted = 20000

// List returns instances.
func (s *views) List(ctx context.Context, env string, q Query) (Page, error) {
	after, err := q.check()
	if err != nil {
		return Page{}, err
	}
	l := &lister{s: s, ctx: ctx, env: env, q: q, defs: map[string]definition.Service{}}
	if q.Service != "" {
		if _, err := s.Definitions.One(ctx, env, q.Service, -1); err != nil {
			return Page{}, err
		}
	}
	limit := inventory.Page(q.Limit)
	var got []inventory.Record
	if by := cmp.Or(q.Sort, Sorts()[0]); by == Sorts()[0] {
		got, err = l.read(after, limit+1)
	} else {
		got, err = l.sorted(by, after, limit+1)
	}
	if err != nil {
		return Page{}, err
	}
	return l.page(got, limit)
}

// page returns the first of what was found.
func (l *lister) page(got []inventory.Record, limit int) (Page, error) {
	p, bytes := Page{Items: []Instance{}}, 0
	for i := range got {
		if i == limit || l.q.Bytes > 0 && bytes > l.q.Bytes {
			p.Next = l.q.place(&got[i-1]).text()
			break
		}
		one, err := l.shown(&got[i])
		if err != nil {
			return p, err
		}
		if l.q.Bytes > 0 {
			bytes += len(text(got[i].Candidate)) + len(text(got[i].Active)) +
				len(text(got[i].Rollback))
		}
		p.Items = append(p.Items, one)
	}
	return p, nil
}

// Check refuses a query that cannot be answered.
func (q *Query) Check() error {
	_, err := q.check()
	return err
}

// check is Check that returns where the query goes on.
func (q *Query) check() (*place, error) {
	if q.Sort != "" && !slices.Contains(Sorts(), q.Sort) {
		return nil, fault.New(fault.Invalid, "", "instances are not sorted by %q", q.Sort).
			WithHint("sort by %s", strings.Join(Sorts(), ", "))
	}
	for _, set := range slices.Concat(q.Empty, q.NotEmpty) {
		if !slices.Contains([]string{"candidate", "active", "rollback"}, set) {
			return nil, fault.New(fault.Invalid, "", "%q is not a set of attributes", set).
				WithHint("use candidate, active or rollback")
		}
	}
	if q.After == "" {
		return nil, nil // it begins at the beginning
	}
	p := &place{}
	b, err := base64.RawURLEncoding.DecodeString(q.After)
	if err != nil || json.Unmarshal(b, p) != nil || p.Sort != q.Sort {
		return nil, fault.New(fault.Usage, "", "this is not a place in this list").
			WithHint("begin at the beginning, with the same filter and order")
	}
	return p, nil
}

// place is an instance in a sorted list.
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
	b, _ := json.Marshal(p) // texts and a number
	return base64.RawURLEncoding.EncodeToString(b)
}

// key returns what an instance is sorted by, as text.
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
	s    *views
	ctx  context.Context // of the one request that it is made for
	env  string
	q    Query
	defs map[string]definition.Service
}

// one returns the only instance that a filter can leave, with true; false if there may be several.
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
	if err != nil {
		return nil, true, err
	}
	return []inventory.Record{r}, true, nil
}

// read returns instances by their creation, behind a place.
func (l *lister) read(after *place, limit int) ([]inventory.Record, error) {
	got, only, err := l.one()
	if only || err != nil {
		return l.matching(got, after), err
	}
	q := inventory.Query{
		Service: l.q.Service, States: l.q.States, Deleted: l.q.Deleted != NotDeleted,
		NewestFirst: l.q.Descending, Limit: inventory.MaxPage,
	}
	if l.q.plain() {
		q.Limit = limit
	}
	if after != nil {
		q.After = &inventory.Record{ID: after.ID, Created: time.UnixMicro(after.Created).UTC()}
	}
	var out []inventory.Record
	for {
		page, err := l.s.Instances.Instances(l.ctx, l.env, q)
		if err != nil {
			return nil, err
		}
		out = append(out, l.matching(page, nil)...)
		if len(page) < inventory.Page(q.Limit) || len(out) >= limit {
			return out[:min(len(out), limit)], nil
		}
		q.After = &page[len(page)-1]
	}
}

// plain reports whether the store itself applies all of a filter.
func (f *Filter) plain() bool {
	return f.Deleted != OnlyDeleted && f.Identity == "" && f.Name == "" && len(f.Attributes) == 0 &&
		len(f.Empty) == 0 && len(f.NotEmpty) == 0
}

// sorted returns instances by something else than their creation.
func (l *lister) sorted(by string, after *place, limit int) ([]inventory.Record, error) {
	down := l.q.Descending
	l.q.Descending = false
	all, err := l.read(nil, maxSorted+1)
	if err != nil {
		return nil, err
	}
	if len(all) > maxSorted {
		return nil, fault.New(fault.Invalid, "", "more than %d instances cannot be sorted by %s",
			maxSorted, by).WithHint("ask for fewer with a filter, or sort by created_at")
	}
	order := func(c int) int {
		if down {
			return -c
		}
		return c
	}
	slices.SortStableFunc(all, func(a, b inventory.Record) int {
		return order(l.q.place(&a).compare(l.q.place(&b)))
	})
	if after != nil {
		all = slices.DeleteFunc(all, func(r inventory.Record) bool {
			return order(l.q.place(&r).compare(after)) <= 0
		})
	}
	return all[:min(len(all), limit)], nil
}

// matching returns the records that a filter leaves, behind a place if there is one.
func (l *lister) matching(all []inventory.Record, after *place) []inventory.Record {
	var out []inventory.Record
	for i := range all {
		behind := after == nil
		if !behind {
			c := l.q.place(&all[i]).compare(after)
			behind = c > 0 && !l.q.Descending || c < 0 && l.q.Descending
		}
		if behind && l.q.matches(&all[i]) {
			out = append(out, all[i])
		}
	}
	return out
}

// matches reports whether a filter leaves an instance.
func (f *Filter) matches(r *inventory.Record) bool {
	switch {
	case f.Service != "" && f.Service != r.Service,
		len(f.States) > 0 && !slices.Contains(f.States, r.State),
		f.Deleted == NotDeleted && r.Deleted, f.Deleted == OnlyDeleted && !r.Deleted,
		f.ID != "" && !strings.Contains(f.ID, "=") && f.ID != r.ID,
		f.Identity != "" && f.Identity != r.Identity,
		f.Name != "" && !strings.Contains(r.ID, f.Name) && !strings.Contains(r.Identity, f.Name):
		return false
	}
	sets := map[string]bool{
		"candidate": r.Candidate != nil, "active": r.Active != nil, "rollback": r.Rollback != nil,
	}
	for _, name := range f.Empty {
		if sets[name] {
			return false
		}
	}
	for _, name := range f.NotEmpty {
		if !sets[name] {
			return false
		}
	}
	for name, want := range f.Attributes {
		if !has(r.Candidate, name, want) && !has(r.Active, name, want) {
			return false
		}
	}
	return true
}

// has reports whether an attribute has a value, or is a list with it.
func has(set map[string]any, name, want string) bool {
	v, ok := set[name]
	if list, is := v.([]any); is {
		return slices.ContainsFunc(list, func(one any) bool { return inventory.Called(one, want) })
	}
	return ok && v != nil && inventory.Called(v, want)
}

// shown returns an instance as it is shown in a list.
func (l *lister) shown(r *inventory.Record) (Instance, error) {
	k := fmt.Sprintf("%s %d %s", r.Definition, r.ServiceVersion, r.Service)
	d, ok := l.defs[k]
	if !ok {
		kept, err := l.s.Definitions.Of(l.ctx, l.env, r.Service, r.ServiceVersion, r.Definition)
		if err != nil {
			return Instance{}, err
		}
		d = kept.Service
		l.defs[k] = d
	}
	return shown(l.env, &found{*r, d}), nil
}
