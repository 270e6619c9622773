package console

import (
	"context"
	"net/url"
	"strings"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

const parameterPattern = "GET /console/{env}/parameter"

// parametersPages are the lists of parameters and facts, one parameter, and its changes.
func (s *site) parametersPages() []route {
	return []route{
		{pattern: "GET /console/{env}/parameters", page: parametersPage},
		{pattern: "GET /console/{env}/facts", page: factsPage},
		{pattern: parameterPattern, page: parameterPage},
		{pattern: "GET /console/{env}/parameter/delete", page: askDeleteParameter},
		{pattern: "POST /console/{env}/do/set-parameter", page: setParameterPage},
		{pattern: "POST /console/{env}/do/delete-parameter", page: deleteParameterPage},
	}
}

// parameterRow is a parameter or a fact.
type parameterRow struct {
	Row, Name, URL string
	Of             *resourceRef // the resource of a fact
	Value          string
	Suggested      []string // the values that forms suggest
	Source         string
	Updated        timeView
	Gone           bool // it was removed then
}

func (r *request) parameterRow(p *state.Parameter) parameterRow {
	row := parameterRow{Row: rowID("p", string(p.Of)+"\x00"+p.Name), Name: cutMiddle(line(p.Name), maxPart),
		Value: shorten(p.Value, 300), Source: line(p.Source), Updated: r.timeAgo(p.Updated)}
	if p.Of != "" {
		ref := r.ref(p.Of)
		row.Of = &ref
		return row
	}
	row.URL = r.url("parameter", "name", p.Name)
	if list, is := suggestions(p); is {
		row.Suggested, row.Value = list, ""
	}
	return row
}

// parametersView is a list of parameters or facts.
type parametersView struct {
	Facts bool
	Other string // the address of the other list
	Rows  []parameterRow
	Pager pagerView
	Word  string
	List  string
	Chips []chip
	Set   *setForm
}

// setForm sets a parameter.
type setForm struct {
	Do, Back    string
	Name, Value string
	Fixed       bool // the name cannot be changed
	Wrong       *problemView
}

func parametersPage(ctx context.Context, r *request) (view, error) {
	return r.parameters(ctx, nil)
}

func (r *request) parameters(ctx context.Context, set *setForm) (view, error) {
	v, err := r.parameterList(ctx, false)
	if d, is := v.Data.(*parametersView); is && r.canChange() {
		if d.Set = set; set == nil {
			d.Set = &setForm{Do: r.url("do/set-parameter"), Name: r.URL.Query().Get("set")}
		}
		if set != nil && set.Wrong != nil {
			v.Status = set.Wrong.Status
		}
	}
	return v, err
}

func factsPage(ctx context.Context, r *request) (view, error) { return r.parameterList(ctx, true) }

func (r *request) parameterList(ctx context.Context, facts bool) (view, error) {
	path, title, other := "parameters", "Parameters", "facts"
	if facts {
		path, title, other = "facts", "Facts", "parameters"
	}
	q := r.URL.Query()
	word := strings.TrimSpace(q.Get(paramWord))
	query := api.ParametersQuery{Facts: facts, Prefix: word, Resource: resource.ID(q.Get(paramResource))}
	query.Cursor, query.Limit, query.Count = q.Get(paramCursor), pageRows, true
	list, err := r.home(ctx).ParametersPage(ctx, r.Env, query)
	if err = unlessNone(err); err != nil {
		return view{}, err
	}
	d := &parametersView{Facts: facts, Other: r.url(other), Word: word, List: r.url(path)}
	only := url.Values{}
	if word != "" {
		only.Set(paramWord, word)
	}
	if query.Resource != "" {
		only.Set(paramResource, string(query.Resource))
	}
	d.Chips = chipsOf(only, []string{paramResource, paramWord}, func(v url.Values) string { return r.urlOf(path, v) })
	for i := range list.Items {
		d.Rows = append(d.Rows, r.parameterRow(&list.Items[i]))
	}
	d.Pager = r.turns(path, only, paramCursor, list.Next)
	d.Pager.Text = counted(len(d.Rows), list.Count)
	return view{Template: "parameters.html", Title: title, Section: "Parameters", Data: d}, nil
}

// parameterView is one parameter.
type parameterView struct {
	Of      parameterRow
	Whole   string
	History []parameterRow
	Unknown *problemView // why there is no history
	Set     *setForm
	Delete  string
	Uses    *usesView
}

func parameterPage(ctx context.Context, r *request) (view, error) {
	return r.parameter(ctx, r.URL.Query().Get("name"), nil)
}

// parameter returns the page of a parameter; set is what was typed before, or nil.
func (r *request) parameter(ctx context.Context, name string, set *setForm) (view, error) {
	h := r.home(ctx)
	p, err := h.Parameter(ctx, r.Env, name)
	if err != nil {
		return view{}, err
	}
	d := parameterView{Of: r.parameterRow(&p), Whole: fullValue(p.Value), Uses: r.uses(ctx, name)}
	history, err := h.ParameterHistory(ctx, r.Env, name)
	if err != nil {
		d.Unknown = r.problem(err)
	}
	for i := range history[:min(len(history), pageRows)] {
		row := r.parameterRow(&history[i].Parameter)
		row.Gone = history[i].Gone
		d.History = append(d.History, row)
	}
	v := view{Template: "parameter.html", Title: "Parameter " + line(name), Section: "Parameters"}
	if r.canChange() {
		d.Delete = r.url("parameter/delete", "name", name)
		if d.Set = set; set == nil && len(d.Of.Suggested) == 0 {
			d.Set = &setForm{Do: r.url("do/set-parameter"), Back: r.url("parameter", "name", name),
				Name: name, Value: p.Value, Fixed: true}
		}
		if set != nil && set.Wrong != nil {
			v.Status = set.Wrong.Status
		}
	}
	v.Data = d
	return v, nil
}

func setParameterPage(ctx context.Context, r *request) (view, error) {
	f := &setForm{Do: r.url("do/set-parameter"), Name: r.PostForm.Get("name"), Value: r.PostForm.Get("value"),
		Back: r.PostForm.Get("back"), Fixed: r.PostForm.Get("fixed") != ""}
	err := error(fault.New(fault.Usage, "", "the parameter has no name").WithHint("type a name"))
	if f.Name != "" {
		_, err = r.home(ctx).SetParameter(ctx, r.Env, f.Name, f.Value)
	}
	switch {
	case err == nil:
		r.flash("The parameter %s is set", line(cutEnd(f.Name, 200)))
		return view{Redirect: r.url("parameter", "name", f.Name)}, nil
	case f.Fixed:
		f.Wrong = r.problem(err)
		return r.parameter(ctx, f.Name, f)
	}
	f.Wrong = r.problem(err)
	return r.parameters(ctx, f)
}

// deleteView asks before a parameter is deleted.
type deleteView struct {
	Of       parameterRow
	Name     string
	Do, Back string
}

func askDeleteParameter(ctx context.Context, r *request) (view, error) {
	name := r.URL.Query().Get("name")
	p, err := r.home(ctx).Parameter(ctx, r.Env, name)
	if err != nil {
		return view{}, err
	}
	d := deleteView{Of: r.parameterRow(&p), Name: name,
		Do: r.url("do/delete-parameter"), Back: r.url("parameter", "name", name)}
	return view{Template: "deleteparameter.html", Title: "Delete a parameter", Section: "Parameters", Data: d}, nil
}

func deleteParameterPage(ctx context.Context, r *request) (view, error) {
	name := r.PostForm.Get("name")
	if err := r.home(ctx).DeleteParameter(ctx, r.Env, name); err != nil {
		return view{}, err
	}
	r.flash("The parameter %s is deleted", line(cutEnd(name, 200)))
	return view{Redirect: r.url("parameters")}, nil
}
