package inventory

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/lifecycle"
)

// Order is an order of several instances, as it was placed. What it gave instances stands in their
// history.
type Order struct {
	ID string `json:"id"`
	// Digest is of all that was asked for, so that the same order is known when it comes again.
	Digest      string      `json:"digest"`
	Description string      `json:"description,omitempty"`
	Created     time.Time   `json:"created_at"`
	Items       []OrderItem `json:"items"`
}

// OrderItem is a part of an order, about one instance.
type OrderItem struct {
	Name     string          `json:"name,omitempty"` // in the order; "" if it has none
	Instance string          `json:"instance"`       // id, also of one that is yet to be made
	Service  string          `json:"service"`
	Action   string          `json:"action"`           // create, update or delete
	Config   map[string]bool `json:"config,omitempty"` // settings of the lifecycle
	// Needs are instances of other items that this one leads to.
	Needs []string `json:"needs,omitempty"`
	// Outcome is what became of it, once that is noted here; until then the instance says so.
	Outcome Outcome `json:"outcome,omitzero"`
}

// Mark says in the record of an instance what became of an item of an order.
type Mark struct {
	Order string `json:"order"`
	Item  int    `json:"item"`
	// Version is that of the instance when the item was accepted.
	Version int64   `json:"version"`
	Delete  bool    `json:"delete,omitempty"`
	Outcome Outcome `json:"outcome,omitzero"`
}

// Outcome is what became of an item of an order. It never changes.
type Outcome struct {
	State   ItemState `json:"state,omitempty"` // "" as long as it is not known
	Failure Failure   `json:"failure,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Label   string    `json:"label,omitempty"` // of the state that the instance had come to
	At      time.Time `json:"at,omitzero"`
}

// ItemState is how far an item of an order is.
type ItemState string

// The states of items. The first two are never those of an outcome.
const (
	ItemAcknowledged ItemState = "acknowledged"
	ItemInProgress   ItemState = "in_progress"
	ItemCompleted    ItemState = "completed"
	ItemFailed       ItemState = "failed"
)

// Failure is why an item of an order failed.
type Failure string

// The failures: a validation said no, the instance came to a state of failure otherwise, or
// somebody asked something else of the instance before that was known.
const (
	FailedValidation Failure = "VALIDATION_COMPILE_FAILED"
	FailedExecution  Failure = "EXECUTION_FAILED"
	Inconclusive     Failure = "INCONCLUSIVE"
)

// OrderQuery asks for orders by the time when they were placed.
type OrderQuery struct {
	NewestFirst bool
	After       *Order // the last one of the page before; only ID and Created count
	Limit       int    // at most MaxOrders; 0 is MaxOrders
}

const (
	// MaxOrders is how many orders a page has.
	MaxOrders = 100
	// MaxOrder is how many bytes of JSON an order has.
	MaxOrder = 256 << 10
	// perOrder is what an order takes of a transaction, beside its instances.
	perOrder = 2
)

// OrderBook keeps orders of several instances. Errors are those of Store.
type OrderBook interface {
	// Place stores an order together with the changes that it is, all or nothing, and returns the
	// new revisions. It fails as Write does, and with fault.Conflict where there is an order of the
	// id.
	Place(ctx context.Context, env string, o Order, changes []Change) ([]int64, error)
	// Order returns an order.
	Order(ctx context.Context, env, id string) (Order, error)
	// Orders returns a page of orders.
	Orders(ctx context.Context, env string, q OrderQuery) ([]Order, error)
	// CountOrders counts the orders of a query whatever its limit, and those up to After.
	CountOrders(ctx context.Context, env string, q OrderQuery) (Count, error)
	// Note keeps with an order what became of an item. It does nothing where that is kept already,
	// or there is no such item any more.
	Note(ctx context.Context, env, id string, item int, o Outcome) error
	// Forget lets go of orders that were placed before a time, the oldest first, some at a time.
	Forget(ctx context.Context, env string, before time.Time) error
	// Records returns records by their ids; those that do not exist are left out.
	Records(ctx context.Context, env string, ids []string) (map[string]Record, error)
}

// Note keeps what became of an item, and reports whether that is new.
func (o *Order) Note(item int, outcome Outcome) bool {
	if item < 0 || item >= len(o.Items) || o.Items[item].Outcome.State != "" {
		return false
	}
	o.Items[item].Outcome = outcome
	return true
}

// CheckOrder refuses an order that no store can keep. Stores call it first.
func CheckOrder(o *Order) error {
	body, err := json.Marshal(o)
	switch {
	case err != nil:
		return fault.New(fault.Invalid, opWrite, "the order is not JSON: %v", err)
	case len(body) > MaxOrder:
		return fault.New(fault.Invalid, opWrite,
			"the order has %d bytes of JSON without its attributes, "+
				"and may have %d", len(body), MaxOrder).WithHint(HintFewer)
	case o.ID == "" || len(o.ID) > MaxName:
		return fault.New(fault.Invalid, opWrite, "the id of an order has 1 to %d bytes", MaxName)
	}
	return nil
}

// CheckOrderWeight is CheckWeight for changes that are written with an order.
func CheckOrderWeight(changes, come, gone, generations int) error {
	return checkWeight(maxWeight-perOrder-generations, changes, come, gone)
}

// OrderPage returns how many orders a page holds for a limit.
func OrderPage(limit int) int {
	if limit <= 0 || limit > MaxOrders {
		return MaxOrders
	}
	return limit
}

// ErrPlaced is the error of Place where there is an order of the id.
func ErrPlaced(id string) error {
	return fault.New(fault.Conflict, opWrite, "there is an order %s already", id).
		WithHint("use another id, or leave it out")
}

// ErrNoOrder is the error where there is no order of an id.
func ErrNoOrder(id string) error {
	return fault.New(fault.NotFound, "read order", "there is no order %s", id).
		WithHint("an order is kept for a year")
}

// Settled reports whether nothing is to come of an instance without somebody asking for it.
func (r *Record) Settled(d *definition.Service) bool {
	if len(r.Tasks) > 0 || r.Validating != "" {
		return false
	}
	state, ok := d.Lifecycle.State(r.State)
	if r.Deleted || !ok || !state.ExportResources || r.Outcome != lifecycle.Pending {
		return true
	}
	for i := range d.Lifecycle.Transfers {
		if t := &d.Lifecycle.Transfers[i]; t.Source == r.State && t.ResourceBased {
			return false
		}
	}
	return true
}

// Failing reports whether an instance is in a state of failure, with the label of the state.
func (r *Record) Failing(d *definition.Service) (failing bool, label string) {
	if state, ok := d.Lifecycle.State(r.State); ok {
		label = state.Label
	}
	return label == "danger" || label == "warning" || r.Outcome == lifecycle.Failed, label
}

// Marked returns the record with a mark for an item of an order.
func (r Record) Marked(d *definition.Service, m Mark, now time.Time) Record {
	r.Orders = append(slices.Clone(r.Orders), m)
	r.conclude(d, now)
	return r
}

// open returns the mark of which it is not known what became of it; nil: there is none. It may be
// changed.
func (r *Record) open() *Mark {
	n := len(r.Orders) - 1
	if n < 0 || r.Orders[n].Outcome.State != "" {
		return nil
	}
	r.Orders = slices.Clone(r.Orders)
	return &r.Orders[n]
}

// remark brings a mark to where an event has led.
func (r *Record) remark(d *definition.Service, e lifecycle.Event, now time.Time) {
	m := r.open()
	if m == nil {
		return
	}
	switch e := e.(type) {
	case lifecycle.Update, lifecycle.Delete, lifecycle.SetState, lifecycle.Force:
		m.Outcome = Outcome{
			State: ItemFailed, Failure: Inconclusive, At: now,
			Reason: "something else was asked of the instance before this was done",
		}
		return
	case lifecycle.Validated:
		if e.Failed {
			m.Outcome.Failure = FailedValidation
		}
	}
	r.conclude(d, now)
}

// conclude says what became of an item, if that is known: nothing more is to come.
func (r *Record) conclude(d *definition.Service, now time.Time) {
	m := r.open()
	if m == nil || !r.Deleted && !r.Settled(d) {
		return
	}
	failing, label := r.Failing(d)
	failing = !r.Deleted && (failing || m.Delete)
	failure := m.Outcome.Failure
	m.Outcome = Outcome{State: ItemCompleted, Label: label, At: now}
	if !failing {
		return
	}
	if failure == "" {
		failure = FailedExecution
	}
	m.Outcome.State, m.Outcome.Failure, m.Outcome.Reason = ItemFailed, failure, r.reason()
}

// reason says what is wrong with an instance, in one line.
func (r *Record) reason() string {
	var problems []diag.Problem
	if json.Unmarshal(r.Problems, &problems) != nil || len(problems) == 0 {
		return "the instance came to the state " + r.State
	}
	return problems[0].Message
}
