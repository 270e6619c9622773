package console

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/orders"
)

// refusalView is why the release of a version would be refused, and what to do.
type refusalView struct {
	Version int
	Wrong   *problemView // nil: the rows say it
	Rows    []refusedRow
	More    string // how many instances are not listed
	Deleted bool   // some of the instances are deleted
	Here    string
}

// refusedRow is an instance that a version has otherwise than now.
type refusedRow struct {
	Row, Name, URL string
	Service        string
	Status         *statusView // nil: unknown
	Busy           bool        // its next state follows automatically
	Then           string      // how the version has it
	Do, Action     string      // the page that changes it, and the text of the link; "": none
}

// maxRefused is the number of instances that a refusal lists.
const maxRefused = 20

// refusal returns the reasons of an error of MayRelease.
func (r *request) refusal(ctx context.Context, err error, version int) *refusalView {
	d := &refusalView{Version: version, Here: r.here()}
	problems, more := diag.Of(err)
	left := 0
	for i := range problems {
		switch p := &problems[i]; {
		case p.Instance == "":
			d.Wrong = r.problem(err)
		case len(d.Rows) == maxRefused:
			left++
		default:
			d.Rows = append(d.Rows, r.refusedRow(ctx, p, version))
			d.Deleted = d.Deleted || p.Code == deploy.CodeInstanceDeleted
		}
	}
	if len(d.Rows) == 0 {
		d.Wrong = r.problem(err)
	}
	if left += more; left > 0 {
		d.More = "and " + plural(left, "more instance")
	}
	return d
}

func (r *request) refusedRow(ctx context.Context, p *diag.Problem, version int) refusedRow {
	id, at := p.Instance, strconv.Itoa(version)
	row := refusedRow{Row: "r-" + id, Name: cmp.Or(p.Identity, id), URL: r.instanceURL(id, ""),
		Then: "other resources", Do: r.instanceURL(id, "/edit", paramAsOf, at), Action: "Change back"}
	var i orders.Instance
	o, err := r.orders(ctx)
	if err == nil {
		i, err = o.Instance(ctx, r.Env, orders.Ref{ID: id})
	}
	if err == nil {
		status := lifecycleStatus(i.State, i.Label)
		row.Service, row.Status, row.Busy = i.Service, &status, !i.Settled && !i.Deleted
	}
	switch p.Code {
	case deploy.CodeInstanceMissing:
		row.Then, row.Do, row.Action = "not there yet", r.instanceURL(id, "/delete"), "Delete…"
	case deploy.CodeInstanceDeleted:
		row.Then, row.Do, row.Action = "not yet deleted", "", ""
		if row.Service != "" {
			row.Do = r.serviceURL(row.Service, "/new", "from", id, paramAsOf, at)
			row.Action = "Order again"
		}
	}
	if !r.canChange() {
		row.Do = ""
	}
	return row
}

// paramAsOf names the version of the model whose values a form is filled with.
const paramAsOf = "asof"

// Bounds of the search for an earlier version of an instance.
const (
	asOfPage  = 100
	asOfPages = 20
)

// pastSet is a set of attributes that an instance had.
type pastSet struct {
	values  map[string]any
	version int64 // of the instance
	at      time.Time
}

// asOf returns the attributes that an instance had deployed when a version of the model was stored.
func (r *request) asOf(
	ctx context.Context, o api.Orders, i *orders.Instance, number string,
) (pastSet, error) {
	n, err := strconv.Atoi(number)
	if err != nil {
		return pastSet{}, fault.New(fault.Usage, "", "%q is not the number of a version",
			shorten(number, 40)).WithHint("open the form from the comparison of two versions")
	}
	model, err := r.home(ctx).Described(ctx, r.Env, n)
	if err != nil {
		return pastSet{}, err
	}
	q := orders.LogQuery{Descending: true, Place: orders.Place{Limit: asOfPage}}
	for range asOfPages {
		page, err := o.Log(ctx, r.Env, orders.Ref{Service: i.Service, ID: i.ID}, q)
		if err != nil {
			return pastSet{}, err
		}
		for k := range page.Items {
			if e := &page.Items[k]; !e.At.After(model.At) {
				return pastSet{deployedSet(e), e.Version, e.At}, nil
			}
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	return pastSet{}, fault.New(fault.NotFound, "",
		"%s: its attributes at the time of version %d of the model are not kept", instanceName(i), n).
		WithHint("fill in its earlier values by hand")
}

// deployedSet returns the attributes whose resources are deployed.
func deployedSet(e *orders.LogEntry) map[string]any {
	if e.Active != nil {
		return e.Active
	}
	return e.Candidate
}

// note describes the values for the form that is filled with them.
func (p pastSet) note(r *request, name, number string) string {
	return "The values are those that " + name + " had with version " + number +
		" of the model: its own version " + strconv.FormatInt(p.version, 10) + ", of " +
		r.time(p.at).Text + ". Values that cannot be changed stay as they are now."
}
