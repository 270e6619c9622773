package console

import (
	"context"
	"encoding/json"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"southbound/shared/api"
	"southbound/shared/api/paging"
	"southbound/shared/deploy/state"
	"southbound/shared/diffview"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// actionsPages are the log and one action.
func (s *site) actionsPages() []route {
	return []route{
		{pattern: "GET /console/{env}/actions", page: actionsPage},
		{pattern: "GET /console/{env}/actions/{id}", page: actionPage},
	}
}

// actionRow is a row of a list of actions.
//
// Large: it is the data of one row.
type actionRow struct {
	Row     string
	URL     string
	At      timeView
	Took    string
	Of      resourceRef
	Kind    string
	Outcome statusView
	Change  string // what it changed; "" for nothing
	Reason  string
	Version int
	Levels  template.HTML // the number of its lines by level
	Changes []attributeChange
}

// changeWord returns the word for the change of an action; "" for none.
func changeWord(a *api.Action) string {
	switch {
	case a.Change == "" || a.Change == "nochange":
		return ""
	case a.Replaced && a.Change == "updated":
		return "replaced"
	}
	return string(a.Change)
}

// actionRow returns a row without the differences of an action's values.
func (r *request) actionRow(a *api.Action, sides bool) actionRow {
	row := actionRow{Row: rowID("a", a.ID), URL: r.url("actions/" + url.PathEscape(a.ID)), At: r.time(a.Finished),
		Took: took(a.Started, a.Finished), Of: r.ref(a.Resource), Kind: string(a.Action),
		Outcome: statusOf(a.Outcome), Change: changeWord(a), Reason: shorten(a.Reason, reasonRoom(a.Resource)),
		Version: a.Version, Changes: changesOf(a.Changes, sides)}
	errors, warnings := 0, 0
	for i := range a.Messages {
		switch a.Messages[i].Level {
		case provider.LevelError:
			errors++
		case provider.LevelWarning:
			warnings++
		}
	}
	row.Levels = levels(len(a.Messages), errors, warnings)
	if a.Stale {
		row.Reason = strings.TrimSpace("stale: replaced during the run. " + row.Reason)
	}
	return row
}

// actionsView is the log.
//
// Large: it is the data of one template.
type actionsView struct {
	Chips                   []chip
	Clear                   string
	List                    string // the address of the whole log
	Rows                    template.HTML
	Pager                   pagerView
	Failed                  *problemView
	Follow                  bool
	Toggle                  string // the address with the other state of Follow
	Kinds, Outcomes, Levels []choice
	Resource, Agent, Set    string
	Version, Text           string
	Since, Until            string
	Notable                 bool
}

// The parameters of the address of the log.
const (
	paramResource = "resource"
	paramVersion  = "version"
	paramKind     = "kind"
	paramOutcome  = "outcome"
	paramLevel    = "level"
	paramText     = "text"
	paramNotable  = "notable"
	paramSince    = "since"
	paramUntil    = "until"
	paramFollow   = "follow"
)

func logParams() []string {
	return []string{paramResource, paramAgent, paramSet, paramVersion, paramKind, paramOutcome, paramLevel,
		paramText, paramNotable, paramSince, paramUntil}
}

// actionQueryOf reads the query of the log from the parameters of its address.
func actionQueryOf(q url.Values) (api.ActionQuery, error) {
	out := api.ActionQuery{Resource: resource.ID(q.Get(paramResource)), Agent: q.Get(paramAgent),
		Set: q.Get(paramSet), Action: state.ActionKind(q.Get(paramKind)), Outcome: state.Status(q.Get(paramOutcome)),
		Level: provider.Level(strings.ToUpper(q.Get(paramLevel))), Text: q.Get(paramText),
		Notable: q.Get(paramNotable) != "", Before: q.Get(paramCursor), Limit: pageRows}
	if v := q.Get(paramVersion); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return out, fault.New(fault.Usage, "filter", "%q is not the number of a version", v).
				WithHint("write a number from 1")
		}
		out.Version = n
	}
	for _, t := range []struct {
		name string
		to   *time.Time
	}{{paramSince, &out.Since}, {paramUntil, &out.Until}} {
		v := q.Get(t.name)
		if v == "" {
			continue
		}
		at, err := timeOf(v)
		if err != nil {
			return out, fault.New(fault.Usage, "filter", "%q is not a time", v).
				WithHint("write it as 2026-05-01T12:00 (UTC) or with a zone, as 2026-05-01T12:00:00+02:00")
		}
		*t.to = at
	}
	if out.Level != "" && state.Severity(out.Level) == 0 {
		return out, fault.New(fault.Usage, "filter", "%q is not a level", q.Get(paramLevel)).
			WithHint("use debug, info, warning or error")
	}
	return out, nil
}

// timeOf reads a time as a control sends it or as a person writes it; without a zone it is UTC.
func timeOf(s string) (time.Time, error) {
	var err error
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04",
		time.DateTime, time.DateOnly} {
		var t time.Time
		if t, err = time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, err
}

func actionsPage(ctx context.Context, r *request) (view, error) {
	q := r.URL.Query()
	at := func(v url.Values) string { return r.urlOf("actions", v) }
	only := url.Values{}
	for _, name := range logParams() {
		if v := q.Get(name); v != "" {
			only.Set(name, v)
		}
	}
	d := actionsView{Chips: chipsOf(only, logParams(), at), List: at(nil),
		Follow:   q.Get(paramFollow) != "off" && q.Get(paramCursor) == "",
		Resource: q.Get(paramResource), Agent: q.Get(paramAgent), Set: q.Get(paramSet), Version: q.Get(paramVersion),
		Text: q.Get(paramText), Since: q.Get(paramSince), Until: q.Get(paramUntil),
		Notable: q.Get(paramNotable) != ""}
	d.choices(q)
	if len(only) > 0 {
		d.Clear = at(nil)
	}
	query, err := actionQueryOf(q)
	var page paging.Page[api.Action]
	if err == nil {
		page, err = r.home(ctx).ActionsPage(ctx, r.Env, query)
		err = unlessNone(err)
	}
	if err != nil {
		d.Failed = r.problem(err)
	}
	rows := make([]actionRow, len(page.Items))
	for i := range rows {
		page.Items[i].Changes = nil // one action has its page
		rows[i] = r.actionRow(&page.Items[i], false)
	}
	d.Rows = actionRows(rows)
	d.Pager = r.turns("actions", only, paramCursor, page.Next)
	if d.Follow {
		only.Set(paramFollow, "off")
	}
	d.Toggle = at(only)
	return view{Template: "actions.html", Title: "Actions", Section: "Actions", Data: d}, nil
}

// choices fills in the options of the filter.
func (d *actionsView) choices(q url.Values) {
	d.Kinds = choicesOf([]state.ActionKind{state.ActionDeploy, state.ActionRepair,
		state.ActionDryRun}, q.Get(paramKind))
	d.Outcomes = choicesOf([]state.Status{state.StatusDeployed, state.StatusFailed,
		state.StatusSkipped, state.StatusUnavailable, state.StatusNonCompliant,
		state.StatusUndefined}, q.Get(paramOutcome))
	d.Levels = choicesOf([]string{"debug", "info", "warning", "error"},
		strings.ToLower(q.Get(paramLevel)))
}

// actionView is one action.
type actionView struct {
	Row        actionRow
	ID         string
	Started    timeView
	Reason     string
	Pack       string
	Provider   string
	Why        string
	Replaced   bool
	Stale      bool
	Lines      []logLine
	Sides      sidesLink
	VersionURL string
}

// logLine is a line that a handler wrote.
type logLine struct {
	At     timeView
	Level  string
	Text   string
	Values string // the values of the line as JSON; "" without any
}

func actionPage(ctx context.Context, r *request) (view, error) {
	id := r.PathValue("id")
	// The newest action with a smaller id than this text, which is greater than the id.
	found, err := r.home(ctx).Actions(ctx, r.Env, api.ActionQuery{Before: id + "~", Limit: 1})
	if err != nil {
		return view{}, err
	}
	if len(found) == 0 || found[0].ID != id {
		return view{}, fault.New(fault.NotFound, "action "+shorten(id, 60), "there is no such action").
			WithHint("actions are kept for some days; look for it in the list of actions")
	}
	a := &found[0]
	sides := r.sidesLink("actions/" + url.PathEscape(id))
	d := actionView{Row: r.actionRow(a, sides.Sides), ID: line(a.ID), Started: r.time(a.Started),
		Reason: diffview.Visible(cutEnd(a.Reason, maxReason), "\n\t"), Pack: line(a.Pack), Provider: line(a.Provider),
		Why: line(a.Why), Replaced: a.Replaced, Stale: a.Stale, Sides: sides, VersionURL: r.versionURL(a.Version)}
	for i := range a.Messages {
		d.Lines = append(d.Lines, r.logLine(&a.Messages[i]))
	}
	return view{Template: "action.html", Title: "Action on " + d.Row.Of.Whole, Section: "Actions", Data: d}, nil
}

func (r *request) logLine(m *api.Message) logLine {
	l := logLine{At: r.time(m.At), Level: strings.ToLower(string(m.Level)),
		Text: diffview.Visible(cutEnd(m.Msg, maxValueBytes), "\n\t")}
	if len(m.Kwargs) > 0 {
		text, err := json.Marshal(m.Kwargs)
		if plain, wrong := diffview.PlainJSON(m.Kwargs); wrong == nil {
			text, err = plain, nil
		}
		if err == nil {
			l.Values = diffview.Visible(cutEnd(string(text), maxValueBytes), "")
		}
	}
	return l
}
