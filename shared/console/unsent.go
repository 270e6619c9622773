package console

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"southbound/shared/console/form"
)

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

// failedView is the data of error.html.
type failedView struct {
	*problemView
	Typed []form.Pair // the texts of a posted form
	Back  string      // the page of the form; "": not known
}

// typedFields are the fields of small forms whose texts would be lost with the page.
func typedFields() []string { return []string{"url", "key", "value", "filter", "message"} }

// failed returns an error, and what a person has typed if a form was posted.
func (r *request) failed(err error) failedView {
	d := failedView{problemView: r.problem(err)}
	if r.Method != http.MethodPost || r.who == nil {
		return d
	}
	for _, name := range typedFields() {
		for _, v := range r.PostForm[name] {
			if v != "" {
				d.Typed = append(d.Typed, form.Pair{Name: form.Title(name), Value: v})
			}
		}
	}
	d.Back = r.back("")
	return d
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
