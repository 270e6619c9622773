package console

import (
	"cmp"
	"strconv"

	"southbound/shared/console/form"
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

// linkBack makes a form that was opened from a comparison of versions return to it.
func (p *formPage) linkBack() {
	p.d.As = cmp.Or(p.r.PostForm.Get(paramAsOf), p.r.URL.Query().Get(paramAsOf))
	if n, err := strconv.Atoi(p.d.As); err == nil && n > 0 {
		p.d.Back = p.r.compareURL(0, n)
	}
}
