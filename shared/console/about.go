package console

import "context"

// aboutView is the page about.
type aboutView struct {
	Version, Where string
	Keys           []keyView
	Licences       []string
}

type keyView struct{ Key, Effect string }

func aboutPage(_ context.Context, r *request) (view, error) {
	return view{Template: "about.html", Title: "About", Data: aboutView{
		Version: r.site.o.Version, Where: r.site.o.Where,
		Keys: []keyView{
			{"/", "go to the search"}, {"j", "next row"}, {"k", "previous row"},
			{"Enter", "open the row"}, {"Esc", "leave a field, close a list"}, {"?", "this page"},
		},
		Licences: licences(),
	}}, nil
}

// licences returns the licences of the parts that pages contain.
func licences() []string {
	return []string{"The console contains code of the Go project: golang.org/x/net (BSD-3-Clause)."}
}
