package console

import (
	"context"
	"fmt"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"

	"southbound/shared/api"
	"southbound/shared/api/document"
	"southbound/shared/diag"
	"southbound/shared/resource"
)

// describer has pages of the resources of a version.
type describer struct {
	api.Home
	ids []resource.ID
}

func (d describer) DescriptionsPage(
	_ context.Context, _ string, _ int, q api.VersionQuery,
) (page api.Page[document.Description], _ error) {
	slices.Sort(d.ids)
	for _, id := range d.ids {
		if string(id) <= q.Cursor {
			continue
		}
		if len(page.Items) == q.Limit {
			page.Next = string(page.Items[len(page.Items)-1].ID)
			break
		}
		page.Items = append(page.Items, document.Description{ID: id,
			Place: &diag.Pos{File: "main.cf", Line: 3, Column: 1}})
	}
	return page, nil
}

// TestDescribedRows: the pages of a version have each resource once, in order of id.
func TestDescribedRows(t *testing.T) {
	for _, n := range []int{0, 1, pageRows - 1, pageRows, pageRows + 1, 3*pageRows + 7} {
		var ids []resource.ID
		for i := range n {
			ids = append(ids, resource.ID(fmt.Sprintf("std::Null[web1,name=%04d]", (i*7919)%10007)))
		}
		s := &site{home: describer{ids: ids}}
		r := s.request(httptest.NewRequest("GET", "/console/e/versions/1", nil), nil)
		r.Env = "e"
		var got []resource.ID
		for after, pages := "", 0; ; pages++ {
			page, err := r.describedRows(t.Context(), 1, &selection{}, resource.ID(after))
			if err != nil || len(page.Items) > pageRows || pages > n {
				t.Fatalf("%d resources: page %d has %d rows: %v", n, pages, len(page.Items), err)
			}
			for _, row := range page.Items {
				got = append(got, row.Of.ID)
			}
			if after = page.Next; after == "" {
				break
			}
		}
		slices.Sort(ids)
		if !slices.Equal(got, ids) {
			t.Errorf("%d resources: the pages have %d", n, len(got))
		}
	}
}

// TestFilesIn finds the files of a value, and nothing that only looks like one.
func TestFilesIn(t *testing.T) {
	file := func(hash string) any { return map[string]any{"file": "files/" + hash} }
	for _, c := range []struct {
		why  string
		v    any
		want []string
	}{
		{"a file", file("ab"), []string{"ab"}},
		{"within lists and dicts", []any{map[string]any{"a": file("1"), "b": []any{file("2")}}, "x"}, []string{"1", "2"}},
		{"text", "files/ab", nil},
		{"another key beside it", map[string]any{"file": "files/ab", "mode": 1}, nil},
		{"another path", map[string]any{"file": "/etc/hosts"}, nil},
	} {
		if got := filesIn(c.v); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.why, got, c.want)
		}
	}
}
