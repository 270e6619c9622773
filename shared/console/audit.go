package console

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"southbound/shared/api"
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
	for i := range page.Items {
		d.Rows = append(d.Rows, r.audited(&page.Items[i]))
	}
	return view{Template: "audit.html", Title: "Audit", Section: "Audit", Data: d}, nil
}

func (r *request) audited(e *api.Audited) auditRow {
	targets := strings.Join(e.Targets, ", ")
	if e.More > 0 {
		targets += fmt.Sprintf(" and %s", plural(e.More, "other"))
	}
	row := auditRow{Row: "a-" + e.ID, At: r.time(e.At), By: cut(cmp.Or(e.By, "unknown"), 60), Via: viaWord(e.Via),
		Act: strings.ReplaceAll(e.Act, "_", " "), Targets: cut(targets, 120), Message: e.Message,
		Outcome: e.Outcome, Error: e.Error}
	switch e.Outcome {
	case "failed":
		row.Tone = "bad"
	case "unknown":
		row.Tone = "warn"
	}
	return row
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
