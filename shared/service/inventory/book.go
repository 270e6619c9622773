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

// Order is an order of several instances, as it was placed. The history of each instance holds the
// attributes that the order gave it.
type Order struct {
	ID string `json:"id"`
	// Digest is a hash of the whole request. A repeated request is recognized by its digest.
	Digest      string      `json:"digest"`
	Description string      `json:"description,omitempty"`
	Created     time.Time   `json:"created_at"`
	Items       []OrderItem `json:"items"`
}

// OrderItem is a part of an order, about one instance.
type OrderItem struct {
	Name     string          `json:"name,omitempty"` // unique in the order; "" if the item has none
	Instance string          `json:"instance"`       // the id, even of a new instance
	Service  string          `json:"service"`
	Action   string          `json:"action"`           // create, update or delete
	Config   map[string]bool `json:"config,omitempty"` // settings of the lifecycle
	// Needs are the instances of other items that this one refers to.
	Needs []string `json:"needs,omitempty"`
	// Outcome is the result of the item once it is recorded here. Until then the mark in the record
	// of the instance holds it.
	Outcome Outcome `json:"outcome,omitzero"`
}

// Mark records the outcome of an order item in the record of its instance.
type Mark struct {
	Order string `json:"order"`
	Item  int    `json:"item"`
	// Version is the version of the instance when the item was accepted.
	Version int64   `json:"version"`
	Delete  bool    `json:"delete,omitempty"`
	Outcome Outcome `json:"outcome,omitzero"`
}

// Outcome is the result of an order item. It never changes.
type Outcome struct {
	State   ItemState `json:"state,omitempty"` // "" while the result is unknown
	Failure Failure   `json:"failure,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Label   string    `json:"label,omitempty"` // of the state that the instance had reached
	At      time.Time `json:"at,omitzero"`
}

// ItemState is the progress of an order item.
type ItemState string

// The states of items. An Outcome has only one of the last two.
const (
	ItemAcknowledged ItemState = "acknowledged"
	ItemInProgress   ItemState = "in_progress"
	ItemCompleted    ItemState = "completed"
	ItemFailed       ItemState = "failed"
)

// Failure is the reason why an order item failed.
type Failure string

// The failures. FailedValidation: a validation rejected the item. FailedExecution: the instance
// reached a failure state otherwise. Inconclusive: another request changed the instance before the
// result was known.
const (
	FailedValidation Failure = "VALIDATION_COMPILE_FAILED"
	FailedExecution  Failure = "EXECUTION_FAILED"
	Inconclusive     Failure = "INCONCLUSIVE"
)

// OrderQuery selects orders by the time when they were placed.
type OrderQuery struct {
	NewestFirst bool
	After       *Order // the last order of the previous page; only ID and Created count
	Limit       int    // at most MaxOrders; 0 means MaxOrders
}

const (
	// MaxOrders is the number of orders in a page.
	MaxOrders = 100
	// MaxOrder is the size of an order in bytes of JSON.
	MaxOrder = 256 << 10
	// perOrder is the number of items of a transaction that an order takes, besides its instances.
	perOrder = 2
)

// OrderBook keeps orders of several instances. Its errors are those of Store.
type OrderBook interface {
	// Place stores an order together with its changes, all or nothing, and returns the new
	// revisions. It fails as Write does, and with fault.Conflict if the id of the order is taken.
	Place(ctx context.Context, env string, o Order, changes []Change) ([]int64, error)
	// Order returns an order.
	Order(ctx context.Context, env, id string) (Order, error)
	// Orders returns a page of orders.
	Orders(ctx context.Context, env string, q OrderQuery) ([]Order, error)
	// CountOrders counts the orders of a query, and those up to After. It ignores the limit.
	CountOrders(ctx context.Context, env string, q OrderQuery) (Count, error)
	// Note records the outcome of an item in an order. It does nothing if an outcome is recorded
	// already, or if the item no longer exists.
	Note(ctx context.Context, env, id string, item int, o Outcome) error
	// Forget deletes orders that were placed before a time, oldest first, a batch a call.
	Forget(ctx context.Context, env string, before time.Time) error
	// Records returns records by their ids. It omits ids that do not exist.
	Records(ctx context.Context, env string, ids []string) (map[string]Record, error)
}

// Note records the outcome of an item, and reports whether the outcome is new.
func (o *Order) Note(item int, outcome Outcome) bool {
	if item < 0 || item >= len(o.Items) || o.Items[item].Outcome.State != "" {
		return false
	}
	o.Items[item].Outcome = outcome
	return true
}

// CheckOrder rejects an order that no store can keep. Stores call it first.
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

// CheckOrderWeight is CheckWeight for changes that a store writes together with an order.
func CheckOrderWeight(changes, come, gone, generations int) error {
	return checkWeight(maxWeight-perOrder-generations, changes, come, gone)
}

// OrderPage returns the page size for a limit.
func OrderPage(limit int) int {
	if limit <= 0 || limit > MaxOrders {
		return MaxOrders
	}
	return limit
}

// ErrPlaced is the error of Place if an order with the id exists.
func ErrPlaced(id string) error {
	return fault.New(fault.Conflict, opWrite, "there is an order %s already", id).
		WithHint("use another id, or leave it out")
}

// ErrNoOrder is the error if no order has the id.
func ErrNoOrder(id string) error {
	return fault.New(fault.NotFound, "read order", "there is no order %s", id).
		WithHint("an order is kept for a year")
}

// Settled reports whether an instance will stay as it is until a request changes it.
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

// Failing reports whether an instance is in a failure state, and returns the label of its state.
func (r *Record) Failing(d *definition.Service) (failing bool, label string) {
	if state, ok := d.Lifecycle.State(r.State); ok {
		label = state.Label
	}
	return label == "danger" || label == "warning" || r.Outcome == lifecycle.Failed, label
}

// Marked returns the record with a mark for an order item.
func (r Record) Marked(d *definition.Service, m Mark, now time.Time) Record {
	r.Orders = append(slices.Clone(r.Orders), m)
	r.conclude(d, now)
	return r
}

// open returns the mark whose outcome is unknown; nil if there is none. The caller may change it.
func (r *Record) open() *Mark {
	n := len(r.Orders) - 1
	if n < 0 || r.Orders[n].Outcome.State != "" {
		return nil
	}
	r.Orders = slices.Clone(r.Orders)
	return &r.Orders[n]
}

// remark updates the open mark after an event.
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

// conclude records the outcome of the open mark if the instance is settled or deleted.
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

// reason returns the first problem of an instance, in one line.
func (r *Record) reason() string {
	var problems []diag.Problem
	if json.Unmarshal(r.Problems, &problems) != nil || len(problems) == 0 {
		return "the instance came to the state " + r.State
	}
	return problems[0].Message
}
