package showcmd

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/actions"
	"southbound/shared/cli/home"
	"southbound/shared/cli/input"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/diffview"
	"southbound/shared/resource"
)

// ResourceCommands show resources.
type ResourceCommands struct {
	*output.Console
	*home.Location
	*home.Session
	Docs    *input.Documents
	Actions *actions.Printer
}

// ResourcesCommand returns the command resources.
func (c *ResourceCommands) ResourcesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "resources [FILTER]", Short: "List resources",
		Long: "resources lists the resources of the version in force, and orphaned ones. " + usage.FilterHelp,
		Example: "  southbound resources\n  southbound resources status=failed\n" +
			"  southbound resources type=fs::File agent=web1\n" +
			"  southbound resources 'fs::File[web1,*'",
		Args: func(_ *cobra.Command, args []string) error {
			_, err := state.ParseFilter(args)
			return err
		},
		RunE: c.Reading(c.resources),
	}
}

func (c *ResourceCommands) resources(ctx context.Context, args []string) error {
	found := false
	err := c.Home.Resources(ctx, c.Env, args, func(r *api.Resource) error {
		found = true
		if c.JSON {
			c.Line(r)
			return nil
		}
		interrupted := ""
		if r.Interrupted {
			interrupted = "  (interrupted; no process works on it)"
		}
		c.Printf("%s  %s%s\n", c.Paint(r.Status, 13), r.ID, interrupted)
		return nil
	})
	if err == nil && !found {
		c.None("resource matches", len(args) > 0)
	}
	return err
}

// ResourceCommand returns the command resource.
func (c *ResourceCommands) ResourceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resource ID",
		Short: "Show one resource: state, last action, dependencies",
		Example: "  southbound resource 'fs::File[web1,path=/etc/motd]'\n" +
			"  southbound resource 'fs::File[web1,path=/etc/motd]' --documents .",
		Args: usage.ExactArgs(1, "one id"),
		RunE: c.Reading(c.resource),
	}
	c.FullFlag(cmd)
	cmd.Flags().StringVar(&c.Docs.Path, "documents", "",
		"path of the documents or the model, to show the resource's position in them")
	return cmd
}

func (c *ResourceCommands) resource(ctx context.Context, args []string) error {
	d, err := c.Home.Resource(ctx, c.Env, resource.ID(args[0]))
	if err != nil {
		return err
	}
	if d.Last != nil {
		if err := c.Actions.Whole(ctx, d.Last); err != nil {
			return err
		}
	}
	if c.JSON {
		c.Line(written{d, c.Docs.WrittenAt(ctx, d.ID)})
		return nil
	}
	c.Printf("%s\n  status      %s\n  version     %d\n", d.ID, c.Paint(d.Status, 0), d.Version)
	for _, f := range []struct{ name, value string }{{"waits", d.Waits}, {"reason", d.Reason},
		{"set", d.Set}, {"requires", output.FirstIDs(d.Requires, 10)},
		{"required by", output.FirstIDs(d.RequiredBy, 10)},
		{"because of", output.FirstIDs(d.Causes, 10)}} {
		if f.value != "" {
			c.Printf("  %-11s %s\n", f.name, f.value)
		}
	}
	if at := cmp.Or(c.Docs.WrittenAt(ctx, d.ID), d.Place); at != nil {
		c.Printf("  written at  %s\n", at)
	}
	if d.NextAt != nil {
		c.Printf("  next try    %s\n", d.NextAt.Format(time.RFC3339))
	}
	c.attributes(&d)
	if d.Last != nil {
		c.Printf("\nlast action\n")
		c.Actions.Action(d.Last, "")
	}
	return nil
}

// written is a resource with the place where it is written.
type written struct {
	api.Detail
	At *diag.Pos `json:"written_at,omitempty"`
}

// attributes shows the desired attributes of a resource, and the last read values that differ.
func (c *ResourceCommands) attributes(d *api.Detail) {
	c.Printf("\nattributes\n")
	for _, name := range slices.Sorted(maps.Keys(d.Desired)) {
		if diffview.OfHandler(name) {
			continue // actions name the code of their run
		}
		want := c.Style("").Value(d.Desired[name])
		c.Printf("  %s: %s\n", name, want)
		if seen, known := d.Seen[name]; known {
			c.seen(seen, d.Desired[name], want)
		}
	}
	switch {
	case d.SeenAt == nil:
		c.Printf("  never seen\n")
	case d.Seen == nil:
		c.Printf("  did not exist at %s\n", d.SeenAt.Format(time.RFC3339))
	default:
		c.Printf("  last seen at %s\n", d.SeenAt.Format(time.RFC3339))
	}
}

// seen shows a value that was read last, if it differs from the desired one, which is shown as
// want.
func (c *ResourceCommands) seen(seen, desired any, want string) {
	exact := diffview.Style{Whole: true}
	switch text := c.Style("").Value(seen); {
	case exact.Value(seen) == exact.Value(desired):
	case text == want:
		c.Printf("    last seen: differs after the shown part; --full shows more\n")
	default:
		c.Printf("    last seen: %s\n", text)
		if kept, size, cut := run.Cut(seen); cut && c.Full {
			c.Printf("      %s\n", actions.KeptOnly(kept, size, "it"))
		}
	}
}
