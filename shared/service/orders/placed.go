package orders

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

// Placed is an accepted order.
type Placed struct {
	ID          string    `json:"id"`
	Environment string    `json:"environment"`
	Description string    `json:"description"`
	Created     time.Time `json:"created_at"`
	// Completed is the time of the last outcome; nil while an item is in progress.
	Completed *time.Time `json:"completed_at"`
	Status    Status     `json:"status"`
	Items     []Accepted `json:"service_order_items"`
}

// Accepted is an item of an accepted order.
type Accepted struct {
	// Name is the name of the item in the order; "" if it has none.
	Name    string          `json:"name"`
	ID      string          `json:"instance_id"`
	Service string          `json:"service_entity"`
	Action  Action          `json:"action"`
	Config  map[string]bool `json:"config"`
	Status  ItemStatus      `json:"status"`
	// Instance is set in the response to the order.
	Instance *Instance `json:"instance,omitempty"`
}

// Status is the progress of an order.
type Status struct {
	State OrderState `json:"state"`
}

// OrderState is the combined progress of the items of an order.
type OrderState string

// The states of orders. In progress: an item is not done. Success: all items succeeded. Failed: no
// item succeeded. Partial: some items succeeded.
const (
	OrderInProgress OrderState = "in_progress"
	OrderSuccess    OrderState = "success"
	OrderFailed     OrderState = "failed"
	OrderPartial    OrderState = "partial"
)

// ItemStatus is the progress of an item.
type ItemStatus struct {
	State   inventory.ItemState `json:"state"`
	Failure *inventory.Failure  `json:"failure_type"`
	Reason  *string             `json:"reason"`
	// Label is the label of the state that the instance had reached; nil while the item is not
	// done.
	Label *string `json:"instance_state_label"`
	// Needs are the items that this one refers to: their instances, and their progress.
	Needs map[string]inventory.ItemState `json:"direct_dependencies"`
	// Compile is always nil: compiles have no ids.
	Compile *string `json:"validation_compile_id"`
}

const (
	// keptFor is the retention time of orders.
	keptFor = 366 * 24 * time.Hour
	// forgetEach is the interval at which a process deletes old orders.
	forgetEach = 24 * time.Hour
)

// noBook is the error of a home that keeps no orders.
func noBook() error {
	return fault.New(fault.Unsupported, "", "orders of several instances are not kept here")
}

// place writes an order with all its changes.
func (s *placing) place(
	ctx context.Context, env string, o Order, all []changed,
) (inventory.Order, error) {
	out := inventory.Order{
		ID: o.ID, Digest: digestOf(o), Description: o.Description, Created: s.now(),
	}
	made := map[string]bool{}
	for n := range all {
		made[all[n].record.ID] = true
	}
	changes := make([]inventory.Change, len(all))
	for n := range all {
		r, i := all[n].change.Record, &o.Items[n]
		if s.Book != nil {
			var err error
			if r, err = s.marked(ctx, env, &all[n], inventory.Mark{
				Order: o.ID, Item: n, Version: r.Version, Delete: i.Action == ActionDelete,
			}); err != nil {
				return out, err
			}
		}
		needs := slices.DeleteFunc(r.Leads(), func(id string) bool { return !made[id] })
		out.Items = append(out.Items, inventory.OrderItem{
			Name: i.Name, Instance: r.ID, Service: r.Service, Action: string(i.Action),
			Config: i.Config, Needs: needs,
		})
		changes[n] = inventory.Change{Record: r, Events: all[n].change.Events}
		all[n].record = r
	}
	if s.Book == nil {
		_, err := s.Instances.Write(ctx, env, changes)
		return out, err
	}
	_, err := s.Book.Place(ctx, env, out, changes)
	if err == nil {
		s.forget(ctx, env)
	}
	return out, err
}

// marked returns a record with a new mark. It first copies the outcomes of earlier marks to their
// orders. So an instance has few marks, and no outcome is lost.
func (s *placing) marked(
	ctx context.Context, env string, f *changed, m inventory.Mark,
) (inventory.Record, error) {
	r := f.change.Record
	earlier := r.Orders
	// An outcome that this change causes is not written yet, so its mark stays.
	const kept = 1
	for len(earlier) > kept {
		if err := s.Book.Note(ctx, env, earlier[0].Order, earlier[0].Item,
			earlier[0].Outcome); err != nil {
			return r, err
		}
		earlier = earlier[1:]
	}
	r.Orders = slices.Clone(earlier)
	return r.Marked(&f.def, m, s.now()), nil
}

// forget deletes old orders. It ignores failures, because they do not affect the placed order and
// the next order retries.
func (s *placing) forget(ctx context.Context, env string) {
	now := s.now()
	if at, ok := s.forgot.Load(env); ok && now.Sub(at.(time.Time)) < forgetEach {
		return
	}
	if s.Book.Forget(ctx, env, now.Add(-keptFor)) == nil {
		s.forgot.Store(env, now)
	}
}

// digestOf returns a hash that identifies a repetition of the order.
func digestOf(o Order) string {
	o.ID = ""
	b, err := json.Marshal(o)
	if err != nil {
		return "" // cannot happen: the order came as JSON or from this program
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// before returns the order that was placed under the same id. It fails if that is another order.
func (s *placing) before(ctx context.Context, env string, o Order) (Placed, bool, error) {
	if err := CheckID(o.ID); err != nil || s.Book == nil {
		return Placed{}, false, err
	}
	is, err := s.Book.Order(ctx, env, o.ID)
	switch {
	case fault.Is(err, fault.NotFound):
		return Placed{}, false, nil
	case err != nil:
		return Placed{}, false, err
	case is.Digest != digestOf(o):
		return Placed{}, false, inventory.ErrPlaced(o.ID)
	}
	p, err := s.shownOrder(ctx, env, is)
	for n := range p.Items {
		i, err := s.Instance(ctx, env, Ref{p.Items[n].Service, p.Items[n].ID})
		if err != nil {
			return p, true, err
		}
		p.Items[n].Instance = &i
	}
	return p, true, err
}

// accepted returns an order that was just placed.
func (s *placing) accepted(
	ctx context.Context, env string, o inventory.Order, all []changed,
) (Placed, error) {
	at := map[string]inventory.Record{}
	for n := range all {
		at[all[n].record.ID] = all[n].record
	}
	out := placedOf(env, &o, at)
	for n := range all {
		i, err := s.whole(ctx, env, &all[n].found)
		if err != nil {
			return out, err
		}
		out.Items[n].Instance = &i
	}
	return out, nil
}

// PlacedOrder returns an order by its id.
func (s *placing) PlacedOrder(ctx context.Context, env, id string) (Placed, error) {
	if s.Book == nil {
		return Placed{}, noBook()
	}
	o, err := s.Book.Order(ctx, env, id)
	if err == nil && s.over(&o) {
		err = inventory.ErrNoOrder(id)
	}
	if err != nil {
		return Placed{}, err
	}
	return s.shownOrder(ctx, env, o)
}

// over reports whether the retention time of an order has ended.
func (s *placing) over(o *inventory.Order) bool { return s.now().Sub(o.Created) > keptFor }

// shownOrder returns an order in the form of the API.
func (s *placing) shownOrder(
	ctx context.Context, env string, o inventory.Order,
) (Placed, error) {
	all, err := s.shownOrders(ctx, env, []inventory.Order{o})
	if err != nil {
		return Placed{}, err
	}
	return all[0], nil
}

// shownOrders returns orders in the form of the API. Outcomes that are not in an order yet are in
// its instances.
func (s *placing) shownOrders(
	ctx context.Context, env string, all []inventory.Order,
) ([]Placed, error) {
	var ids []string
	for n := range all {
		for i := range all[n].Items {
			if item := &all[n].Items[i]; item.Outcome.State == "" {
				ids = append(ids, item.Instance)
			}
		}
	}
	slices.Sort(ids)
	records, err := s.Book.Records(ctx, env, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	out := make([]Placed, len(all))
	for n := range all {
		o := &all[n]
		if unmarked(o, records) { // its mark moved to the order between the two reads
			if *o, err = s.Book.Order(ctx, env, o.ID); err != nil {
				return nil, err
			}
		}
		out[n] = placedOf(env, o, records)
	}
	return out, nil
}

// mark returns the mark of an order item in its instance.
func mark(o *inventory.Order, n int, r *inventory.Record) (inventory.Mark, bool) {
	for _, m := range r.Orders {
		if m.Order == o.ID && m.Item == n {
			return m, true
		}
	}
	return inventory.Mark{}, false
}

// unmarked reports whether an item has neither an outcome in the order nor a mark in its instance.
func unmarked(o *inventory.Order, records map[string]inventory.Record) bool {
	for n := range o.Items {
		r := records[o.Items[n].Instance]
		if _, ok := mark(o, n, &r); !ok && o.Items[n].Outcome.State == "" {
			return true
		}
	}
	return false
}

// placedOf returns an order with the outcomes of its items.
func placedOf(env string, o *inventory.Order, records map[string]inventory.Record) Placed {
	out := Placed{
		ID: o.ID, Environment: env, Description: o.Description, Created: o.Created,
		Items: make([]Accepted, len(o.Items)),
	}
	states := map[string]inventory.ItemState{}
	var last time.Time
	for n := range o.Items {
		i := &o.Items[n]
		r := records[i.Instance]
		done := i.Outcome
		if m, ok := mark(o, n, &r); ok && done.State == "" {
			done = m.Outcome
			if done.State == "" {
				done = inventory.Outcome{State: inventory.ItemAcknowledged}
				if r.Version > m.Version {
					done.State = inventory.ItemInProgress
				}
			}
		}
		out.Items[n] = acceptedOf(i, done)
		states[i.Instance] = out.Items[n].Status.State
		if done.At.After(last) {
			last = done.At
		}
	}
	for n := range out.Items {
		for _, id := range o.Items[n].Needs {
			out.Items[n].Status.Needs[id] = states[id]
		}
	}
	if out.Status.State = together(out.Items); out.Status.State != OrderInProgress {
		out.Completed = &last
	}
	return out
}

// acceptedOf returns an item with its outcome.
func acceptedOf(i *inventory.OrderItem, done inventory.Outcome) Accepted {
	status := ItemStatus{
		State: done.State, Reason: orNil(done.Reason), Label: orNil(done.Label),
		Needs: map[string]inventory.ItemState{},
	}
	if done.State == "" {
		status.State = inventory.ItemAcknowledged
	}
	if done.Failure != "" {
		status.Failure = &done.Failure
	}
	out := Accepted{
		Name: i.Name, ID: i.Instance, Service: i.Service, Action: Action(i.Action),
		Config: i.Config,
		Status: status,
	}
	if out.Config == nil {
		out.Config = map[string]bool{}
	}
	return out
}

// together returns the state of an order from the states of its items.
func together(items []Accepted) OrderState {
	completed, failed := 0, 0
	for n := range items {
		switch items[n].Status.State {
		case inventory.ItemCompleted:
			completed++
		case inventory.ItemFailed:
			failed++
		case inventory.ItemAcknowledged, inventory.ItemInProgress:
			return OrderInProgress
		}
	}
	switch {
	case failed == 0:
		return OrderSuccess
	case completed == 0:
		return OrderFailed
	}
	return OrderPartial
}

// OrderQuery selects orders. A place is the time in microseconds since 1970, "_", and the id of an
// order.
type OrderQuery struct {
	Place
	Descending bool
}

// OrderPage is a page of a list of orders.
type OrderPage = Part[Placed]

// orderAt parses a place of an order.
func orderAt(text string) (*inventory.Order, error) {
	created, id, _ := strings.Cut(text, "_")
	micros, err := strconv.ParseInt(created, 10, 64)
	if err != nil || !isID(id) {
		return nil, noPlace()
	}
	return &inventory.Order{ID: id, Created: time.UnixMicro(micros).UTC()}, nil
}

func placeOf(o *inventory.Order) string {
	return strconv.FormatInt(o.Created.UnixMicro(), 10) + "_" + o.ID
}

// PlacedOrders returns orders, sorted by the time when they were placed.
func (s *placing) PlacedOrders(ctx context.Context, env string, q OrderQuery) (OrderPage, error) {
	if s.Book == nil {
		return OrderPage{}, noBook()
	}
	back := q.Before != ""
	limit := inventory.OrderPage(q.Limit)
	ask := inventory.OrderQuery{NewestFirst: q.Descending != back, Limit: limit}
	if at := cmp.Or(q.After, q.Before); at != "" {
		var err error
		if ask.After, err = orderAt(at); err != nil || back && q.After != "" {
			return OrderPage{}, noPlace()
		}
	}
	found, err := s.Book.Orders(ctx, env, ask)
	if err != nil {
		return OrderPage{}, err
	}
	full := len(found) == limit
	ahead, behind := ask.After != nil, full
	if back {
		slices.Reverse(found)
		ahead, behind = full, true // the place itself is after the page
	}
	var page OrderPage
	if q.Count {
		page.Counts, err = s.countOrders(ctx, env, q.Descending, found, ask.After)
		if err != nil {
			return OrderPage{}, err
		}
		ahead, behind = page.Before > 0, page.After > 0
	}
	if n := len(found); n > 0 && ahead {
		page.Prev = placeOf(&found[0])
	}
	if n := len(found); n > 0 && behind {
		page.Next = placeOf(&found[n-1])
	}
	found = slices.DeleteFunc(found, func(o inventory.Order) bool { return s.over(&o) })
	page.Items, err = s.shownOrders(ctx, env, found)
	return page, err
}

// countOrders counts the orders around a page.
func (s *placing) countOrders(
	ctx context.Context, env string, descending bool, page []inventory.Order, at *inventory.Order,
) (Counts, error) {
	q := inventory.OrderQuery{NewestFirst: descending, After: at}
	if len(page) > 0 {
		q.After = &page[0]
	}
	n, err := s.Book.CountOrders(ctx, env, q)
	if err != nil {
		return Counts{}, err
	}
	out := Counts{Total: n.Total, Before: n.Ahead}
	if len(page) > 0 {
		out.Before-- // the first order of the page
	}
	out.After = max(n.Total-out.Before-len(page), 0) // orders may have come between the two reads
	return out, nil
}
