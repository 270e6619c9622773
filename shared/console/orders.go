package console

import (
	"context"
	"net/url"

	"southbound/shared/api"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

func (s *site) ordersPages() []route {
	return []route{
		{pattern: "GET /console/{env}/orders", page: placedOrdersPage},
		{pattern: "GET /console/{env}/orders/{id}", page: placedOrderPage},
	}
}

// ordersRows is the number of orders of a page.
const ordersRows = 50

// placedOrdersView is the data of orders.html.
type placedOrdersView struct {
	Rows  []placedRow
	Pager pagerView
}

// placedRow is an order.
type placedRow struct {
	ID, URL     string
	Description string
	Status      statusView
	Items       string
	Created     timeView
	Completed   timeView
}

// orderStatus returns the state of an order or of one of its items.
func orderStatus(word string) statusView {
	v := statusView{Word: word, Name: word, Icon: "dot", Tone: "quiet"}
	switch word {
	case string(orders.OrderInProgress):
		v.Word, v.Icon, v.Tone = "in progress", "arrow", "busy"
	case string(orders.OrderSuccess), string(inventory.ItemCompleted):
		v.Icon, v.Tone = "check", "good"
	case string(orders.OrderFailed):
		v.Icon, v.Tone = "cross", "bad"
	case string(orders.OrderPartial):
		v.Icon, v.Tone = "bar", "warn"
	}
	return v
}

func (r *request) placedRow(o *orders.Placed) placedRow {
	row := placedRow{
		ID: o.ID, URL: r.url("orders/" + url.PathEscape(o.ID)), Description: o.Description,
		Status: orderStatus(string(o.Status.State)), Items: plural(len(o.Items), "item"),
		Created: r.timeAgo(o.Created),
	}
	if o.Completed != nil {
		row.Completed = r.time(*o.Completed)
	}
	return row
}

func placedOrdersPage(ctx context.Context, r *request) (view, error) {
	o, err := r.orders(ctx)
	if err != nil {
		return view{}, err
	}
	after := r.URL.Query().Get(inAfter)
	page, err := o.PlacedOrders(ctx, r.Env, orders.OrderQuery{
		Place: orders.Place{After: after, Limit: ordersRows}, Descending: true,
	})
	if err != nil {
		return view{}, err
	}
	var d placedOrdersView
	for n := range page.Items {
		d.Rows = append(d.Rows, r.placedRow(&page.Items[n]))
	}
	d.Pager = r.turnsHere(inAfter, page.Next)
	d.Pager.Text = plural(len(d.Rows), "order")
	return view{Template: "orders.html", Title: "Orders", Section: sectionOrders, Data: d}, nil
}

// placedOrderView is the data of order.html.
type placedOrderView struct {
	Row   placedRow
	Items []placedItem
}

// placedItem is an item of an order.
type placedItem struct {
	Row, Name, URL, Service, ServiceURL string
	Action                              string
	Status                              statusView
	Label                               string
	Failure, Reason                     string
	Needs                               []neededItem
}

// neededItem is an item on which another one depends.
type neededItem struct {
	Name, URL string
	Status    statusView
}

func placedOrderPage(ctx context.Context, r *request) (view, error) {
	o, err := r.orders(ctx)
	if err != nil {
		return view{}, err
	}
	p, err := o.PlacedOrder(ctx, r.Env, r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	d := placedOrderView{Row: r.placedRow(&p)}
	names := r.namesOf(ctx, o, p.Items)
	for n := range p.Items {
		i := &p.Items[n]
		row := placedItem{
			Row: "item-" + i.ID, Name: names[i.ID], URL: r.instanceURL(i.ID, ""), Service: i.Service,
			ServiceURL: r.serviceURL(i.Service, ""), Action: string(i.Action),
			Status: orderStatus(string(i.Status.State)), Label: stringOf(i.Status.Label),
			Reason: stringOf(i.Status.Reason),
		}
		if i.Status.Failure != nil {
			row.Failure = string(*i.Status.Failure)
			row.Status = orderStatus(string(orders.OrderFailed))
		}
		for _, id := range sortedNames(i.Status.Needs) {
			row.Needs = append(row.Needs, neededItem{names[id], r.instanceURL(id, ""),
				orderStatus(string(i.Status.Needs[id]))})
		}
		d.Items = append(d.Items, row)
	}
	return view{Template: "order.html", Title: "Order " + p.ID, Section: sectionOrders, Data: d}, nil
}

// namesOf returns the names of the instances of items: those of the order, else their identities. The
// name of an item that changes an instance is the id of the instance.
func (r *request) namesOf(ctx context.Context, o api.Orders, items []orders.Accepted) map[string]string {
	names := map[string]string{}
	var unnamed []string
	for n := range items {
		if i := &items[n]; i.Name != i.ID {
			names[i.ID] = i.Name
		}
	}
	for n := range items {
		for _, id := range append(sortedNames(items[n].Status.Needs), items[n].ID) {
			if names[id] == "" {
				unnamed = append(unnamed, id)
			}
		}
	}
	for id, link := range r.instanceLinks(ctx, o, unnamed) {
		names[id] = link.Name
	}
	return names
}
