package console

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"southbound/shared/api"
	"southbound/shared/console/form"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

// theirsRow compares a value that another user has changed with the value of this user.
type theirsRow struct {
	Name               string
	Was, Theirs, Yours valueView
	Both               bool // both have changed it, differently
}

// naming returns values of attributes of a service for people, with the names of related instances in
// place of their ids.
type naming struct {
	relations map[string]bool
	links     map[string]form.Link
}

// naming reads the names of all instances that sets of attributes refer to.
func (r *request) naming(
	ctx context.Context, o api.Orders, s *definition.Service, sets ...map[string]any,
) naming {
	n := naming{map[string]bool{}, r.instanceLinks(ctx, o, inventory.References(s, sets...))}
	for i := range s.Relations {
		n.relations[s.Relations[i].Name] = true
	}
	return n
}

// value returns the value of an attribute, embedded entity or relation.
func (n *naming) value(name string, v any) valueView {
	out := attributeValue(v)
	if n.relations[name] {
		out.Links = linksIn(v, n.links)
		return out
	}
	if _, is := v.(string); !is { // an embedded entity may refer to instances
		out.Text = named(out.Text, n.links)
	}
	return out
}

// overtaken returns the attributes that a posted form has shown if another user has changed them
// since; otherwise nil.
func (p *formPage) overtaken(ctx context.Context) map[string]any {
	if p.instance == nil {
		return nil
	}
	seen, err := strconv.ParseInt(p.r.PostForm.Get(fieldSeen), 10, 64)
	if err != nil || seen == p.instance.Version {
		return nil
	}
	was, err := p.earlier(ctx, seen)
	switch {
	case err != nil || was == nil:
		p.note("%s has the version %d, and this form shows version %d, which is not kept. "+
			"Compare all values.", p.d.Name, p.instance.Version, seen)
		return nil
	case inventory.Equal(was, p.form.Base): // only its state has changed
		p.note("%s went on to version %d, in the state %s. Its attributes are the same.", p.d.Name,
			p.instance.Version, p.instance.State)
		return nil
	}
	return was
}

func (p *formPage) note(format string, args ...any) {
	p.d.Notes = append(p.d.Notes, fmt.Sprintf(format, args...))
}

// asSeen makes the form the one that the user has opened, before another user changed the instance.
func (p *formPage) asSeen(was map[string]any) {
	p.form = &form.Form{Service: p.form.Service, Base: was}
	if seen, err := strconv.ParseInt(p.r.PostForm.Get(fieldSeen), 10, 64); err == nil {
		p.d.Seen = seen
	}
}

// merged shows an overtaken form: values that only another user has changed become theirs, all others
// stay as typed.
func (p *formPage) merged(ctx context.Context, was map[string]any) (view, error) {
	yours, draft := p.typed(&form.Form{Service: p.form.Service, Base: was})
	if yours == nil { // correct mistakes first, in the form as it was
		p.draft = draft
		p.asSeen(was)
		return p.view(ctx)
	}
	p.values, p.problems = p.merge(ctx, was, yours), nil
	p.draft = p.form.Draft(p.values)
	if p.r.PostForm.Get(fieldView) == viewJSON {
		p.d.JSON, p.d.Text = true, p.form.Text(p.values)
	}
	v, err := p.view(ctx)
	v.Status = http.StatusConflict
	return v, err
}

// earlier returns the attributes of an instance at a version; nil if it is not kept.
func (p *formPage) earlier(ctx context.Context, version int64) (map[string]any, error) {
	n := strconv.FormatInt(version, 10)
	page, err := p.o.Log(ctx, p.r.Env, orders.Ref{Service: p.d.Service, ID: p.d.ID}, orders.LogQuery{
		Versions: []string{"ge:" + n, "le:" + n}, Place: orders.Place{Limit: 1},
	})
	if err != nil || len(page.Items) == 0 {
		return nil, err
	}
	if page.Items[0].Candidate != nil {
		return page.Items[0].Candidate, nil
	}
	return page.Items[0].Active, nil
}

// typed returns the values of the posted form; nil if it has mistakes.
func (p *formPage) typed(f *form.Form) (map[string]any, *form.Draft) {
	if p.r.PostForm.Get(fieldView) == viewJSON {
		p.d.JSON, p.d.Text = true, p.postedText()
		values, problems := f.Parse(p.d.Text)
		if p.problems = problems; len(problems) > 0 {
			return nil, nil
		}
		all, err := inventory.Changed(f.Service, f.Base, values)
		if err != nil {
			return nil, nil
		}
		return all, nil
	}
	draft, problems := f.Read(p.posted)
	values, more := f.Values(draft)
	if p.problems = append(problems, more...); len(p.problems) > 0 {
		return nil, draft
	}
	return values, draft
}

// merge returns the values of the form, and theirs where only they have changed them. It lists all
// values that they have changed.
func (p *formPage) merge(ctx context.Context, was, yours map[string]any) map[string]any {
	theirs := p.form.Base
	shown := p.r.naming(ctx, p.o, p.form.Service, was, yours, theirs)
	out := map[string]any{}
	names := map[string]bool{}
	for _, m := range []map[string]any{was, yours, theirs} {
		for name := range m {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		changed := !inventory.Equal(was[name], yours[name])
		if out[name] = theirs[name]; changed {
			out[name] = yours[name]
		}
		if inventory.Equal(was[name], theirs[name]) {
			continue
		}
		p.d.Theirs = append(p.d.Theirs, theirsRow{
			Name: form.Title(name), Was: shown.value(name, was[name]),
			Theirs: shown.value(name, theirs[name]), Yours: shown.value(name, yours[name]),
			Both: changed && !inventory.Equal(yours[name], theirs[name]),
		})
	}
	return out
}
