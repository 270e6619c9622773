package api_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/shared/api"
	"southbound/shared/api/paging"
	"southbound/shared/fault"
)

// TestDescriptionsPage pins the pages of the resources of a version in both homes: in order, each
// resource once and as Descriptions has it, and the count is that of the filter.
func TestDescriptionsPage(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	x := exportOf(nulls(57))
	for i := range x.Model.Resources {
		x.Model.Resources[i].Set = []string{"", "site", "late"}[i%3]
	}
	if _, err := w.service.Export(t.Context(), "e", x, nil); err != nil {
		t.Fatal(err)
	}
	var all []api.Description
	if err := w.service.Descriptions(t.Context(), "e", 1, "", func(d *api.Description) error {
		all = append(all, *d)
		return nil
	}); err != nil || len(all) != 57 {
		t.Fatal(len(all), err)
	}
	slices.SortFunc(all, func(a, b api.Description) int { return cmp.Compare(a.ID, b.ID) })
	for name, home := range map[string]api.Home{"service": w.service, "client": w.client(t)} {
		t.Run(name, func(t *testing.T) {
			for terms, want := range map[string]func(*api.Description) bool{
				"":         func(*api.Description) bool { return true },
				"set=site": func(d *api.Description) bool { return d.Set == "site" },
				"set= id~=N1": func(d *api.Description) bool {
					return d.Set == "" && strings.Contains(string(d.ID), "n1")
				},
				"type=fs::File": func(*api.Description) bool { return false },
				"std::Null[a,name=n3*": func(d *api.Description) bool {
					return strings.HasPrefix(string(d.ID), "std::Null[a,name=n3")
				},
			} {
				matching := slices.DeleteFunc(slices.Clone(all), func(d api.Description) bool { return !want(&d) })
				for _, sort := range []string{"", "id.desc"} {
					q := api.VersionQuery{Filter: strings.Fields(terms),
						Query: paging.Query{Limit: 7, Count: true, Sort: sort}}
					var got []api.Description
					for {
						page, err := home.DescriptionsPage(t.Context(), "e", 1, q)
						if err != nil {
							t.Fatal(err)
						}
						if n := page.Count.Number; n != len(matching) {
							t.Errorf("%q: %d are counted, want %d", terms, n, len(matching))
						}
						got = append(got, page.Items...)
						if q.Cursor = page.Next; q.Cursor == "" {
							break
						}
					}
					if sort != "" {
						slices.Reverse(got)
					}
					samePages(t, terms+" "+sort, matching, got)
				}
			}
			for _, q := range []api.VersionQuery{{Filter: []string{"status=failed"}}, {Filter: []string{"x=1"}},
				{Query: paging.Query{Sort: "size"}}} {
				if _, err := home.DescriptionsPage(t.Context(), "e", 1, q); !fault.Is(err, fault.Usage) &&
					!fault.Is(err, fault.Invalid) {
					t.Errorf("%+v: %v", q, err)
				}
			}
			if _, err := home.DescriptionsPage(t.Context(), "e", 9, api.VersionQuery{}); !fault.Is(err, fault.NotFound) {
				t.Error(err)
			}
		})
	}
	resp, text := w.ask(t, "GET", "/v1/environments/e/versions/1/resources?count=true", "")
	if resp.StatusCode != 422 && resp.StatusCode != 400 || !strings.Contains(text, "sort=id") {
		t.Errorf("a count without an order: %d %s", resp.StatusCode, text)
	}
}

// samePages compares lists of resources.
func samePages(t *testing.T, about string, want, got []api.Description) {
	t.Helper()
	if d := gocmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("%q: -want +got\n%s", about, d)
	}
}
