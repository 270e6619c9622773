package api_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/resource"
)

// placed is a model of resources, each written as "name@file:line", with =set after it if it is in a
// set.
func placed(fingerprint string, texts ...string) *model.Model {
	m := &model.Model{Agents: []resource.Agent{{Name: "a", Transport: "local", Lanes: 1}},
		Fingerprint: fingerprint}
	var at []diag.Pos
	for _, text := range texts {
		text, set, _ := strings.Cut(text, "=")
		name, place, _ := strings.Cut(text, "@")
		name, value, _ := strings.Cut(name, "~")
		r := null(name, value)
		r.Set = set
		m.Resources = append(m.Resources, r)
		p := diag.Pos{Column: 3}
		p.File, place, _ = strings.Cut(place, ":")
		_, _ = fmt.Sscan(place, &p.Line)
		at = append(at, p)
	}
	m.Where = func(i int, attribute string) diag.Pos {
		if attribute != "" {
			return diag.Pos{File: "of an attribute", Line: 1}
		}
		return at[i]
	}
	return m
}

// TestResourcePlaces pins which places the resources of a version have after exports of all kinds, whether
// they reach the engine in this process or by a server.
func TestResourcePlaces(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"service", "client"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, nil)
			var home api.Home = w.service
			if name == "client" {
				home = w.client(t)
			}
			export := func(why string, x deploy.Export, isNew bool) {
				t.Helper()
				out, err := home.Export(t.Context(), "e", x, nil)
				if err != nil || out.New != isNew {
					t.Fatalf("%s: new is %v, %v", why, out.New, err)
				}
			}
			check := func(why string, number int, want string) {
				t.Helper()
				if got := placesOf(t, home, number); got != want {
					t.Errorf("%s:\n%s, want\n%s", why, got, want)
				}
			}
			export("all", deploy.Export{Model: placed("1", "x@site/a.yaml:3", "y@site/b.yaml:4=one",
				"z@site/a.yaml:9")}, true)
			check("all", 1, "x@site/a.yaml:3 y@site/b.yaml:4 z@site/a.yaml:9")
			export("moved lines alone", deploy.Export{Model: placed("2", "x@site/a.yaml:5",
				"y@site/b.yaml:4=one", "z@site/a.yaml:11")}, false)
			check("moved lines alone", 1, "x@site/a.yaml:3 y@site/b.yaml:4 z@site/a.yaml:9")
			export("a value and lines", deploy.Export{Model: placed("3", "x~new@site/a.yaml:5",
				"y@site/b.yaml:4=one", "z@site/a.yaml:11")}, true)
			check("a value and lines", 2, "x@site/a.yaml:5 y@site/b.yaml:4 z@site/a.yaml:11")
			export("a set", deploy.Export{Partial: true,
				Model: placed("", "y~new@one.yaml:1=one", "v@one.yaml:2=one")}, true)
			check("a set", 3, "v@one.yaml:2 x@site/a.yaml:5 y@one.yaml:1 z@site/a.yaml:11")
			export("a set again", deploy.Export{Partial: true,
				Model: placed("", "v~new@one.yaml:7=one")}, true)
			check("a set again", 4, "v@one.yaml:7 x@site/a.yaml:5 z@site/a.yaml:11")
			export("no set", deploy.Export{Partial: true, DeleteSets: []string{"one"},
				Model: placed("")}, true)
			check("no set", 5, "x@site/a.yaml:5 z@site/a.yaml:11")
			if _, err := home.Release(t.Context(), "e", 1, api.Origin{}); err != nil {
				t.Fatal(err)
			}
			check("an earlier version", 1, "x@site/a.yaml:3 y@site/b.yaml:4 z@site/a.yaml:9")
			check("the version before", 3, "v@one.yaml:2 x@site/a.yaml:5 y@one.yaml:1 z@site/a.yaml:11")
			one, err := home.Resource(t.Context(), "e", "std::Null[a,name=x]")
			if err != nil || one.Place == nil ||
				*one.Place != (diag.Pos{File: "site/a.yaml", Line: 3, Column: 3}) {
				t.Errorf("the version in force: %+v, %v", one.Place, err)
			}
			if _, err := home.Collect(t.Context(), "e", 1); err != nil {
				t.Fatal(err)
			}
			check("after a collection", 3,
				"v@one.yaml:2 x@site/a.yaml:5 y@one.yaml:1 z@site/a.yaml:11")
			unknown := placed("4", "x@a:1", "z@a:2")
			unknown.Where = nil
			export("places that are not known", deploy.Export{Model: unknown}, true)
			check("places that are not known", 6, "")
		})
	}
}

// placesOf returns the places of the resources of a version, as the API has them.
func placesOf(t *testing.T, home api.Home, number int) string {
	t.Helper()
	var out []string
	all := 0
	if err := home.Descriptions(t.Context(), "e", number, "", func(d *api.Description) error {
		all++
		if d.Place != nil {
			out = append(out, fmt.Sprintf("%s@%s:%d", d.Attributes["name"], d.Place.File, d.Place.Line))
		}
		return home.Descriptions(t.Context(), "e", number, d.ID, func(one *api.Description) error {
			if (one.Place == nil) != (d.Place == nil) || d.Place != nil && *one.Place != *d.Place {
				t.Errorf("%s: %v, and in the list %v", d.ID, one.Place, d.Place)
			}
			return nil
		})
	}); err != nil || all == 0 {
		t.Fatal(all, err)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// TestPlacesSince pins the places after an export of only the changes: other resources of a changed
// file may have moved.
func TestPlacesSince(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	all := []string{"x@a.yaml:3", "y@b.yaml:4", "z@a.yaml:9"}
	if _, err := w.service.Export(t.Context(), "e", deploy.Export{Model: placed("1", all...)},
		nil); err != nil {
		t.Fatal(err)
	}
	_, err := w.service.Export(t.Context(), "e", deploy.Export{
		Model: placed("2", "x~new@a.yaml:5"), Since: &deploy.Since{Fingerprint: "1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := placesOf(t, w.service, 2); got != "x@a.yaml:5 y@b.yaml:4 z@a.yaml:0" {
		t.Error(got)
	}
}

// TestPlacesRefused pins that a file which does not hold places is refused, and nothing is stored.
func TestPlacesRefused(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	x := deploy.Export{Model: placed("1", "x@a.yaml:3")}
	x.Model.Places = map[resource.ID]diag.Pos{"std::Null[a,name=other]": {File: "f", Line: 1},
		"std::Null[a,name=x]": {File: "<script>", Line: 1}}
	if _, err := w.client(t).Export(t.Context(), "e", x, nil); err != nil {
		t.Fatal(err)
	}
	if got := placesOf(t, w.service, 1); got != "x@<script>:1" {
		t.Error("a resource that is not there:", got)
	}
	v, err := w.service.Engine.VersionOf(context.Background(), "e", 1)
	if err != nil || len(v.Places) != 1 {
		t.Fatal(v.Places, err)
	}
	body := `{"chunks":["` + v.Chunks[0] + `"],"places":"` + v.Chunks[0] + `"}`
	resp, text := w.ask(t, "POST", "/v1/environments/f/exports", body,
		"Content-Type", "application/json")
	if resp.StatusCode != 422 {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}
