package console_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"southbound/shared/api"
	"southbound/shared/api/results"
	"southbound/shared/console"
	"southbound/shared/fault"
	"southbound/shared/internal/simtest/consoletest"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

// TestStaleActions: a small action on an instance that another user has changed does nothing, shows
// theirs beside yours, and can be done still.
func TestStaleActions(t *testing.T) {
	t.Parallel()
	w := offered(t, "testdata/forms.cf")
	b := signedIn(t, console.New(w.Service, options()))
	i := w.Create(t, "customer", map[string]any{"name": "acme", "contact": "a@b"})
	page := at + "instances/" + i.ID
	for _, c := range []struct {
		why, from, action, field string
		pairs                    []string
		want                     []string
		done                     string
	}{
		{"a text", page, "metadata", "key", []string{"key", "color", "value", "red"},
			[]string{"You wanted to store the text color", "Text color not set blue red both changed it",
				"Contact a@b", "Do it still"}, "the text color is stored"},
		{"a deletion", page + "/delete", "deleteinstance", "message", nil,
			[]string{"You wanted to delete it", "State up up deleted"}, "its end is requested"},
	} {
		mine := with(formOf(t, b.Get(c.from, 200), c.field), c.pairs...)
		o := w.Orders(t)
		wish := orders.Wish{Ref: orders.Ref{Service: "customer", ID: i.ID}}
		other := "blue"
		if _, err := o.Update(t.Context(), consoletest.Env, wish, map[string]any{"contact": c.action + "@b"}); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Force(t.Context(), consoletest.Env, wish, "up", lifecycle.Promote); err != nil {
			t.Fatal(err)
		}
		if _, err := o.SetMetadata(t.Context(), consoletest.Env, wish, "color", &other); err != nil {
			t.Fatal(err)
		}
		conflict := b.Post(at+"do/"+c.action, mine, http.StatusConflict)
		wants(t, conflict, append(c.want, "Another user has changed acme", "Nothing was done", "Since then")...)
		wants(t, b.Post(at+"do/"+c.action, formOf(t, conflict, "seen"), 200), c.done)
	}
}

// TestFixedRelation shows instances that an instance names by their identities, as links.
func TestFixedRelation(t *testing.T) {
	t.Parallel()
	w := offered(t, "testdata/forms.cf")
	b := signedIn(t, console.New(w.Service, options()))
	acme := w.Create(t, "customer", map[string]any{"name": "acme", "contact": "a@b"})
	site := w.Create(t, "site", map[string]any{"host_name": "a.example", "region": "eu-west-1", "customer": acme.ID})
	link := "instances/" + acme.ID + `" title="` + acme.ID + `">acme</a>`
	for _, page := range []string{"instances/" + site.ID + "/edit", "instances/" + site.ID + "?tab=attributes",
		"services/site/instances?columns=customer"} {
		if text := b.Get(at+page, 200); !strings.Contains(text, link) {
			t.Errorf("%s: no link to acme: %s", page, consoletest.TextOf(text))
		}
	}
	wants(t, b.Get(at+"instances/"+acme.ID, 200), "Needed by a.example")
}

// previewing is a home that previews every order with the same result.
type previewing struct {
	api.Home
	out api.InstancePreview
	err error
}

func (p *previewing) PreviewOrder(context.Context, string, orders.Draft) (api.InstancePreview, error) {
	return p.out, p.err
}

// TestPreviewEffect shows the resources that an order would change, its states, and why it would be
// rejected.
func TestPreviewEffect(t *testing.T) {
	t.Parallel()
	w := offered(t, "testdata/forms.cf")
	h := &previewing{Home: w.Service}
	b := signedIn(t, console.New(h, options()))
	const path = at + "services/customer/new"
	form := with(formOf(t, b.Get(path, 200), "id"), "/name", "acme", "/contact", "a@b", "do", "preview")
	line := results.PlanLine{ID: "fs::File[web1,path=/srv/acme]", Action: "create"}
	for _, c := range []struct {
		why  string
		out  api.InstancePreview
		err  error
		want []string
	}{
		{"resources", api.InstancePreview{Path: []string{"start", "up"}, Resources: []results.PlanLine{line}}, nil,
			[]string{"States: start → up", "create fs::File web1 /srv/acme"}},
		{"none", api.InstancePreview{}, nil, []string{"No resource would change"}},
		{"a rejection", api.InstancePreview{Problems: json.RawMessage(`[{"message":"no port is free"}]`)}, nil,
			[]string{"It would be rejected", "No port is free"}},
		{"no answer", api.InstancePreview{}, fault.New(fault.Unavailable, "", "the compiler is gone"),
			[]string{"is not known", "The compiler is gone"}},
	} {
		h.out, h.err = c.out, c.err
		wants(t, b.Post(path, form, 200), append(c.want, "Preview", "acme")...)
	}
}

// TestOptions answers the searches of comboboxes.
func TestOptions(t *testing.T) {
	t.Parallel()
	w := offered(t, "testdata/forms.cf")
	b := signedIn(t, console.New(w.Service, options()))
	acme := w.Create(t, "customer", map[string]any{"name": "acme", "contact": "a@b"})
	w.Create(t, "customer", map[string]any{"name": "globex", "contact": "a@b"})
	if err := w.Service.Suggest(t.Context(), consoletest.Env, "colors", []any{"red", "green"}); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"service=customer&q=acm":  `[{"value":"` + acme.ID + `","label":"acme (up)"}]`,
		"parameter=colors&q=GREE": `[{"value":"green","label":"green"}]`,
		"parameter=none&q=x":      `[]`,
	} {
		if got := strings.TrimSpace(consoletest.Body(t, b.Do(http.MethodGet, at+"options?"+query, ""))); got != want {
			t.Errorf("%s: %s, expected %s", query, got, want)
		}
	}
}
