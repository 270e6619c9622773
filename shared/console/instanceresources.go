package console

import (
	"context"
	"fmt"

	"southbound/shared/api"
	"southbound/shared/api/instances"
	"southbound/shared/deploy/state"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

// instanceResourcesView are the resources of an instance.
type instanceResourcesView struct{ Rows []instanceResourceRow }

// instanceResourceRow is a resource of an instance.
type instanceResourceRow struct {
	Row    string
	ID     cutText
	URL    string // "": there is no page
	Status statusView
	Reason string
	Place  string
}

func (r *request) resourceRowOf(one *instances.InstanceResource) instanceResourceRow {
	row := instanceResourceRow{
		Row: "r-" + one.ID, ID: cut(one.ID, 90), Status: statusOf(one.State), Reason: one.Reason,
		Place: one.Pos.String(),
	}
	if r.hasPage("GET /console/{env}/resource") {
		row.URL = r.url("resource", "id", one.ID)
	}
	return row
}

func (r *request) instanceResources(
	ctx context.Context, i *orders.Instance,
) (*instanceResourcesView, error) {
	all, err := instances.InstanceResources(ctx, r.home(ctx), r.Env, i)
	d := &instanceResourcesView{}
	for n := range all {
		d.Rows = append(d.Rows, r.resourceRowOf(&all[n]))
	}
	return d, err
}

// diagnosisView is why an instance is unhealthy.
type diagnosisView struct {
	Healthy    bool
	Failures   []instanceResourceRow
	Rejections []rejectionRow
}

// rejectionRow is a failed compile or deploy.
type rejectionRow struct {
	At       timeView
	Version  int64
	From, To string
	Message  string
	Problems []problemLine
	Compile  compileView
}

func (r *request) diagnosis(
	ctx context.Context, o api.Orders, i *orders.Instance,
) (*diagnosisView, error) {
	all, err := instances.Diagnose(ctx, r.home(ctx), o, r.Env, i)
	d := &diagnosisView{Healthy: err == nil && len(all.Failures) == 0 && len(all.Rejections) == 0}
	for n := range all.Failures {
		f := &all.Failures[n]
		row := r.resourceRowOf(&f.InstanceResource)
		for _, one := range f.Failures {
			if row.Reason = one.Message; row.Reason == string(state.StatusFailed) {
				row.Reason = ""
			}
		}
		d.Failures = append(d.Failures, row)
	}
	for n := range all.Rejections {
		one := &all.Rejections[n]
		row := rejectionRow{At: r.timeAgo(one.At), Version: one.Version, From: one.From, To: one.To,
			Message: one.Message, Compile: compileViewOf(one.Ran)}
		for _, p := range problemsIn(one.More) {
			row.Problems = append(row.Problems, problemLine{Place: p.Pos.String(),
				Text: sentence(p.Message), Hint: sentence(p.Hint)})
		}
		d.Rejections = append(d.Rejections, row)
	}
	return d, err
}

// compileView is the compile that an event follows from.
type compileView struct {
	Text   string // how long it took and for how many instances; "": not known
	Trace  string // all problems with the places that lead to them
	Output string // what the model printed
	Gone   string // why there is neither, although there was; "": there was none
}

func compileViewOf(c *inventory.Compile) compileView {
	if c == nil {
		return compileView{}
	}
	v := compileView{Trace: c.Trace, Output: c.Output, Text: fmt.Sprintf("compile of %s, %.1f s",
		plural(c.Instances, "instance"), float64(c.DurationMS)/1000)}
	if c.Removed {
		v.Gone = fmt.Sprintf("Trace and output of this compile were removed after %d days.",
			int(inventory.CompileKept.Hours()/24))
	}
	return v
}
