package servicecmd

import (
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/deploy/state"
	"southbound/shared/lang/lsm"
	"southbound/shared/service/catalog"
	"southbound/shared/service/definition"
	"southbound/shared/service/orders"
)

// plannedService is the JSON output of service plan for each version of a service.
type plannedService struct {
	Service string   `json:"service_entity"`
	Version int      `json:"service_entity_version"`
	Change  string   `json:"change"` // new, changed, unchanged, removed
	Changes []string `json:"changes"`
	// Instances counts those that are not deleted. Moves of them would change, Fails could not be
	// moved.
	Instances int `json:"instances"`
	Moves     int `json:"moves"`
	Fails     int `json:"fails"`
}

func (se *serviceExporter) servicePlan() *cobra.Command {
	return &cobra.Command{
		Use: "plan PATH", Short: "Preview a new model of services",
		Long: "plan compiles a model and compares it with the services that are offered: which " +
			"attributes, states and transfers change, and for each instance which attributes and " +
			"resources a rollout would change, or why it could not be moved. Nothing is offered, " +
			"and no instance is changed. Machines are not looked at. Exit code 3 means that an " +
			"instance could not be moved, or that instances have a version that is left out.",
		Example: "  southbound service plan .\n  southbound service plan . --json",
		Args:    usage.ExactArgs(1, "one path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return se.planServices(cmd.Context(), args[0])
		},
	}
}

func (se *serviceExporter) planServices(ctx context.Context, path string) error {
	if err := se.OpenToRead(ctx, path); err != nil {
		return err
	}
	c, err := se.docs.ModelFor(ctx, path, lsm.NewServices(nil))
	if err != nil {
		return err
	}
	se.Warn(c.Warnings)
	services, err := catalog.Of(c.Result)
	if err != nil {
		return err
	}
	packed, err := se.packed(c)
	if err != nil {
		return err
	}
	o, err := se.Home.Orders()
	if err != nil {
		return err
	}
	before, err := o.Catalog(ctx, se.Env, true, false)
	if err != nil {
		return err
	}
	p := &servicePlanner{serviceExporter: se, orders: o, services: services,
		known: map[string]*orders.Instance{}}
	p.bundle = state.Blob{
		Hash: packed.Digest, Size: int64(len(packed.Data)), Data: packed.Data,
	}
	definition.Sort(services)
	for i := range services {
		at := slices.IndexFunc(before, func(b orders.Offer) bool {
			return b.Name == services[i].Name && b.Version == services[i].Version
		})
		var was *definition.Service
		if at >= 0 {
			one := before[at].Service
			was = &one
			before = slices.Delete(before, at, at+1)
		}
		if err := p.plan(ctx, was, &services[i]); err != nil {
			return err
		}
	}
	for i := range before {
		if err := p.plan(ctx, &before[i].Service, nil); err != nil {
			return err
		}
	}
	return nil
}

// servicePlanner shows the planned changes of services.
type servicePlanner struct {
	*serviceExporter
	orders   api.Orders
	services []definition.Service
	bundle   state.Blob
	known    map[string]*orders.Instance // in their current state, by id
}

// plan shows the changes of a version of a service; was is nil for a new version, is is nil for an
// omitted one.
func (p *servicePlanner) plan(ctx context.Context, was, is *definition.Service) error {
	out := plannedService{Change: "unchanged", Changes: []string{}}
	switch {
	case was == nil:
		out.Service, out.Version, out.Change = is.Name, is.Version, "new"
	case is == nil:
		out.Service, out.Version, out.Change = was.Name, was.Version, "removed"
	default:
		out.Service, out.Version = is.Name, is.Version
		if lines := definition.Diff(was, is); len(lines) > 0 {
			out.Change, out.Changes = "changed", lines
		}
	}
	var previews []api.InstancePreview
	var err error
	if was != nil {
		if previews, err = p.previews(ctx, out.Service, out.Version); err != nil {
			return err
		}
	}
	out.Instances = len(previews)
	for i := range previews {
		switch {
		case len(previews[i].Wrong()) > 0:
			out.Fails++
			p.Code = output.Unhealthy
		case len(previews[i].Resources) > 0:
			out.Moves++
		}
	}
	p.show(&out, previews)
	return nil
}

// previews returns the previews of the instances of a version.
func (p *servicePlanner) previews(
	ctx context.Context, service string, version int,
) ([]api.InstancePreview, error) {
	var ids []string
	var q orders.Query
	q.Service = service
	for {
		page, err := p.orders.List(ctx, p.Env, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			if page.Items[i].ServiceVersion == version {
				ids = append(ids, page.Items[i].ID)
				p.known[page.Items[i].ID] = &page.Items[i]
			}
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	var out []api.InstancePreview
	for part := range slices.Chunk(ids, api.MaxPlanned) {
		some, err := p.Home.PreviewModel(ctx, p.Env, p.bundle, p.services, part)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

func (p *servicePlanner) show(s *plannedService, previews []api.InstancePreview) {
	if p.JSON {
		p.Line(s)
		for i := range previews {
			p.Line(&previews[i])
		}
		return
	}
	name := s.Service
	if s.Version > 0 {
		name += " version " + strconv.Itoa(s.Version)
	}
	p.Printf("%s: %s, %s\n", name, s.Change, output.Plural(s.Instances, "instance"))
	for _, line := range s.Changes {
		p.Printf("  %s\n", line)
	}
	for i := range previews {
		p.showPreview(&previews[i])
	}
}

// showPreview shows the planned changes of an instance.
func (p *servicePlanner) showPreview(one *api.InstancePreview) {
	name, wrong := InstanceName(&one.Instance), one.Wrong()
	switch {
	case one.Leaving:
		p.Printf("%s (%s): left alone\n", name, one.Instance.State)
	case len(wrong) > 0:
		p.Printf("%s (%s): could not be moved: %s\n", name, one.Instance.State, output.OneLine(wrong[0].String()))
	default:
		p.Printf("%s (%s):\n", name, one.Instance.State)
		showAttributes(p.Console, now(p.known[one.Instance.ID]), now(&one.Instance))
		showLines(p.Console, one.Resources)
	}
}
