package console

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"southbound/shared/api"
	"southbound/shared/console/form"
	"southbound/shared/resource"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

// Entries of the navigation, and the patterns of pages that others link.
const (
	sectionServices = "Services"
	sectionOrders   = "Orders"

	instancePattern  = "GET /console/{env}/instances/{id}"
	inventoryPattern = "GET /console/{env}/services/{service}/instances"
)

// orders returns the service for orders of a home.
func (r *request) orders(ctx context.Context) (api.Orders, error) {
	return r.home(ctx).Orders()
}

// serviceURL returns the page of a service, or one below it.
func (r *request) serviceURL(name, below string, pairs ...string) string {
	return r.url("services/"+url.PathEscape(name)+below, pairs...)
}

// instanceURL returns the page of an instance, or one below it.
func (r *request) instanceURL(id, below string, pairs ...string) string {
	return r.url("instances/"+url.PathEscape(id)+below, pairs...)
}

// lifecycleStatus returns a state of a lifecycle with the look of its label.
func lifecycleStatus(state, label string) statusView {
	v := statusView{Word: state, Name: state, Icon: "dot", Tone: "quiet"}
	switch label {
	case "success":
		v.Icon, v.Tone = "check", "good"
	case "warning":
		v.Icon, v.Tone = "bar", "warn"
	case "danger":
		v.Icon, v.Tone = "cross", "bad"
	case "info":
		v.Icon, v.Tone = "arrow", "busy"
	}
	return v
}

// instanceName returns the identity of an instance, or else its id.
func instanceName(i *orders.Instance) string {
	if i.Identity != nil && *i.Identity != "" {
		return *i.Identity
	}
	return i.ID
}

// valueView is a value of an attribute.
type valueView struct {
	Text   string
	Long   bool        // it has several lines
	Secret bool        // it is a reference to a secret
	None   bool        // it is not set
	Links  []form.Link // the instances that it names
}

// attributeValue returns a value for people.
func attributeValue(v any) valueView {
	switch v := v.(type) {
	case nil:
		return valueView{Text: "not set", None: true}
	case string:
		if v == "" {
			return valueView{Text: "empty text", None: true}
		}
		return valueView{Text: v, Long: strings.Contains(v, "\n"), Secret: isReference(v)}
	case bool:
		return valueView{Text: map[bool]string{true: "yes", false: "no"}[v]}
	case []any:
		if len(v) == 0 {
			return valueView{Text: "none", None: true}
		}
		if texts, is := allScalar(v); is {
			return valueView{Text: strings.Join(texts, "\n"), Long: len(texts) > 1}
		}
	}
	text := indented(v)
	return valueView{Text: text, Long: strings.Contains(text, "\n")}
}

// idsIn returns the ids in the value of a relation.
func idsIn(v any) []string {
	list, is := v.([]any)
	if !is {
		list = []any{v}
	}
	var out []string
	for _, one := range list {
		if id, is := one.(string); is && id != "" {
			out = append(out, id)
		}
	}
	return out
}

// maxNamed is the number of instances of which a page reads the names, and namedTogether how many of
// them at the same time.
const (
	maxNamed      = 100
	namedTogether = 8
)

// instanceLinks returns links to instances by their ids. The first ones have the identities of the
// instances as names, as far as these can be read; the others their ids.
func (r *request) instanceLinks(ctx context.Context, o api.Orders, ids []string) map[string]form.Link {
	all := notEmpty(slices.Compact(slices.Sorted(slices.Values(ids))))
	links := make([]form.Link, len(all))
	var g errgroup.Group
	g.SetLimit(namedTogether)
	for n, id := range all {
		links[n] = form.Link{Name: id, URL: r.instanceURL(id, "")}
		if n < maxNamed {
			g.Go(func() error {
				if i, err := o.Instance(ctx, r.Env, orders.Ref{ID: id}); err == nil {
					links[n] = r.instanceLink(&i)
				}
				return nil
			})
		}
	}
	_ = g.Wait() // none of them fails
	out := map[string]form.Link{}
	for n, id := range all {
		out[id] = links[n]
	}
	return out
}

// instanceLink returns a link to an instance: its identity, and the id as title.
func (r *request) instanceLink(i *orders.Instance) form.Link {
	name := cut(instanceName(i), 60)
	return form.Link{Name: name.Text, URL: r.instanceURL(i.ID, ""), Title: strings.TrimSpace(name.Whole + " " + i.ID)}
}

// linksTo returns links to instances, in their order.
func (r *request) linksTo(ctx context.Context, o api.Orders, ids []string) []form.Link {
	all := r.instanceLinks(ctx, o, ids)
	var out []form.Link
	for _, id := range ids {
		out = append(out, all[id])
	}
	return out
}

// allScalar returns the items of a list as texts; false if one has values in it.
func allScalar(list []any) ([]string, bool) {
	var out []string
	for _, v := range list {
		switch v.(type) {
		case nil, []any, map[string]any:
			return nil, false
		}
		out = append(out, form.Shown(v))
	}
	return out, true
}

// isReference reports whether a text names the source of a secret.
func isReference(s string) bool {
	return !strings.Contains(s, " ") && resource.CheckSecret(s) == ""
}

// indented returns a value as JSON, or as text if it is one.
func indented(v any) string {
	switch v.(type) {
	case []any, map[string]any:
	default:
		return form.Shown(v)
	}
	b, err := json.MarshalIndent(definition.Written(v), "", "  ")
	if err != nil {
		return form.Shown(v)
	}
	return string(b)
}

// flatten returns the values of attributes by their paths, in order. Members of lists are named by
// their keys.
func flatten(p *definition.Part, set map[string]any) *flattener {
	f := &flattener{values: map[string]any{}, relations: map[string]bool{}}
	f.part(p, "", set)
	return f
}

// flattener collects values by their paths.
type flattener struct {
	paths     []string
	values    map[string]any
	relations map[string]bool // the paths of relations to instances
}

func (f *flattener) add(path string, v any) {
	if _, twice := f.values[path]; !twice {
		f.paths = append(f.paths, path)
	}
	f.values[path] = v
}

func (f *flattener) part(p *definition.Part, at string, set map[string]any) {
	known := map[string]bool{}
	for i := range p.Attributes {
		f.known(known, at, p.Attributes[i].Name, set)
	}
	for i := range p.Embedded {
		e := &p.Embedded[i]
		known[e.Name] = true
		switch v := set[e.Name].(type) {
		case map[string]any:
			f.part(&e.Part, at+e.Name+".", v)
		case []any:
			f.members(e, at, v)
		default:
			if _, has := set[e.Name]; has {
				f.add(at+e.Name, v)
			}
		}
	}
	for i := range p.Relations {
		f.known(known, at, p.Relations[i].Name, set)
		f.relations[at+p.Relations[i].Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if !known[name] { // of another definition
			f.add(at+name, set[name])
		}
	}
}

func (f *flattener) known(known map[string]bool, at, name string, set map[string]any) {
	known[name] = true
	if v, has := set[name]; has {
		f.add(at+name, v)
	}
}

func (f *flattener) members(e *definition.Embedded, at string, list []any) {
	if len(list) == 0 {
		f.add(at+e.Name, []any{})
	}
	for i, v := range list {
		m, is := v.(map[string]any)
		path := inventory.Path{{Name: e.Name}}
		for _, k := range e.KeyAttributes {
			path[0].Keys = append(path[0].Keys, inventory.Key{Name: k, Value: inventory.Text(m[k])})
		}
		text := at + path.String()
		if len(e.KeyAttributes) == 0 {
			text = at + e.Name + "[" + number(i+1) + "]"
		}
		if !is {
			f.add(text, v)
			continue
		}
		f.part(&e.Part, text+".", m)
	}
}

// currentSet returns the candidate attributes of an instance, or else the active ones.
func currentSet(i *orders.Instance) map[string]any {
	if i.Candidate != nil {
		return i.Candidate
	}
	return i.Active
}

// serviceTitle returns the title of a page about a service.
func serviceTitle(name, what string) string { return cmp.Or(name, "Service") + ": " + what }
