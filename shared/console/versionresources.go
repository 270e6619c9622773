package console

import (
	"context"
	"strings"

	"southbound/shared/api"
	"southbound/shared/api/document"
	"southbound/shared/api/paging"
	"southbound/shared/resource"
)

// describedRow is a resource of a version.
type describedRow struct {
	Row   string
	Of    resourceRef
	Set   setView
	Place string   // where the model describes it; "": it is not known
	Files []string // its attributes whose values are files, and the hashes of those
	Notes []string
}

// describedRows returns a page of the resources of a version that match, in order of id: those after
// an id. They are counted if they are not all.
func (r *request) describedRows(
	ctx context.Context, number int, of *selection, after resource.ID,
) (paging.Page[describedRow], error) {
	q := api.VersionQuery{Filter: of.terms()}
	q.Cursor, q.Limit, q.Count = string(after), pageRows, !of.empty()
	page, err := r.home(ctx).DescriptionsPage(ctx, r.Env, number, q)
	if err != nil {
		return paging.Page[describedRow]{}, err
	}
	out := paging.Page[describedRow]{Next: page.Next, Count: page.Count}
	for i := range page.Items {
		out.Items = append(out.Items, r.describedRow(&page.Items[i]))
	}
	return out, nil
}

func (r *request) describedRow(d *document.Description) describedRow {
	row := describedRow{Row: rowID("r", string(d.ID)), Of: r.ref(d.ID), Set: r.setOf(d.Set)}
	if d.Place != nil {
		row.Place = line(d.Place.String())
	}
	for _, name := range sortedKeys(d.Attributes) {
		for _, hash := range filesIn(d.Attributes[name]) {
			row.Files = append(row.Files, line(name)+": "+cutMiddle(line(hash), 20))
		}
	}
	for _, note := range []struct {
		is   bool
		word string
	}{{d.Purged, "purged"}, {d.ReportOnly, "report only"}} {
		if note.is {
			row.Notes = append(row.Notes, note.word)
		}
	}
	return row
}

// filesIn returns the hashes of the files to which a value of a document refers.
func filesIn(v any) []string {
	switch v := v.(type) {
	case map[string]any:
		if path, is := v["file"].(string); is && len(v) == 1 {
			if hash, is := strings.CutPrefix(path, document.FilesDir+"/"); is {
				return []string{hash}
			}
		}
		var out []string
		for _, name := range sortedKeys(v) {
			out = append(out, filesIn(v[name])...)
		}
		return out
	case []any:
		var out []string
		for _, one := range v {
			out = append(out, filesIn(one)...)
		}
		return out
	}
	return nil
}
