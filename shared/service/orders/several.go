package orders

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// Action is the request of an order item.
type Action string

// The actions.
const (
	ActionCreate Action = "create"
	ActionUpdate Action = "update"
	ActionDelete Action = "delete"
)

// Item is a part of an order that creates, changes or deletes an instance.
type Item struct {
	// Name identifies an existing instance as Ref.ID does. For a new instance it is a UUID, a name
	// for relations of the other items, or "".
	Name    string
	Service string
	Action  Action
	// Version is the version that the caller has read; nil: any version.
	Version    *int64
	Attributes map[string]any
	Edits      []inventory.Edit
	Metadata   map[string]string
	Config     map[string]bool
}

// Order is a list of changes of several instances.
type Order struct {
	// ID is a UUID for the order; "" generates one.
	ID          string
	Description string
	Items       []Item
}

// Order carries out all items of an order, or none. The Resource of each problem is an item.
func (s *placing) Order(ctx context.Context, env string, o Order) (Placed, error) {
	if len(o.Items) == 0 || len(o.Items) > inventory.MaxChanges {
		return Placed{}, fault.New(fault.Invalid, "", "the order has %d items, and may have 1 to %d",
			len(o.Items), inventory.MaxChanges)
	}
	if o.ID == "" {
		o.ID = s.NewID()
	} else if before, known, err := s.before(ctx, env, o); known || err != nil {
		return before, err
	}
	names, ids, err := s.named(o.Items)
	if err != nil {
		return Placed{}, err
	}
	for n := 1; ; n++ {
		all, err := s.items(ctx, env, o, names, ids)
		if err != nil {
			return Placed{}, err
		}
		placed, err := s.place(ctx, env, o, all)
		if err == nil {
			s.Changed(env)
			return s.accepted(ctx, env, placed, all)
		}
		if fault.Is(err, fault.Conflict) {
			if before, known, other := s.before(ctx, env, o); known || other != nil {
				return before, other
			}
			if n < tries && !s.made(ctx, env, all) {
				continue
			}
		}
		return Placed{}, s.whose(ctx, env, o, all, err)
	}
}

// made reports whether an instance that an order would create exists already.
func (s *placing) made(ctx context.Context, env string, all []changed) bool {
	for i := range all {
		if r := &all[i].change.Record; r.Rev == 0 {
			if _, err := s.Instances.Instance(ctx, env, r.ID); err == nil {
				return true
			}
		}
	}
	return false
}

// item returns the name of an item for people.
func (i *Item) item(n int) string {
	out := fmt.Sprintf("item %d: %s", n+1, i.Service)
	if i.Name != "" {
		out += " " + i.Name
	}
	return out
}

// named assigns ids to the instances that an order creates.
func (s *placing) named(items []Item) (names, []string, error) {
	all, ids := names{}, make([]string, len(items))
	var problems diag.Problems
	for n := range items {
		i := &items[n]
		if i.Action != ActionCreate {
			continue
		}
		ids[n] = i.Name
		if !isID(i.Name) {
			ids[n] = s.NewID()
		}
		if _, twice := all[i.Name]; twice && i.Name != "" {
			problems.Add(diag.Problem{
				Resource: i.item(n), Pointer: itemPointer(n) + "/instance_id",
				Message: "another item has this name", Hint: "use another one",
			})
		}
		all[i.Name], all[ids[n]] = named{ids[n], i.Service}, named{ids[n], i.Service}
	}
	delete(all, "")
	return all, ids, problems.Err()
}

// items returns the changes of all items, or their problems.
func (s *placing) items(
	ctx context.Context, env string, o Order, names names, ids []string,
) ([]changed, error) {
	var problems diag.Problems
	out := make([]changed, 0, len(o.Items))
	seen, identities := map[string]bool{}, map[string]bool{}
	for n := range o.Items {
		i := &o.Items[n]
		c, err := s.item(ctx, env, i, names, ids[n])
		if err == nil && seen[c.record.ID] {
			err = fault.New(fault.Invalid, "", "another item is about the instance %s, too",
				c.record.ID).WithHint("make one item of them")
		}
		if c.record.Identity != "" && i.Action == ActionCreate {
			key := c.record.Service + "\x00" + c.record.Identity
			if err == nil && identities[key] {
				err = diag.Problems{{
					Attribute: *c.def.Identity, Code: CodeIdentity, Hint: "use another one",
					Message: "another item has the identity " + c.record.Identity + ", too",
				}}
			}
			identities[key] = true
		}
		if err != nil {
			if !wrong(err) {
				return nil, err
			}
			problems = append(problems, of(i.item(n), itemPointer(n), err)...)
			continue
		}
		seen[c.record.ID] = true
		out = append(out, c)
	}
	return out, problems.Err()
}

// wrong reports whether an error has its cause in the order.
func wrong(err error) bool {
	if problems, _ := diag.Of(err); len(problems) > 0 {
		return true
	}
	return fault.Is(err, fault.Invalid) || fault.Is(err, fault.NotFound)
}

// itemPointer returns the JSON pointer to an item in the body of an order.
func itemPointer(n int) string { return "/service_order_items/" + strconv.Itoa(n) }

// of returns an error as problems of an item. pointer is the JSON pointer to the item.
func of(item, pointer string, err error) diag.Problems {
	problems, _ := diag.Of(err)
	if len(problems) == 0 {
		problems = diag.Problems{{Message: err.Error(), Hint: fault.HintOf(err)}}
	}
	for i := range problems {
		problems[i].Resource = item
		problems[i].Pointer = pointer + problems[i].Pointer
	}
	return problems
}

// item returns the change for an item.
func (s *placing) item(
	ctx context.Context, env string, i *Item, names names, id string,
) (changed, error) {
	if err := i.check(); err != nil {
		return changed{}, err
	}
	w := Wish{Ref: Ref{i.Service, i.Name}, Version: i.Version}
	switch {
	case i.Action == ActionCreate:
		return s.creation(ctx, env, Creation{
			Service: i.Service, ID: id, Attributes: i.Attributes, Metadata: i.Metadata,
			Config: i.Config,
		}, names)
	case i.Action == ActionDelete:
		return s.prepared(ctx, env, w, string(lifecycle.ByDelete),
			s.event(func(v int64) lifecycle.Event { return lifecycle.Delete{Version: v} }))
	case i.Edits != nil:
		return s.prepared(ctx, env, w, string(lifecycle.ByUpdate), s.edit(ctx, env, i.Edits, names))
	}
	return s.prepared(ctx, env, w, string(lifecycle.ByUpdate),
		s.update(ctx, env, i.Attributes, names))
}

// check rejects an item whose fields do not fit its action.
func (i *Item) check() error {
	message, hint := "", ""
	switch i.Action {
	case ActionCreate:
		if i.Edits != nil {
			message, hint = "there is nothing to edit yet", "give attributes"
		}
	case ActionUpdate:
		if (i.Edits == nil) == (i.Attributes == nil) {
			message, hint = "an update has attributes, or edits", "give one of them"
		}
	case ActionDelete:
		if i.Attributes != nil || i.Edits != nil {
			message, hint = "a delete has no attributes", "leave them out"
		}
	default:
		message = fmt.Sprintf("%q is not an action", i.Action)
		hint = "use create, update or delete"
	}
	if i.Action != ActionCreate && len(i.Metadata)+len(i.Config) > 0 {
		message, hint = "metadata and settings apply to new instances only", "set them at the instance"
	}
	if message == "" {
		return nil
	}
	return fault.New(fault.Invalid, "", "%s", message).WithHint("%s", hint)
}

// whose finds the item whose identity another instance has taken since the check. It returns a
// problem of that item, or else the error failed.
func (s *placing) whose(
	ctx context.Context, env string, o Order, all []changed, failed error,
) error {
	for n := range all {
		err := s.explained(ctx, env, &all[n], failed)
		if err != nil && !errors.Is(err, failed) {
			return of(o.Items[n].item(n), itemPointer(n), err)
		}
	}
	return failed
}
