package servicecmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/service/callback"
	"southbound/shared/service/orders"
)

// callbackCommands manage the webhooks for events of instances.
type callbackCommands struct {
	*output.Console
	*home.Location
	*home.Session
	views *serviceViews
}

func (cc *callbackCommands) serviceCallback() *cobra.Command {
	cmd := &cobra.Command{
		Use: "callback", Short: "Manage webhooks for instance events",
		Long: "callback manages webhooks: for each event of an instance, a POST with the event " +
			"as JSON is sent to the URL, and repeated until the response has a status of " +
			"success. In an embedded home, `southbound run` sends them.",
		Example: "  southbound service callback add https://shop.example/events --service site\n" +
			"  southbound service callback list",
		Args: usage.Subcommand, RunE: usage.Help,
	}
	cmd.AddCommand(cc.callbackAdd(), cc.callbackList(), cc.callbackRemove())
	return cmd
}

func (cc *callbackCommands) callbackAdd() *cobra.Command {
	var n orders.NewCallback
	cmd := &cobra.Command{
		Use: "add URL", Short: "Add a webhook",
		Long: "add registers a URL that is called for each event of instances, and prints the id " +
			"of the webhook.",
		Example: "  southbound service callback add https://shop.example/events --service site\n" +
			"  southbound service callback add https://alarm.example --level ERROR",
		Args: usage.ExactArgs(1, "one address"),
	}
	cmd.RunE = cc.views.ordered(cc.Open,
		func(ctx context.Context, o api.Orders, args []string) error {
			n.URL = args[0]
			c, err := o.Register(ctx, cc.Env, n)
			if err != nil {
				return err
			}
			if cc.JSON {
				cc.Line(&c)
				return nil
			}
			cc.Printf("%s\n", c.ID)
			return nil
		})
	cmd.Flags().StringVar(&n.Service, "service", "", "only for instances of this one")
	cmd.Flags().StringArrayVar(&n.Events, "event", nil,
		"only for events of this kind; it can be given several times: "+
			strings.Join(callback.Kinds(), ", "))
	cmd.Flags().StringVar(&n.Level, "level", "", "ERROR: only for errors")
	cmd.Flags().StringVar(&n.Secret, "secret", "",
		"sign calls with the key that this secret holds, such as env:CALLBACK_SHOP")
	cmd.Flags().StringVar(&n.ID, "id", "", "a UUID; registering it again adds no second callback")
	return cmd
}

func (cc *callbackCommands) callbackList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List webhooks and the results of their calls",
		Long: "list shows the registered URLs. A failing URL is called again with growing pauses " +
			"for a day; then its events are dropped.",
		Example: "  southbound service callback list --json",
		Args:    usage.ExactArgs(0, "nothing more"),
		RunE:    cc.views.ordered(cc.OpenToRead, cc.listCallbacks),
	}
}

func (cc *callbackCommands) listCallbacks(ctx context.Context, o api.Orders, _ []string) error {
	all, err := o.Registered(ctx, cc.Env)
	if err != nil {
		return err
	}
	rows := [][]cell{{{text: "ID"}, {text: "SERVICE"}, {text: "URL"}, {text: "CALLS"}}}
	for i := range all {
		c := &all[i]
		if cc.JSON {
			cc.Line(c)
			continue
		}
		service, health := "all", cell{text: "well", label: "success"}
		if c.Service != nil {
			service = *c.Service
		}
		if c.Failures > 0 {
			health = cell{
				text:  "failing since " + c.Since.UTC().Format(time.DateTime) + ": " + *c.Error,
				label: "danger",
			}
		}
		rows = append(rows, []cell{{text: c.ID}, {text: service}, {text: c.URL}, health})
	}
	if len(all) == 0 {
		if err := cc.There(ctx); err != nil {
			return err
		}
	}
	switch {
	case cc.JSON:
	case len(all) == 0:
		cc.Say("no address is called; `southbound service callback add URL` has one called")
	default:
		cc.views.table(rows, false)
	}
	return nil
}

func (cc *callbackCommands) callbackRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "Remove a webhook",
		Long:    "remove deletes a webhook. Events that were not delivered are dropped.",
		Example: "  southbound service callback remove 2f1c0f9e-5f0a-4a57-9d5c-0a9b1b1f8f11",
		Args:    usage.ExactArgs(1, "one id"),
		RunE: cc.views.ordered(cc.Open,
			func(ctx context.Context, o api.Orders, args []string) error {
				return o.Unregister(ctx, cc.Env, args[0])
			}),
	}
}
