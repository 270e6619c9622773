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
	Rows []environmentRow
	More string
}

type environmentRow struct {
	Name, URL string
	Released  string
	Halted    bool
	Counts    []countView
	Exported  timeView
}

// environmentsPage lists the environments. If there is only one, it goes on to that.
func environmentsPage(ctx context.Context, r *request) (view, error) {
	all, err := r.home(ctx).Summaries(ctx)
	if err != nil {
		return view{}, err
	}
	there := r.hasPage(patternOf(""))
	if len(all) == 1 && there && r.Header.Get(regionHeader) == "" && !r.URL.Query().Has("all") {
		return view{Redirect: r.at(all[0].Environment, "")}, nil
	}
	var v environmentsView
	if n := len(all) - maxEnvironments; n > 0 {
		v.More = fmt.Sprintf("And %s.", plural(n, "more environment"))
		all = all[:maxEnvironments]
	}
	for i := range all {
		row := r.environment(&all[i])
		if there {
			row.URL = r.at(row.Name, "")
		}
		v.Rows = append(v.Rows, row)
	}
	return view{Template: "environments.html", Title: "Environments", Data: v}, nil
}

// environment returns the row of an environment.
func (r *request) environment(s *api.Summary) environmentRow {
	row := environmentRow{Name: s.Environment, Halted: s.Halted, Counts: countsOf(s.Counts, nil)}
	if s.Exported != nil {
		row.Exported = r.timeAgo(*s.Exported)
	}
	switch {
	case s.Releasing > 0:
		row.Released = fmt.Sprintf("releasing version %d", s.Releasing)
	case s.Version > 0 && s.Version < s.LatestVersion:
		row.Released = fmt.Sprintf("version %d of %d", s.Version, s.LatestVersion)
	case s.Version > 0:
		row.Released = fmt.Sprintf("version %d", s.Version)
	case s.LatestVersion > 0:
		row.Released = fmt.Sprintf("none of %s", plural(s.LatestVersion, "version"))
	default:
		row.Released = "nothing exported"
	}
	return row
}

// environmentPage goes on to the first page of an environment.
func environmentPage(_ context.Context, r *request) (view, error) {
	return view{Redirect: r.url("")}, nil
}
