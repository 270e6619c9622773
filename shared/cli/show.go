package cli

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/diffview"
	"southbound/shared/resource"
)

// resourceCommands show resources.
type resourceCommands struct {
	*console
	*location
	*session
	docs    *documents
	actions *actionPrinter
}

func (c *resourceCommands) resourcesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "resources [FILTER]", Short: "List resources",
		Long: "resources lists the resources of the version in force, and orphaned ones. " + filterHelp,
		Example: "  southbound resources\n  southbound resources status=failed\n" +
			"  southbound resources type=fs::File agent=web1\n" +
			"  southbound resources 'fs::File[web1,*'",
		Args: func(_ *cobra.Command, args []string) error {
			_, err := state.ParseFilter(args)
			return err
		},
		RunE: c.reading(c.resources),
	}
}

func (c *resourceCommands) resources(ctx context.Context, args []string) error {
	found := false
	err := c.home.Resources(ctx, c.env, args, func(r *api.Resource) error {
		found = true
		if c.json {
			c.line(r)
			return nil
		}
		interrupted := ""
		if r.Interrupted {
			interrupted = "  (interrupted; no process works on it)"
		}
		c.printf("%s  %s%s\n", c.paint(r.Status, 13), r.ID, interrupted)
		return nil
	})
	if err == nil && !found {
		c.none("resource matches", len(args) > 0)
	}
	return err
}

func (c *resourceCommands) resourceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resource ID",
		Short: "Show one resource: state, last action, dependencies",
		Example: "  southbound resource 'fs::File[web1,path=/etc/motd]'\n" +
			"  southbound resource 'fs::File[web1,path=/etc/motd]' --documents .",
		Args: exactArgs(1, "one id"),
		RunE: c.reading(c.resource),
	}
	c.fullFlag(cmd)
	cmd.Flags().StringVar(&c.docs.path, "documents", "",
		"path of the documents or the model, to show the resource's position in them")
	return cmd
}

func (c *resourceCommands) resource(ctx context.Context, args []string) error {
	d, err := c.home.Resource(ctx, c.env, resource.ID(args[0]))
	if err != nil {
		return err
	}
	if d.Last != nil {
		if err := c.actions.whole(ctx, d.Last); err != nil {
			return err
		}
	}
	if c.json {
		c.line(written{d, c.docs.writtenAt(ctx, d.ID)})
		return nil
	}
	c.printf("%s\n  status      %s\n  version     %d\n", d.ID, c.paint(d.Status, 0), d.Version)
	for _, f := range []struct{ name, value string }{{"waits", d.Waits}, {"reason", d.Reason},
		{"set", d.Set}, {"requires", firstIDs(d.Requires, 10)},
		{"required by", firstIDs(d.RequiredBy, 10)},
		{"because of", firstIDs(d.Causes, 10)}} {
		if f.value != "" {
			c.printf("  %-11s %s\n", f.name, f.value)
		}
	}
	if at := c.docs.writtenAt(ctx, d.ID); at != nil {
		c.printf("  written at  %s\n", at)
	}
	if d.NextAt != nil {
		c.printf("  next try    %s\n", d.NextAt.Format(time.RFC3339))
	}
	c.attributes(&d)
	if d.Last != nil {
		c.printf("\nlast action\n")
		c.actions.action(d.Last, "")
	}
	return nil
}

// written is a resource with the place where it is written.
type written struct {
	api.Detail
	At *diag.Pos `json:"written_at,omitempty"`
}

// attributes shows the desired attributes of a resource, and the last read values that differ.
func (c *resourceCommands) attributes(d *api.Detail) {
	c.printf("\nattributes\n")
	for _, name := range slices.Sorted(maps.Keys(d.Desired)) {
		if diffview.OfHandler(name) {
			continue // actions name the code of their run
		}
		want := c.style("").Value(d.Desired[name])
		c.printf("  %s: %s\n", name, want)
		if seen, known := d.Seen[name]; known {
			c.seen(seen, d.Desired[name], want)
		}
	}
	switch {
	case d.SeenAt == nil:
		c.printf("  never seen\n")
	case d.Seen == nil:
		c.printf("  did not exist at %s\n", d.SeenAt.Format(time.RFC3339))
	default:
		c.printf("  last seen at %s\n", d.SeenAt.Format(time.RFC3339))
	}
}

// seen shows a value that was read last, if it differs from the desired one, which is shown as
// want.
func (c *resourceCommands) seen(seen, desired any, want string) {
	exact := diffview.Style{Whole: true}
	switch text := c.style("").Value(seen); {
	case exact.Value(seen) == exact.Value(desired):
	case text == want:
		c.printf("    last seen: differs after what is shown here; --full shows more\n")
	default:
		c.printf("    last seen: %s\n", text)
		if kept, size, cut := run.Cut(seen); cut && c.full {
			c.printf("      %s\n", keptOnly(kept, size, "it"))
		}
	}
}
