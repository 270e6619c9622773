package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/api"
	"southbound/shared/api/problem"
	"southbound/shared/console/form"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

// formPage is a request for a form.
//
// Large: it is opened, answered, merged with the values of another user, and sent, each in a file of
// its own; every step reads what the step before has left.
type formPage struct {
	r        *request
	o        api.Orders
	form     *form.Form
	instance *orders.Instance // nil: a new instance
	d        orderForm
	search   formSearch
	focus    string
	posted   url.Values // the attributes
	problems diag.Problems
	draft    *form.Draft
	values   map[string]any
}

// ownFields are the names of the fields of the page.
func ownFields() []string {
	return []string{
		fieldID, fieldVersion, fieldSeen, fieldInitial, fieldMessage, fieldView, fieldText, fieldTo,
		fieldDo, fieldFind, paramAsOf, form.Add, form.Remove, form.Up, form.Down, form.As,
	}
}

// answer handles a posted form: it reads it, and then does what the pressed button says.
func (p *formPage) answer(ctx context.Context) (view, error) {
	f := p.r.PostForm
	p.d.Message = f.Get(fieldMessage)
	p.posted = url.Values{}
	for name, v := range f {
		if !slices.Contains(ownFields(), name) {
			p.posted[name] = v
		}
	}
	if was := p.overtaken(ctx); was != nil {
		if !p.rearranges() {
			return p.merged(ctx, was)
		}
		p.asSeen(was)
	}
	if f.Get(fieldView) == viewJSON {
		return p.answerJSON(ctx)
	}
	p.draft, p.problems = p.form.Read(p.posted)
	switch button := p.rowButton(); {
	case button != "":
		return p.press(ctx, button)
	case f.Get(fieldFind) != "":
		at := f.Get(fieldFind)
		p.search, p.focus = formSearch{at, strings.TrimSpace(f.Get(at))}, at
		return p.view(ctx)
	}
	var more diag.Problems
	p.values, more = p.form.Values(p.draft)
	p.problems = append(p.problems, more...)
	if f.Get(fieldTo) == viewJSON {
		return p.toJSON(ctx)
	}
	p.problems = form.Further(p.problems, p.form.Check(p.values))
	return p.finish(ctx)
}

// rearranges reports whether the pressed button changes the form alone, and neither previews nor sends
// it. So it does the same in an overtaken form; the values of the other user come with the preview.
func (p *formPage) rearranges() bool {
	f := p.r.PostForm
	return p.rowButton() != "" || f.Get(fieldFind) != "" || f.Get(fieldTo) != ""
}

// rowButton returns the pressed button that changes rows of the form; "": none was pressed.
func (p *formPage) rowButton() string {
	for _, button := range []string{form.Add, form.Remove, form.Up, form.Down, form.As} {
		if p.r.PostForm.Has(button) {
			return button
		}
	}
	return ""
}

// press shows the form after a button that changes its rows.
func (p *formPage) press(ctx context.Context, button string) (view, error) {
	next, err := p.form.Press(p.draft, button, p.r.PostForm.Get(button))
	if err != nil {
		p.d.Wrong = p.r.problem(err)
	}
	p.focus = next
	return p.view(ctx)
}

// toJSON shows the values of the form as JSON.
func (p *formPage) toJSON(ctx context.Context) (view, error) {
	if !form.OnlyMissing(p.problems) {
		p.d.Notes = append(p.d.Notes, "Correct these values first: they cannot be written as JSON.")
		return p.view(ctx)
	}
	p.d.JSON, p.d.Text, p.problems = true, p.form.Text(p.values), nil
	return p.view(ctx)
}

// answerJSON handles attributes that were posted as JSON.
func (p *formPage) answerJSON(ctx context.Context) (view, error) {
	p.d.JSON, p.d.Text = true, p.postedText()
	values, problems := p.form.Parse(p.d.Text)
	p.values, p.problems = values, problems
	unknown := slices.ContainsFunc(problems, func(one diag.Problem) bool {
		return one.Code == inventory.CodeUnknown
	})
	if p.r.PostForm.Get(fieldTo) != viewForm || values == nil || unknown {
		return p.finish(ctx)
	}
	if p.form.Base != nil && len(problems) == 0 {
		if all, err := inventory.Changed(p.form.Service, p.form.Base, values); err == nil {
			values = all
		}
	}
	p.d.JSON, p.d.Text = false, ""
	p.draft = p.form.Draft(values)
	return p.view(ctx)
}

// postedText returns the attributes that were posted as JSON.
func (p *formPage) postedText() string {
	return strings.ReplaceAll(p.r.PostForm.Get(fieldText), "\r\n", "\n")
}

// finish shows mistakes or the preview, or sends the order.
func (p *formPage) finish(ctx context.Context) (view, error) {
	switch {
	case len(p.problems) > 0 || p.d.Wrong != nil:
	case p.r.PostForm.Get(fieldDo) != doOrder:
		p.preview(ctx)
	case p.instance == nil:
		return p.create(ctx)
	default:
		return p.change(ctx)
	}
	return p.view(ctx)
}

// view returns the page with the form.
func (p *formPage) view(ctx context.Context) (view, error) {
	draft := p.draft
	if draft == nil {
		draft = p.form.Draft(p.values)
	}
	if p.d.JSON {
		p.d.Form.Mistakes = jsonMentions(p.problems)
	} else {
		p.d.Form = p.form.View(draft, p.problems, p.sources(ctx, draft))
		p.d.Form.Focus(p.focus)
	}
	p.d.Tabbed = len(p.d.Form.Tabs) > 1
	v := view{Template: "form.html", Section: sectionServices, Data: &p.d,
		Title: "Order " + p.d.Service}
	if p.instance != nil {
		v.Title = "Change " + p.d.Name
	}
	switch {
	case p.d.Wrong != nil:
		v.Status = p.d.Wrong.Status
	case len(p.d.Theirs) > 0:
		v.Status = http.StatusConflict
	case len(p.problems) > 0:
		v.Status = problem.StatusOf(fault.Invalid)
	}
	return v, nil
}

// jsonMentions returns problems with the places in the text.
func jsonMentions(all diag.Problems) []form.Mention {
	var out []form.Mention
	for _, one := range all {
		m := form.Mention{ID: "text", Problem: form.Problem{Text: one.Message, Hint: one.Hint}}
		if one.Line > 0 {
			m.Title = "Line " + strconv.Itoa(one.Line) + ", column " + strconv.Itoa(one.Column)
		}
		if one.Attribute != "" {
			m.Title = strings.TrimPrefix(m.Title+": "+one.Attribute, ": ")
		}
		out = append(out, m)
	}
	return out
}
