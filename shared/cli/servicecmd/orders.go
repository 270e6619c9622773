package servicecmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

func (oc *orderCommands) serviceOrder() *cobra.Command {
	var f orderFlags
	var id string
	cmd := &cobra.Command{
		Use: "order -f FILE", Short: "Order, update and delete several instances",
		Long: "order carries out all items of a file, or none. The file is JSON or YAML with " +
			"service_order_items, or a list of these. Each item has an action (create, update, " +
			"delete), service_entity, and attributes, or edits for an update. instance_id is " +
			"the id of the instance, or NAME/identity; for a new instance, a name that " +
			"relations of other items can use. docs/catalog.md has an example. The order is " +
			"kept: `service order show` shows its result.",
		Example: "  southbound service order -f move.yaml --wait\n" +
			"  southbound service order -f - --json < move.json\n  southbound service order list",
		Args: usage.ExactArgs(0, "nothing more"),
	}
	cmd.RunE = oc.views.ordered(oc.Open, func(ctx context.Context, o api.Orders, _ []string) error {
		if err := f.check("service order"); err != nil {
			return err
		}
		if f.file == "" {
			return fault.New(fault.Usage, "service order", "there is no order").
				WithHint("name its file with -f")
		}
		order, err := oc.orderOf(ctx, o, f.file)
		if err != nil {
			return err
		}
		if id != "" {
			order.ID = id
		}
		p, err := o.Order(ctx, oc.Env, order)
		if err != nil {
			return err
		}
		all := make([]orders.Instance, len(p.Items))
		for n := range p.Items {
			all[n] = *p.Items[n].Instance
		}
		if oc.JSON && !f.wait {
			oc.Line(p)
			return nil
		}
		oc.Say("order %s", p.ID)
		return oc.placed(ctx, o, &f, all)
	})
	cmd.Flags().StringVarP(&f.file, "file", "f", "", "a file with the order; - is standard input")
	cmd.Flags().StringVar(&id, "id", "",
		"a UUID for the order; placing it again is not a second order")
	f.waits(cmd)
	cmd.AddCommand(oc.serviceOrderList(), oc.serviceOrderShow())
	return cmd
}

// orderOf reads an order from a file.
func (oc *orderCommands) orderOf(
	ctx context.Context, o api.Orders, file string,
) (orders.Order, error) {
	v, err := oc.readOrder(file, maxOrder)
	if err != nil {
		return orders.Order{}, err
	}
	if list, is := v.([]any); is {
		v = map[string]any{"service_order_items": list}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return orders.Order{}, fault.Wrap(fault.Invalid, "read the order", err)
	}
	var body api.OrderBody
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil {
		return orders.Order{}, diag.Problems{{
			Pos:     diag.Pos{File: file},
			Message: notAnOrder(err),
			Hint:    "`southbound service order --help` describes the fields of an order",
		}}
	}
	out := body.Order()
	var problems diag.Problems
	for n := range out.Items {
		i := &out.Items[n]
		if ref := reference(i.Name); i.Action != orders.ActionCreate && ref.Service != "" {
			i.Name = ref.ID
			if i.Service == "" {
				i.Service = ref.Service
			}
		}
		s, err := oc.itemOffer(ctx, o, i.Service)
		if fault.Is(err, fault.NotFound) {
			problems.Add(diag.Problem{
				Pos: diag.Pos{File: file}, Resource: fmt.Sprintf("item %d", n+1),
				Attribute: "service_entity", Message: err.Error(), Hint: fault.HintOf(err),
			})
			continue
		}
		if err != nil {
			return out, err
		}
		byName(&s.Part, i.Attributes)
	}
	return out, problems.Err()
}

// itemOffer returns the service of an item.
func (oc *orderCommands) itemOffer(
	ctx context.Context, o api.Orders, name string,
) (orders.Offer, error) {
	if name == "" {
		return orders.Offer{}, fault.New(fault.NotFound, "",
			"it names no service").
			WithHint("`southbound service list` shows those that there are")
	}
	return oc.views.offer(ctx, o, name, -1, false)
}

// notAnOrder explains why the members of an order are not valid.
func notAnOrder(err error) string {
	var other *json.UnmarshalTypeError
	if !errors.As(err, &other) {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	article := "a "
	if strings.ContainsAny(other.Value[:1], "ao") { // array, object
		article = "an "
	}
	return cmp.Or(other.Field, "order") + ": " + article + other.Value + " does not belong there"
}

func (oc *orderCommands) serviceOrderList() *cobra.Command {
	limit := 0
	cmd := &cobra.Command{
		Use: "list", Short: "List orders of several instances",
		Long: "list shows orders that were placed with `service order`, newest first, with their " +
			"progress. An order is kept for a year.",
		Example: "  southbound service order list --limit 10\n" +
			"  southbound service order list --json",
		Args: usage.ExactArgs(0, "nothing more"),
		RunE: oc.views.ordered(oc.OpenToRead,
			func(ctx context.Context, o api.Orders, _ []string) error {
				return oc.listOrders(ctx, o, limit)
			}),
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "maximum number of entries; 0: all")
	return cmd
}

func (oc *orderCommands) listOrders(ctx context.Context, o api.Orders, limit int) error {
	listed := 0
	rows := [][]cell{{{text: "STATE"}, {text: "PLACED"}, {text: "ID"}, {text: "DESCRIPTION"}}}
	q := orders.OrderQuery{Descending: true}
	for {
		if q.Limit = 0; limit > 0 {
			q.Limit = limit - listed
		}
		page, err := o.PlacedOrders(ctx, oc.Env, q)
		if err != nil {
			return err
		}
		for n := range page.Items {
			p := &page.Items[n]
			if oc.JSON {
				oc.Line(p)
				continue
			}
			rows = append(rows, []cell{
				orderCell(p), {text: p.Created.UTC().Format(time.DateTime)}, {text: p.ID},
				{text: p.Description},
			})
		}
		listed += len(page.Items)
		if q.After = page.Next; q.After == "" || limit > 0 && listed >= limit {
			break
		}
	}
	if listed == 0 {
		if err := oc.There(ctx); err != nil {
			return err
		}
	}
	switch {
	case oc.JSON:
	case listed == 0:
		oc.Say("there are no orders; `southbound service order -f FILE` places one")
	default:
		oc.views.table(rows, true)
	}
	return nil
}

// orderCell returns the progress of an order, in the colour of its result.
func orderCell(p *orders.Placed) cell {
	label := map[orders.OrderState]string{
		orders.OrderSuccess: "success", orders.OrderPartial: "warning",
		orders.OrderFailed: "danger",
	}[p.Status.State]
	return cell{text: string(p.Status.State), label: label}
}

func (oc *orderCommands) serviceOrderShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show an order and its results",
		Long: "show shows the progress of each item of an order, and the reason if it failed. " +
			"`service order` and `service order list` print the ID.",
		Example: "  southbound service order show 2f1c0f9e-5f0a-4a57-9d5c-0a9b1b1f8f11 --json",
		Args:    usage.ExactArgs(1, "one id"),
		RunE: oc.views.ordered(oc.OpenToRead,
			func(ctx context.Context, o api.Orders, args []string) error {
				p, err := o.PlacedOrder(ctx, oc.Env, args[0])
				if err != nil {
					return err
				}
				if oc.JSON {
					oc.Line(&p)
					return nil
				}
				oc.showOrder(&p)
				return nil
			}),
	}
}

func (oc *orderCommands) showOrder(p *orders.Placed) {
	state := orderCell(p)
	oc.Printf("order %s\n  state   %s\n  placed  %s\n", p.ID,
		oc.views.labelled(state.text, state.label),
		p.Created.UTC().Format(time.RFC3339))
	if p.Completed != nil {
		oc.Printf("  done    %s\n", p.Completed.UTC().Format(time.RFC3339))
	}
	if p.Description != "" {
		oc.Printf("  about   %s\n", output.OneLine(p.Description))
	}
	rows := make([][]cell, len(p.Items))
	for n := range p.Items {
		i := &p.Items[n]
		label, reason := "", ""
		switch i.Status.State {
		case inventory.ItemCompleted:
			label = "success"
		case inventory.ItemFailed:
			label = "danger"
		case inventory.ItemAcknowledged, inventory.ItemInProgress:
		}
		if i.Status.Reason != nil {
			reason = *i.Status.Reason
		}
		rows[n] = []cell{
			{text: fmt.Sprintf("  %s %s %s", i.Action, i.Service, i.ID)},
			{text: string(i.Status.State), label: label}, {text: reason},
		}
	}
	oc.views.table(rows, false)
}
