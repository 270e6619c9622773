package console

import (
	"cmp"
	"context"
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"southbound/shared/console/form"
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
		{pattern: optionsPattern, raw: optionsFile},
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
	Effect     *effectView
}

// newInstancePage orders an instance.
func newInstancePage(ctx context.Context, r *request) (view, error) {
	version, err := r.definitionVersion()
	if err != nil {
		return view{}, err
	}
	o, err := r.orders(ctx)
	if err != nil {
		return r.unsent(err)
	}
	name := r.PathValue("service")
	offer, err := o.Offer(ctx, r.Env, name, version, false)
	if err != nil {
		return r.unsent(err)
	}
	p := &formPage{r: r, o: o, form: &form.Form{Service: &offer.Service}, d: orderForm{
		Service: name, ServiceURL: r.serviceURL(name, ""), Back: r.serviceURL(name, "/instances"),
		Action: r.serviceURL(name, "/new"), New: true, Version: offer.Version,
		ID: cmp.Or(r.PostForm.Get(fieldID), uuid.NewString()),
	}}
	p.returns()
	initial := r.PostForm.Get(fieldInitial)
	for _, s := range offer.Lifecycle.Alternatives {
		p.d.Initial = append(p.d.Initial, form.Option{Value: s, Label: s, Selected: s == initial})
	}
	if r.Method == http.MethodPost {
		return p.answer(ctx)
	}
	if p.values, err = p.like(ctx, r.URL.Query().Get("from")); err != nil {
		return view{}, err
	}
	return p.view(ctx)
}

// definitionVersion returns the version of the definition that a request names; -1 for the default.
func (r *request) definitionVersion() (int, error) {
	text := cmp.Or(r.PostForm.Get(fieldVersion), r.URL.Query().Get(fieldVersion))
	if text == "" {
		return -1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fault.New(fault.Usage, "", "the version %.40q is not a number", text)
	}
	return n, nil
}

// like returns the values of another instance for a new one; nil without its id.
func (p *formPage) like(ctx context.Context, id string) (map[string]any, error) {
	if id == "" {
		return nil, nil
	}
	other, err := p.o.Instance(ctx, p.r.Env, orders.Ref{Service: p.d.Service, ID: id})
	if err != nil {
		return nil, err
	}
	set := currentSet(&other)
	note := "The values are those of " + instanceName(&other) + ". Change what has to be unique."
	if p.d.As != "" {
		past, err := p.r.asOf(ctx, p.o, &other, p.d.As)
		if err != nil {
			return nil, err
		}
		set, note = past.values, past.note(p.r, instanceName(&other), p.d.As)
	}
	p.d.Notes = append(p.d.Notes, note)
	return inventory.Writable(p.form.Service, set), nil
}

// editInstancePage changes an instance.
func editInstancePage(ctx context.Context, r *request) (view, error) {
	o, err := r.orders(ctx)
	if err != nil {
		return r.unsent(err)
	}
	i, err := o.Instance(ctx, r.Env, orders.Ref{ID: r.PathValue("id")})
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
	p := &formPage{r: r, o: o, instance: &i, form: &form.Form{Service: &offer.Service, Base: base},
		d: orderForm{
			Service: i.Service, ServiceURL: r.serviceURL(i.Service, ""), Back: r.instanceURL(i.ID, ""),
			Action: r.instanceURL(i.ID, "/edit"), ID: i.ID, Name: instanceName(&i), Seen: i.Version,
			Version: i.ServiceVersion, State: lifecycleStatus(i.State, i.Label),
		}}
	if i.Deleted {
		p.d.Wrong = deletedProblem(&i)
	}
	p.returns()
	switch {
	case r.Method == http.MethodPost:
		return p.answer(ctx)
	case p.d.As != "":
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
		p.preview(ctx)
	}
	return p.view(ctx)
}

func deletedProblem(i *orders.Instance) *problemView {
	return &problemView{Title: "Deleted", Status: http.StatusConflict,
		Text: "The instance " + instanceName(i) + " was deleted.",
		Hint: "Copy your values from this form, and order a new instance."}
}
