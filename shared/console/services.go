package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"southbound/shared/api"
	"southbound/shared/console/form"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

func (s *site) servicesPages() []route {
	return append([]route{
		{pattern: "GET /console/{env}/services", page: servicesPage},
		{pattern: servicePattern, page: servicePage},
		{pattern: "POST /console/{env}/do/addcallback", page: addCallback},
		{pattern: "POST /console/{env}/do/removecallback", page: removeCallback},
	}, orderFormPages()...)
}

const servicePattern = "GET /console/{env}/services/{service}"

// servicesView is the data of services.html.
type servicesView struct {
	Rows []serviceRow
}

// serviceRow is a service in the catalog.
type serviceRow struct {
	Name, Description string
	URL               string
	Instances         string
	InstancesURL      string
	Labels            []labelCount
	Order             string
	Versions          int
}

// labelCount is the number of instances whose states have a label.
type labelCount struct {
	Status statusView
	Count  string
}

func servicesPage(ctx context.Context, r *request) (view, error) {
	o, err := r.orders(ctx)
	if err != nil {
		return view{}, err
	}
	all, err := o.Catalog(ctx, r.Env, true, true)
	if err != nil {
		return view{}, err
	}
	var d servicesView
	versions := map[string]int{}
	for n := range all {
		versions[all[n].Name]++
	}
	for n := range all {
		if one := &all[n]; one.Default {
			d.Rows = append(d.Rows, r.serviceRow(one, versions[one.Name]))
		}
	}
	return view{Template: "services.html", Title: "Services", Section: sectionServices, Data: d}, nil
}

func (r *request) serviceRow(o *orders.Offer, versions int) serviceRow {
	row := serviceRow{
		Name: o.Name, URL: r.serviceURL(o.Name, ""), Versions: versions,
		InstancesURL: r.serviceURL(o.Name, "/instances"), Order: r.serviceURL(o.Name, "/new"),
	}
	if o.Description != nil {
		row.Description = *o.Description
	}
	if s := o.Summary; s != nil {
		row.Instances, row.Labels = number(s.Total), labelCounts(s)
	}
	return row
}

// labelCounts returns the numbers of instances by label, the worst first.
func labelCounts(s *orders.Summary) []labelCount {
	var out []labelCount
	for _, one := range []struct {
		label string
		n     int
	}{
		{"danger", s.ByLabel.Danger}, {"warning", s.ByLabel.Warning}, {"info", s.ByLabel.Info},
		{"success", s.ByLabel.Success}, {"no label", s.ByLabel.None},
	} {
		if one.n > 0 {
			out = append(out, labelCount{lifecycleStatus(one.label, one.label), number(one.n)})
		}
	}
	return out
}

// serviceView is the data of service.html.
//
// Large: it is the data of one template.
type serviceView struct {
	Name, Description string
	Version           int
	Versions          []versionLink
	Identity          string
	Owner             string
	OwnerURL          string
	Owned             []serviceLink
	Strict            bool
	Instances         string
	InstancesURL      string
	Labels            []labelCount
	States            []stateCount
	Order             string
	Part              partView
	Config            []configRow
	Drawing           drawingView
	Lifecycle         []transferRow
	StateRows         []stateRow
	Initial           string
	Callbacks         []callbackRow
	CallbacksWrong    *problemView
	Remove            string // where a callback is removed
	Register          string // where a callback is registered; "": not permitted
	Here              string
	Schema            string
}

// versionLink is a version of a service.
type versionLink struct {
	Number  int
	URL     string
	Default bool
	Current bool
}

// serviceLink is a link to a service.
type serviceLink struct{ Name, URL string }

// stateCount is the number of instances in a state.
type stateCount struct {
	Status statusView
	Count  string
	URL    string
}

// partView is a service or an embedded entity.
type partView struct {
	Attributes []attributeRow
	Relations  []relationRow
	Embedded   []embeddedView
}

// attributeRow is an attribute of a definition.
type attributeRow struct {
	Name, Type, Modifier, Default, Rule, Help string
	Key                                       bool
	Annotations                               []form.Pair
}

// relationRow is a relation to another service.
type relationRow struct {
	Name, Service, URL, Limits, Modifier, Help string
	Annotations                                []form.Pair
}

// embeddedView is a relation to embedded entities.
type embeddedView struct {
	Name, Limits, Modifier, Help string
	Annotations                  []form.Pair
	Part                         partView
}

// configRow is a setting for automatic transfers.
type configRow struct {
	Name  string
	Value string
}

// transferRow is a transfer of a lifecycle.
type transferRow struct{ From, To, Error, When, Effect, Description string }

// stateRow is a state of a lifecycle.
type stateRow struct {
	Status                     statusView
	Exports, Validates, Purges string
	Deleted                    bool
}

// callbackRow is a webhook.
type callbackRow struct {
	ID, URL, Service, Events, Level, Secret string
	Failing                                 string
	Since                                   timeView
	Dropped                                 string
}

func servicePage(ctx context.Context, r *request) (view, error) {
	o, err := r.orders(ctx)
	if err != nil {
		return view{}, err
	}
	name, version := r.PathValue("service"), -1
	if text := r.URL.Query().Get(fieldVersion); text != "" {
		if version, err = strconv.Atoi(text); err != nil || version < 0 {
			return view{}, fault.New(fault.Usage, "", "the version %.40q is not a number", text)
		}
	}
	offer, err := o.Offer(ctx, r.Env, name, version, true)
	if err != nil {
		return view{}, err
	}
	d := r.serviceView(&offer)
	if all, err := o.Catalog(ctx, r.Env, true, false); err == nil {
		for n := range all {
			if all[n].Name == name {
				d.Versions = append(d.Versions, versionLink{
					Number: all[n].Version, Default: all[n].Default, Current: all[n].Version == offer.Version,
					URL: r.serviceURL(name, "", fieldVersion, strconv.Itoa(all[n].Version)),
				})
			}
		}
	}
	r.callbacks(ctx, o, &d)
	return view{Template: "service.html", Title: name, Section: sectionServices, Data: &d}, nil
}

func (r *request) serviceView(o *orders.Offer) serviceView {
	s := &o.Service
	d := serviceView{
		Name: s.Name, Version: s.Version, Strict: s.Strict, Here: r.here(),
		InstancesURL: r.serviceURL(s.Name, "/instances"), Part: r.partView(&s.Part),
		Initial: s.Lifecycle.Initial,
	}
	if s.Description != nil {
		d.Description = *s.Description
	}
	if s.Identity != nil {
		d.Identity = *s.Identity
		if s.IdentityDisplayName != nil && *s.IdentityDisplayName != "" {
			d.Identity = *s.IdentityDisplayName + " (" + d.Identity + ")"
		}
	}
	if s.Owner != nil && *s.Owner != "" {
		d.Owner, d.OwnerURL = *s.Owner, r.serviceURL(*s.Owner, "")
	}
	for _, name := range s.OwnedEntities {
		d.Owned = append(d.Owned, serviceLink{name, r.serviceURL(name, "")})
	}
	if r.canChange() {
		d.Order = r.serviceURL(s.Name, "/new", fieldVersion, strconv.Itoa(s.Version))
		d.Register, d.Remove = r.url("do/addcallback"), r.url("do/removecallback")
	}
	if o.Summary != nil {
		d.Instances, d.Labels = plural(o.Summary.Total, "instance"), labelCounts(o.Summary)
		for n := range s.Lifecycle.States {
			one := &s.Lifecycle.States[n]
			if count := o.Summary.ByState[one.Name]; count > 0 {
				d.States = append(d.States, stateCount{
					lifecycleStatus(one.Name, one.Label), number(count),
					r.serviceURL(s.Name, "/instances", "state", one.Name),
				})
			}
		}
	}
	for _, name := range sortedNames(s.Config) {
		d.Config = append(d.Config, configRow{name, onOff(s.Config[name])})
	}
	d.StateRows, d.Lifecycle = lifecycleRows(&s.Lifecycle)
	d.Drawing = r.site.lifecycleDrawing(r, &s.Lifecycle, "", func(state string) string {
		return r.serviceURL(s.Name, "/instances", "state", state)
	})
	if b, err := json.MarshalIndent(s.Schema(), "", "  "); err == nil {
		d.Schema = string(b)
	}
	return d
}

// sortedNames returns the names of a map in order.
func sortedNames[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// partView returns a part of a definition.
func (r *request) partView(p *definition.Part) partView {
	var out partView
	for i := range p.Attributes {
		a := &p.Attributes[i]
		row := attributeRow{
			Name: a.Name, Type: form.Type(a), Modifier: form.Modifier(a.Modifier), Rule: form.Rule(a),
			Key: slices.Contains(p.KeyAttributes, a.Name), Annotations: annotationPairs(a.Annotations),
			Help: stringOf(a.Description),
		}
		if a.DefaultSet {
			row.Default = form.DefaultText(a.Default)
		}
		out.Attributes = append(out.Attributes, row)
	}
	for i := range p.Relations {
		one := &p.Relations[i]
		out.Relations = append(out.Relations, relationRow{
			Name: one.Name, Service: one.Service, URL: r.serviceURL(one.Service, ""),
			Limits: form.Limits(one.Limits), Modifier: form.Modifier(one.Modifier),
			Help: stringOf(one.Description), Annotations: annotationPairs(one.Annotations),
		})
	}
	for i := range p.Embedded {
		e := &p.Embedded[i]
		out.Embedded = append(out.Embedded, embeddedView{
			Name: e.Name, Limits: form.Limits(e.Limits), Modifier: form.Modifier(e.Modifier),
			Help: stringOf(e.Description), Annotations: annotationPairs(e.RelationAnnotations),
			Part: r.partView(&e.Part),
		})
	}
	return out
}

func stringOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// annotationPairs returns annotations by name.
func annotationPairs(all map[string]any) []form.Pair {
	var out []form.Pair
	for _, name := range sortedNames(all) {
		out = append(out, form.Pair{Name: name, Value: form.Shown(all[name])})
	}
	return out
}

// lifecycleRows returns a lifecycle as tables.
func lifecycleRows(m *lifecycle.Machine) ([]stateRow, []transferRow) {
	var states []stateRow
	for i := range m.States {
		s := &m.States[i]
		row := stateRow{Status: lifecycleStatus(s.Name, s.Label), Deleted: s.Deleted,
			Validates: string(s.ValidateSelf)}
		if s.ExportResources {
			row.Exports = "yes"
		}
		if s.PurgeResources {
			row.Purges = "yes"
		}
		states = append(states, row)
	}
	var transfers []transferRow
	for i := range m.Transfers {
		t := &m.Transfers[i]
		transfers = append(transfers, transferRow{
			From: t.Source, To: t.Target, Error: t.Error, When: whenOf(t), Effect: string(t.TargetOperation),
			Description: t.Description,
		})
	}
	return states, transfers
}

// whenOf returns when a transfer takes place, in words.
func whenOf(t *lifecycle.Transfer) string {
	var out string
	add := func(is bool, words string) {
		if is && out != "" {
			out += ", "
		}
		if is {
			out += words
		}
	}
	add(t.OnUpdate, "on a change")
	add(t.OnDelete, "on a deletion")
	add(t.APISetState, "on request")
	add(t.ResourceBased, "after its resources")
	add(t.Auto, "automatically")
	if t.ConfigName != "" {
		out = fmt.Sprintf("%s (setting %s)", out, t.ConfigName)
	}
	if t.Validate {
		out = cmp.Or(out, "always") + ", if its attributes are valid"
	}
	return out
}

// callbacks adds the webhooks of a service to its page.
func (r *request) callbacks(ctx context.Context, o api.Orders, d *serviceView) {
	all, err := o.Registered(ctx, r.Env)
	if fault.Is(err, fault.Unsupported) {
		d.Register = ""
	}
	if err != nil {
		d.CallbacksWrong = r.problem(err)
		return
	}
	for i := range all {
		c := &all[i]
		if c.Service != nil && *c.Service != d.Name {
			continue
		}
		row := callbackRow{ID: c.ID, URL: c.URL, Service: stringOf(c.Service), Level: stringOf(c.Level),
			Secret: stringOf(c.Secret), Events: "all"}
		for n, e := range c.Events {
			if row.Events += ", " + e; n == 0 {
				row.Events = e
			}
		}
		if c.Failures > 0 {
			row.Failing = plural(c.Failures, "failed call") + ": " + stringOf(c.Error)
			if c.Since != nil {
				row.Since = r.timeAgo(*c.Since)
			}
		}
		if c.Dropped > 0 {
			row.Dropped = plural(int(c.Dropped), "event") + " not delivered"
		}
		d.Callbacks = append(d.Callbacks, row)
	}
}

// addCallback registers a webhook.
func addCallback(ctx context.Context, r *request) (view, error) {
	o, err := r.orders(ctx)
	if err != nil {
		return view{}, err
	}
	c, err := o.Register(ctx, r.Env, orders.NewCallback{
		URL: r.PostForm.Get("url"), Service: r.PostForm.Get("service"), Events: r.PostForm["event"],
		Level: r.PostForm.Get("level"), Secret: r.PostForm.Get("secret"),
	})
	if err != nil {
		return view{}, err
	}
	r.flash("%s is called for events from now on", c.URL)
	return view{Redirect: r.back(r.url("services"))}, nil
}

// removeCallback removes a webhook.
func removeCallback(ctx context.Context, r *request) (view, error) {
	o, err := r.orders(ctx)
	if err != nil {
		return view{}, err
	}
	if err := o.Unregister(ctx, r.Env, r.PostForm.Get("id")); err != nil {
		return view{}, err
	}
	r.flash("The callback is removed")
	return view{Redirect: r.back(r.url("services"))}, nil
}
