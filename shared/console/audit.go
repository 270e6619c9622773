package console

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"southbound/shared/api"
	"southbound/shared/console/form"
)

// auditPages are the list of requests that changed something.
func (s *site) auditPages() []route {
	return []route{{pattern: patternOf("audit"), page: auditPage}}
}

// auditRows is the number of entries of a page.
const auditRows = 50

// auditView is a page of the audit, the newest entry first.
type auditView struct {
	Rows  []auditRow
	Pager pagerView
}

// auditRow is a request.
type auditRow struct {
	Row     string
	At      timeView
	By      cutText
	Via     string
	Act     string
	Targets cutText
	Message string
	Outcome string
	Tone    string // the colour of the outcome
	Error   string
}

// auditPage lists who requested what.
func auditPage(ctx context.Context, r *request) (view, error) {
	cursor := r.URL.Query().Get(paramCursor)
	page, err := r.home(ctx).AuditPage(ctx, r.Env, api.AuditQuery{Cursor: cursor, Limit: auditRows})
	if err != nil {
		return view{}, err
	}
	d := auditView{Pager: r.turns("audit", nil, paramCursor, page.Next)}
	d.Pager.Text = plural(len(page.Items), "request")
	names := r.auditNames(ctx, page.Items)
	for i := range page.Items {
		d.Rows = append(d.Rows, r.audited(&page.Items[i], names))
	}
	return view{Template: "audit.html", Title: "Audit", Section: "Audit", Data: d}, nil
}

// auditNames returns the instances that requests were about, by their ids. A home without services has
// none.
func (r *request) auditNames(ctx context.Context, all []api.Audited) map[string]form.Link {
	var ids []string
	for i := range all {
		for _, target := range all[i].Targets {
			if _, id, is := strings.Cut(target, "/"); is && uuid.Validate(id) == nil {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	o, err := r.orders(ctx)
	if err != nil {
		return nil
	}
	return r.instanceLinks(ctx, o, ids)
}

func (r *request) audited(e *api.Audited, names map[string]form.Link) auditRow {
	whole := strings.Join(e.Targets, ", ")
	targets := named(whole, names)
	if e.More > 0 {
		targets += fmt.Sprintf(" and %s", plural(e.More, "other"))
	}
	row := auditRow{Row: "a-" + e.ID, At: r.time(e.At), By: cut(cmp.Or(e.By, "unknown"), 60), Via: viaWord(e.Via),
		Act: strings.ReplaceAll(e.Act, "_", " "), Targets: targetsOf(targets, whole), Message: e.Message,
		Outcome: e.Outcome, Error: e.Error}
	switch e.Outcome {
	case "failed":
		row.Tone = "bad"
	case "unknown":
		row.Tone = "warn"
	}
	return row
}

// targetsOf returns the targets of a request with names, and as they were recorded as title.
func targetsOf(targets, whole string) cutText {
	out := cut(targets, 120)
	if targets != whole {
		out.Whole = whole
	}
	return out
}

// viaWord says how a caller is known.
func viaWord(via string) string {
	switch via {
	case api.ViaOS:
		return "command"
	case api.ViaToken:
		return "API token"
	case api.ViaProxy:
		return "sign-in"
	case api.ViaIAM:
		return "AWS"
	case api.ViaConsole:
		return "console"
	case api.ViaArchive:
		return "archive"
	}
	return via
}
