package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"southbound/shared/api"
	"southbound/shared/api/problem"
	"southbound/shared/console/form"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

// orderFormPages are the forms to order and to change an instance.
func orderFormPages() []route {
	return []route{
		{pattern: newInstancePattern, page: newInstancePage},
		{pattern: "POST /console/{env}/services/{service}/new", page: newInstancePage},
		{pattern: editInstancePattern, page: editInstancePage},
		{pattern: "POST /console/{env}/instances/{id}/edit", page: editInstancePage},
	}
}

const (
	newInstancePattern  = "GET /console/{env}/services/{service}/new"
	editInstancePattern = "GET /console/{env}/instances/{id}/edit"
)

// Fields of a form page that are no attributes.
const (
	fieldID      = "id"      // of the instance to order
	fieldVersion = "version" // of the definition
	fieldSeen    = "seen"    // the version of the instance that the form shows
	fieldInitial = "initial" // the initial state
	fieldMessage = "message" // the reason of a change
	fieldView    = "view"    // form or json: how the attributes are written
	fieldText    = "text"    // the attributes as JSON
	fieldTo      = "to"      // the button that switches the view
	fieldDo      = "do"      // the button: preview or order
	fieldFind    = "find"    // the button that searches suggestions

	viewJSON  = "json"
	viewForm  = "form"
	doOrder   = "order"
	doPreview = "preview"
)

// orderForm is the data of form.html.
//
// Large: it is the data of one template.
type orderForm struct {
	Service    string
	ServiceURL string
	Back       string
	As         string // the version of the model whose values were filled in; "": none
	Action     string // where the form is posted
	New        bool
	ID         string // of the instance
	Name       string // of the instance to change
	Version    int    // of the definition
	Seen       int64
	State      statusView
	Initial    []form.Option // the alternative initial states
	Message    string
	JSON       bool
	Text       string
	Form       form.View
	Tabbed     bool
	Wrong      *problemView // a failure that is no mistake in a value
	Notes      []string
	Theirs     []theirsRow // after a conflict
	Preview    []previewRow
	Previewed  bool // Preview is shown, and may be empty
	Resources  []string
}

// theirsRow compares a value that others have changed with the value of this form.
type theirsRow struct {
	Name, Was, Theirs, Yours string
	Both                     bool // both have changed it, differently
}

// previewRow is an effect of the order.
type previewRow struct{ Operation, Target, From, To string }

// formPage is a request for a form.
type formPage struct {
	r        *request
	o        api.Orders
	form     *form.Form
	instance *orders.Instance // nil: a new instance
	d        orderForm
	find     foundWords
	focus    string
	posted   url.Values // the attributes
	problems diag.Problems
	draft    *form.Draft
	values   map[string]any
}

// newInstancePage orders an instance.
func newInstancePage(ctx context.Context, r *request) (view, error) {
	o, err := r.orders(ctx)
	if err != nil {
		return r.unsent(err)
	}
	version := -1
	if text := cmp.Or(r.PostForm.Get(fieldVersion), r.URL.Query().Get(fieldVersion)); text != "" {
		if version, err = strconv.Atoi(text); err != nil {
			return view{}, fault.New(fault.Usage, "", "the version %.40q is not a number", text)
		}
	}
	name := r.PathValue("service")
	offer, err := o.Offer(ctx, r.Env, name, version, false)
	if err != nil {
		return r.unsent(err)
	}
	p := &formPage{r: r, o: o, form: &form.Form{Service: &offer.Service}}
	p.d = orderForm{
		Service: name, ServiceURL: r.serviceURL(name, ""), Back: r.serviceURL(name, "/instances"),
		Action: r.serviceURL(name, "/new"), New: true, Version: offer.Version,
		ID: cmp.Or(r.PostForm.Get(fieldID), uuid.NewString()),
	}
	p.returns()
	initial := r.PostForm.Get(fieldInitial)
	for _, s := range offer.Lifecycle.Alternatives {
		p.d.Initial = append(p.d.Initial, form.Option{Value: s, Label: s, Selected: s == initial})
	}
	if r.Method == http.MethodPost {
		return p.answer(ctx)
	}
	var values map[string]any
	if from := r.URL.Query().Get("from"); from != "" {
		like, err := o.Instance(ctx, r.Env, orders.Ref{Service: name, ID: from})
		if err != nil {
			return view{}, err
		}
		note := "The values are those of " + instanceName(&like) + ". Change what has to be unique."
		set := currentSet(&like)
		if p.d.As != "" {
			past, err := r.asOf(ctx, o, &like, p.d.As)
			if err != nil {
				return view{}, err
			}
			set, note = past.values, past.note(r, instanceName(&like), p.d.As)
		}
		values = inventory.Writable(p.form.Service, set)
		p.d.Notes = append(p.d.Notes, note)
	}
	p.draft = p.form.Draft(values)
	return p.view(ctx)
}

// editInstancePage changes an instance.
func editInstancePage(ctx context.Context, r *request) (view, error) {
	o, err := r.orders(ctx)
	if err != nil {
		return r.unsent(err)
	}
	ref := orders.Ref{ID: r.PathValue("id")}
	i, err := o.Instance(ctx, r.Env, ref)
	if err != nil {
		return r.unsent(err)
	}
	offer, err := o.Offer(ctx, r.Env, i.Service, i.ServiceVersion, false)
	if err != nil {
		return r.unsent(err)
	}
	base := currentSet(&i)
	if base == nil {
		base = map[string]any{}
	}
	p := &formPage{r: r, o: o, instance: &i, form: &form.Form{Service: &offer.Service, Base: base}}
	p.d = orderForm{
		Service: i.Service, ServiceURL: r.serviceURL(i.Service, ""), Back: r.instanceURL(i.ID, ""),
		Action: r.instanceURL(i.ID, "/edit"), ID: i.ID, Name: instanceName(&i), Seen: i.Version,
		Version: i.ServiceVersion, State: lifecycleStatus(i.State, i.Label),
	}
	if i.Deleted {
		p.d.Wrong = deletedProblem(&i)
	}
	p.returns()
	if r.Method == http.MethodPost {
		return p.answer(ctx)
	}
	if p.d.As != "" {
		return p.changeBack(ctx)
	}
	p.draft = p.form.Draft(base)
	return p.view(ctx)
}

// returns makes the form return to the comparison of versions that has led to it.
func (p *formPage) returns() {
	p.d.As = cmp.Or(p.r.PostForm.Get(paramAsOf), p.r.URL.Query().Get(paramAsOf))
	if n, err := strconv.Atoi(p.d.As); err == nil && n > 0 {
		p.d.Back = p.r.compareURL(0, n)
	}
}

// changeBack shows the form with the values that the instance had with a version of the model, and
// what they would change.
func (p *formPage) changeBack(ctx context.Context) (view, error) {
	past, err := p.r.asOf(ctx, p.o, p.instance, p.d.As)
	if err != nil {
		p.d.Wrong = p.r.problem(err)
		p.draft = p.form.Draft(p.form.Base)
		return p.view(ctx)
	}
	p.d.Notes = append(p.d.Notes, past.note(p.r, p.d.Name, p.d.As))
	p.draft = p.form.Draft(past.values)
	if p.values, p.problems = p.form.Values(p.draft); len(p.problems) == 0 {
		p.preview()
	}
	return p.view(ctx)
}

func deletedProblem(i *orders.Instance) *problemView {
	return &problemView{Title: "Deleted", Status: http.StatusConflict,
		Text: "The instance " + instanceName(i) + " was deleted.",
		Hint: "Copy your values from this form, and order a new instance."}
}

// answer handles a posted form.
func (p *formPage) answer(ctx context.Context) (view, error) {
	f := p.r.PostForm
	p.d.Message = f.Get(fieldMessage)
	p.posted = url.Values{}
	for name, v := range f {
		if !slices.Contains(ownFields(), name) {
			p.posted[name] = v
		}
	}
	if done, v, err := p.stale(ctx); done {
		return v, err
	}
	if f.Get(fieldView) == viewJSON {
		return p.answerJSON(ctx)
	}
	p.draft, p.problems = p.form.Read(p.posted)
	for _, button := range []string{form.Add, form.Remove, form.Up, form.Down, form.As} {
		if !f.Has(button) {
			continue
		}
		next, err := p.form.Press(p.draft, button, f.Get(button))
		if err != nil {
			p.d.Wrong = p.r.problem(err)
		}
		p.focus = next
		return p.view(ctx)
	}
	if at := f.Get(fieldFind); at != "" {
		p.find = p.search(at, f.Get(at))
		p.focus = at
		return p.view(ctx)
	}
	var more diag.Problems
	p.values, more = p.form.Values(p.draft)
	p.problems = append(p.problems, more...)
	if f.Get(fieldTo) == viewJSON {
		if !form.OnlyMissing(p.problems) {
			p.d.Notes = append(p.d.Notes, "Correct these values first: they cannot be written as JSON.")
			return p.view(ctx)
		}
		p.d.JSON, p.d.Text, p.problems = true, p.form.Text(p.values), nil
		return p.view(ctx)
	}
	p.problems = form.Further(p.problems, p.form.Check(p.values))
	return p.finish(ctx)
}

// answerJSON handles attributes that were posted as JSON.
func (p *formPage) answerJSON(ctx context.Context) (view, error) {
	p.d.JSON, p.d.Text = true, strings.ReplaceAll(p.r.PostForm.Get(fieldText), "\r\n", "\n")
	values, problems := p.form.Parse(p.d.Text)
	p.values, p.problems = values, problems
	unknown := slices.ContainsFunc(problems, func(one diag.Problem) bool {
		return one.Code == inventory.CodeUnknown
	})
	if p.r.PostForm.Get(fieldTo) == viewForm && values != nil && !unknown {
		if p.form.Base != nil && len(problems) == 0 {
			if all, err := inventory.Changed(p.form.Service, p.form.Base, values); err == nil {
				values = all
			}
		}
		p.d.JSON, p.d.Text = false, ""
		p.draft = p.form.Draft(values)
		return p.view(ctx)
	}
	return p.finish(ctx)
}

// finish shows mistakes or the preview, or sends the order.
func (p *formPage) finish(ctx context.Context) (view, error) {
	switch {
	case len(p.problems) > 0 || p.d.Wrong != nil:
	case p.r.PostForm.Get(fieldDo) != doOrder:
		p.preview()
	case p.instance == nil:
		return p.create(ctx)
	default:
		return p.change(ctx)
	}
	return p.view(ctx)
}

// ownFields are the names of the fields of the page.
func ownFields() []string {
	return []string{
		fieldID, fieldVersion, fieldSeen, fieldInitial, fieldMessage, fieldView, fieldText, fieldTo,
		fieldDo, fieldFind, paramAsOf, form.Add, form.Remove, form.Up, form.Down, form.As,
	}
}

// search returns the words to search for the control of a relation or of suggested values.
func (p *formPage) search(at, words string) foundWords {
	out := foundWords{words: strings.TrimSpace(words)}
	v := p.form.View(p.draft, nil, form.Sources{More: map[string]bool{}})
	for _, t := range v.Tabs {
		if c := findControl(t.Fields, at); c != nil {
			out.service = c.Service
		}
	}
	return out
}

// findControl returns a control by its name; nil if there is none.
func findControl(all []*form.Control, name string) *form.Control {
	for _, c := range all {
		if c.Name == name {
			return c
		}
		for _, row := range c.Rows {
			if row.Control != nil && row.Control.Name == name {
				return row.Control
			}
			if found := findControl(row.Fields, name); found != nil {
				return found
			}
		}
	}
	return nil
}

// preview shows what an order would change.
func (p *formPage) preview() {
	p.d.Previewed = true
	if p.instance == nil {
		flat := flatten(&p.form.Service.Part, p.values)
		for _, path := range flat.paths {
			p.d.Preview = append(p.d.Preview,
				previewRow{Target: path, To: attributeValue(flat.values[path]).Text})
		}
		return
	}
	edits, err := p.form.Edits(p.values)
	if err != nil {
		p.fail(err)
		return
	}
	for _, e := range edits {
		p.d.Preview = append(p.d.Preview, previewRow{string(e.Operation), e.Target, e.From, e.To})
	}
}

// create orders the instance. The same form sent again finds it.
func (p *formPage) create(ctx context.Context) (view, error) {
	version := p.d.Version
	i, err := p.o.Create(ctx, p.r.Env, orders.Creation{
		Service: p.d.Service, Version: &version, ID: p.d.ID, State: p.r.PostForm.Get(fieldInitial),
		Attributes: p.values,
	})
	if err != nil {
		p.fail(err)
		return p.view(ctx)
	}
	p.r.flash("%s ordered: it is in the state %s", instanceName(&i), i.State)
	return p.sent(&i), nil
}

// sent goes to the instance, or back to the comparison of versions.
func (p *formPage) sent(i *orders.Instance) view {
	if p.d.As != "" {
		return view{Redirect: p.d.Back}
	}
	return view{Redirect: p.r.instanceURL(i.ID, "")}
}

// change sends the edits of the instance.
func (p *formPage) change(ctx context.Context) (view, error) {
	edits, err := p.form.Edits(p.values)
	if err != nil {
		p.fail(err)
		return p.view(ctx)
	}
	if len(edits) == 0 {
		p.r.flash("Nothing was changed: all values are those that %s has", p.d.Name)
		return view{Redirect: p.d.Back}, nil
	}
	plain := make([]inventory.Edit, len(edits))
	for n := range edits {
		plain[n] = edits[n].Edit
	}
	seen := p.d.Seen
	i, err := p.o.Edit(ctx, p.r.Env, orders.Wish{
		Ref: orders.Ref{Service: p.d.Service, ID: p.d.ID}, Version: &seen, Message: p.d.Message,
	}, plain)
	if err != nil {
		p.fail(err)
		return p.view(ctx)
	}
	p.r.flash("%s of %s sent: it is in the state %s", plural(len(edits), "change"), p.d.Name, i.State)
	return p.sent(&i), nil
}

// fail records an error of the API: problems with values at their fields, others at the top.
func (p *formPage) fail(err error) {
	problems, more := diag.Of(err)
	if len(problems) == 0 {
		p.d.Wrong = p.r.problem(err)
		return
	}
	p.problems = append(p.problems, p.form.Placed(p.values, problems)...)
	if more > 0 {
		p.problems.Add(diag.Problem{Message: "there are " + plural(more, "further problem")})
	}
}

// view returns the page with the form.
func (p *formPage) view(ctx context.Context) (view, error) {
	from := form.Sources{Identity: identityValue(p.form, p.form.Base)}
	if p.instance != nil {
		from.Instance = p.instance.ID
	}
	draft := p.draft
	if draft == nil {
		draft = p.form.Draft(p.values)
	}
	from = p.r.sources(ctx, p.o, p.form, from, p.find)
	if p.d.JSON {
		p.d.Form.Mistakes = jsonMentions(p.problems)
	} else {
		p.d.Form = p.form.View(draft, p.problems, from)
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
