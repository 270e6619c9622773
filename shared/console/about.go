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
