package console

import (
	"context"
	"net/url"
	"slices"

	"southbound/shared/api"
	"southbound/shared/console/form"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/orders"
)

// ordersView is what the overview says about services.
type ordersView struct {
	Failed     []failedRow
	MoreFailed []form.Link  // the failed instances of each service; none: these are all
	Placed     []placedRow  // orders of today
	All        string       // the address of the list of orders; "": there are none
	Wrong      *problemView // why they are not known
}

// failedRow is an instance or an order that failed.
type failedRow struct {
	Row    string
	Status statusView
	Kind   string
	Name   cutText
	URL    string
	Reason string
	At     timeView
}

// ordersView returns the failed instances, the failed orders of today, and all orders of today. A
// home without orders has none.
func (r *request) ordersView(ctx context.Context) ordersView {
	var d ordersView
	o, err := r.orders(ctx)
	if err == nil {
		err = r.failedInstances(ctx, o, &d)
	}
	if err == nil {
		err = r.ordersOfToday(ctx, o, &d)
	}
	if err = unlessNone(err); err != nil && !fault.Is(err, fault.Unsupported) {
		d.Wrong = r.problem(err)
	}
	return d
}

// failedInstances adds the instances in states labelled warning or danger, the newest first.
func (r *request) failedInstances(ctx context.Context, o api.Orders, d *ordersView) error {
	all, err := o.Catalog(ctx, r.Env, true, false)
	if err != nil || len(all) == 0 {
		return err
	}
	var states []string
	for i := range all {
		states = append(states, failedStates(&all[i].Service)...)
	}
	slices.Sort(states)
	states = slices.Compact(states)
	if len(states) == 0 {
		return nil
	}
	page, err := o.List(ctx, r.Env, orders.Query{Filter: orders.Filter{States: states},
		Place: orders.Place{Limit: maxWrong}, Descending: true})
	for i := range page.Items {
		x := &page.Items[i]
		if !x.Failed {
			continue // a state of this name is a good one in its service
		}
		d.Failed = append(d.Failed, failedRow{
			Row: "f-" + x.ID, Status: lifecycleStatus(x.State, x.Label), Kind: x.Service,
			Name: cut(instanceName(x), maxPart), URL: r.instanceURL(x.ID, ""),
			Reason: shorten(x.Problem(), 600), At: r.timeAgo(x.Updated),
		})
	}
	if page.Next != "" {
		d.MoreFailed = r.failedLists(all)
	}
	return err
}

// failedStates returns the states of a service that are labelled warning or danger.
func failedStates(s *definition.Service) []string {
	var out []string
	for _, one := range s.Lifecycle.States {
		if one.Label == "danger" || one.Label == "warning" {
			out = append(out, one.Name)
		}
	}
	return out
}

// failedLists returns links to the failed instances of each service that has such states.
func (r *request) failedLists(all []orders.Offer) []form.Link {
	var out []form.Link
	for i := range all {
		if states := failedStates(&all[i].Service); len(states) > 0 {
			name := all[i].Name
			out = append(out, form.Link{Name: name,
				URL: r.urlOf("services/"+url.PathEscape(name)+"/instances", url.Values{inState: states})})
		}
	}
	return out
}

// ordersOfToday adds the orders of today.
func (r *request) ordersOfToday(ctx context.Context, o api.Orders, d *ordersView) error {
	page, err := o.PlacedOrders(ctx, r.Env, orders.OrderQuery{Place: orders.Place{Limit: maxWrong}, Descending: true})
	if err != nil {
		return err
	}
	for i := range page.Items {
		x := &page.Items[i]
		if !r.today(x.Created) {
			break
		}
		row := r.placedRow(x)
		d.Placed = append(d.Placed, row)
		if s := x.Status.State; s == orders.OrderFailed || s == orders.OrderPartial {
			d.Failed = append(d.Failed, failedRow{Row: "f-" + x.ID, Status: row.Status, Kind: "order",
				Name: cut(line(x.ID), maxPart), URL: row.URL, Reason: whyFailed(x), At: row.Created})
		}
	}
	if len(page.Items) > 0 {
		d.All = r.url("orders")
	}
	return nil
}

// whyFailed returns the reason of the first failed item of an order.
func whyFailed(p *orders.Placed) string {
	for i := range p.Items {
		if s := &p.Items[i].Status; s.Failure != nil {
			name := p.Items[i].Name
			if name == "" {
				name = p.Items[i].ID
			}
			text := line(name) + ": " + string(*s.Failure)
			if s.Reason != nil {
				text += ": " + *s.Reason
			}
			return shorten(text, 600)
		}
	}
	return ""
}
