package console

import (
	"context"
	"fmt"

	"southbound/shared/api"
)

// maxEnvironments is how many environments the first page has.
const maxEnvironments = 100

// framePages are the pages of the console itself.
func (s *site) framePages() []route {
	return []route{
		{pattern: "GET /console/{$}", page: environmentsPage},
		{pattern: "GET /console/{env}", page: environmentPage},
		{pattern: "GET /console/about", page: aboutPage},
	}
}

// environmentsView is the list of environments.
type environmentsView struct {
	Rows    []environmentRow
	More    string
	Problem *problemView
}

type environmentRow struct {
	Name, URL string
	Released  string
	Halted    bool
	Counts    []countView
	Work      string
	Problem   string
}

// environmentsPage lists the environments. If there is only one, it goes on to that.
func environmentsPage(ctx context.Context, r *request) (view, error) {
	home := r.home(ctx)
	names, err := home.Environments(ctx)
	if err != nil {
		return view{}, err
	}
	there := r.hasPage(patternOf(""))
	if len(names) == 1 && there && r.Header.Get(regionHeader) == "" && !r.URL.Query().Has("all") {
		return view{Redirect: r.at(names[0], "")}, nil
	}
	var v environmentsView
	if n := len(names) - maxEnvironments; n > 0 {
		v.More = fmt.Sprintf("And %s.", plural(n, "more environment"))
		names = names[:maxEnvironments]
	}
	for _, name := range names {
		row := environmentRow{Name: name}
		if there {
			row.URL = r.at(name, "")
		}
		p, err := home.Progress(ctx, name)
		if err != nil {
			row.Problem = r.problem(err).Text
		} else {
			row.fill(p)
		}
		v.Rows = append(v.Rows, row)
	}
	return view{Template: "environments.html", Title: "Environments", Data: v}, nil
}

// fill adds the progress of an environment.
func (row *environmentRow) fill(p api.Progress) {
	row.Halted = p.Halted
	row.Counts = countsOf(p.ByStatus(), nil)
	switch {
	case p.Released > 0:
		row.Released = fmt.Sprintf("version %d", p.Released)
	case p.Last > 0:
		row.Released = fmt.Sprintf("none of %s", plural(p.Last, "version"))
	default:
		row.Released = "nothing exported"
	}
	switch {
	case p.Releasing > 0:
		row.Work = fmt.Sprintf("releasing version %d", p.Releasing)
	case p.Done():
		row.Work = "none"
	case p.Scheduled > 0:
		row.Work = plural(p.Scheduled, "resource") + " scheduled"
	default:
		row.Work = "finishing"
	}
}

// environmentPage goes on to the first page of an environment.
func environmentPage(_ context.Context, r *request) (view, error) {
	return view{Redirect: r.url("")}, nil
}
