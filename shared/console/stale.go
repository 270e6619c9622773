package console

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/console/form"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

// stale handles a form that shows an earlier version of its instance. It reports whether the answer
// is complete. Values that only others have changed become theirs; all others stay as typed.
func (p *formPage) stale(ctx context.Context) (bool, view, error) {
	if p.instance == nil {
		return false, view{}, nil
	}
	seen, err := strconv.ParseInt(p.r.PostForm.Get(fieldSeen), 10, 64)
	if err != nil || seen == p.instance.Version {
		return false, view{}, nil
	}
	was, err := p.earlier(ctx, seen)
	if err != nil || was == nil {
		p.d.Notes = append(p.d.Notes, fmt.Sprintf("%s has the version %d, and this form shows "+
			"version %d, which is not kept. Compare all values.", p.d.Name, p.instance.Version, seen))
		return false, view{}, nil
	}
	if inventory.Equal(was, p.form.Base) { // only its state has changed
		p.d.Notes = append(p.d.Notes, fmt.Sprintf("%s went on to version %d, in the state %s. Its "+
			"attributes are the same.", p.d.Name, p.instance.Version, p.instance.State))
		return false, view{}, nil
	}
	old := &form.Form{Service: p.form.Service, Base: was}
	yours, draft := p.typed(old)
	if yours == nil { // correct mistakes first
		p.draft = draft
		p.d.Seen = seen
		now := p.form
		p.form = old
		v, err := p.view(ctx)
		p.form = now
		return true, v, err
	}
	merged := p.merge(was, yours)
	p.values, p.problems = merged, nil
	p.draft = p.form.Draft(merged)
	if p.r.PostForm.Get(fieldView) == viewJSON {
		p.d.JSON, p.d.Text = true, p.form.Text(merged)
	}
	v, err := p.view(ctx)
	v.Status = http.StatusConflict
	return true, v, err
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
		p.d.JSON, p.d.Text = true, strings.ReplaceAll(p.r.PostForm.Get(fieldText), "\r\n", "\n")
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
func (p *formPage) merge(was, yours map[string]any) map[string]any {
	theirs := p.form.Base
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
			Name: form.Title(name), Was: attributeValue(was[name]).Text,
			Theirs: attributeValue(theirs[name]).Text, Yours: attributeValue(yours[name]).Text,
			Both: changed && !inventory.Equal(yours[name], theirs[name]),
		})
	}
	return out
}

// unsentView is the data of unsent.html.
type unsentView struct {
	Wrong  *problemView
	Action string
	Fields []form.Pair // all that was posted
	Shown  []form.Pair // what a person has typed
}

// unsent returns a page that keeps a posted form that the home could not answer. For a GET it
// returns the error.
func (r *request) unsent(err error) (view, error) {
	if r.Method != http.MethodPost {
		return view{}, err
	}
	d := unsentView{Wrong: r.problem(err), Action: r.here()}
	for _, name := range slices.Sorted(maps.Keys(r.PostForm)) {
		for _, v := range r.PostForm[name] {
			d.Fields = append(d.Fields, form.Pair{Name: name, Value: v})
			if strings.HasPrefix(name, "/") && v != "" || name == fieldText {
				d.Shown = append(d.Shown, form.Pair{Name: strings.TrimPrefix(name, "/"), Value: v})
			}
		}
	}
	return view{Template: "unsent.html", Title: d.Wrong.Title, Section: sectionServices, Data: d,
		Status: d.Wrong.Status}, nil
}

// hiddenFields returns the fields of a URL for the hidden inputs of a form.
func hiddenFields(q url.Values, without ...string) []form.Pair {
	var out []form.Pair
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if slices.Contains(without, name) {
			continue
		}
		for _, v := range q[name] {
			out = append(out, form.Pair{Name: name, Value: v})
		}
	}
	return out
}
