package console

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/diffview"
	"southbound/shared/fault"
)

const comparePattern = "GET /console/{env}/compare"

// comparePages are the comparison of two versions, and the release of one.
func (s *site) comparePages() []route {
	return []route{
		{pattern: comparePattern, page: comparePage},
		{pattern: "POST /console/{env}/do/release", page: releasePage},
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// plannedRow is the planned change of one resource.
type plannedRow struct {
	Row       string
	Of        resourceRef
	Word      string
	Tone      string
	Reason    string
	Notes     []string
	Changes   []attributeChange
	Attribute string // the number of its changed attributes, in words
}

// toneOf returns the color of a planned change.
func toneOf(word string) string {
	switch word {
	case "failed":
		return "bad"
	case "delete", "replace", "undefined", "orphan":
		return "warn"
	case "create":
		return "good"
	}
	return "busy"
}

// plannedRow returns the planned change of one resource.
func (r *request) plannedRow(w *deploy.PlannedChange, sides bool) plannedRow {
	l := api.PlanLineOf(w)
	row := plannedRow{Row: rowID("p", string(w.ID)), Of: r.ref(w.ID), Word: l.Word(),
		Reason: shorten(w.Reason, maxReason)}
	row.Tone = toneOf(row.Word)
	changes, mayChange := w.Changes, deploy.MayChangeText(w.KnownAfter)
	if len(w.KnownAfter) > 0 {
		changes = diffview.KnownAfterApply(changes)
	}
	if n := len(w.Changes); n > 0 && row.Word != "create" {
		row.Attribute = plural(n, "attribute")
	}
	for _, note := range []struct {
		is   bool
		text string
	}{
		{w.Replace && !w.CreateFirst, "The thing is deleted and created again."},
		{w.CreateFirst, "A new thing is created, then the old one is deleted."},
		{w.Deletes, "Once the value is known, the thing is deleted or replaced."},
		{w.MovedFrom != "", "It was " + line(string(w.MovedFrom)) + " before."},
		{w.Rechecked, "It is unchanged, and checked again because its agent is reached in another way."},
		{len(w.ReloadFor) > 0, "It reloads for " + plural(len(w.ReloadFor), "changed resource") + "."},
		{len(w.After) > 0 && len(w.KnownAfter) == 0,
			"It can only be read after " + plural(len(w.After), "other change") + "."},
		{mayChange != "" && mayChange != w.Reason, line(mayChange) + "."},
	} {
		if note.is {
			row.Notes = append(row.Notes, note.text)
		}
	}
	row.Changes = changesOf(changes, sides)
	return row
}

// plannedCount is the number of planned changes of a kind.
type plannedCount struct {
	Word, Tone, Count, URL string
	Current                bool
}

// planView is a list of planned changes: of a comparison, or of a dry run.
type planView struct {
	Counts []plannedCount
	All    string // the address without a selected kind; "": none is selected
	Rows   []plannedRow
	Pager  pagerView
	Sides  sidesLink
	Total  string
}

// planView shows the changes of a plan, of which q selects a kind and a page. The address of the plan
// has a path and the parameters q.
func (r *request) planView(planned []deploy.PlannedChange, path string, q url.Values) planView {
	kind, cursor := r.URL.Query().Get("change"), r.URL.Query().Get(paramCursor)
	sides := r.URL.Query().Get("diff") == "sides"
	at := func(change, diff, cursor string) string {
		with := maps.Clone(q)
		for name, v := range map[string]string{"change": change, "diff": diff, paramCursor: cursor} {
			if v != "" {
				with.Set(name, v)
			}
		}
		return r.urlOf(path, with)
	}
	form, other := "", "sides"
	if sides {
		form, other = "sides", ""
	}
	d := planView{Sides: sidesLink{sides, at(kind, other, cursor)}}
	counts := map[string]int{}
	var shown []*deploy.PlannedChange
	for i := range planned {
		l := api.PlanLineOf(&planned[i])
		word := l.Word()
		if word == "none" {
			continue
		}
		if counts[word]++; kind == "" || kind == word {
			shown = append(shown, &planned[i])
		}
	}
	for _, word := range sortedKeys(counts) {
		d.Counts = append(d.Counts, plannedCount{word, toneOf(word), number(counts[word]),
			at(word, form, ""), word == kind})
	}
	if kind != "" {
		d.All = at("", form, "")
	}
	d.Total = number(len(shown))
	begin := 0
	if i := slices.IndexFunc(shown, func(w *deploy.PlannedChange) bool {
		return string(w.ID) == cursor
	}); i >= 0 && cursor != "" {
		begin = i + 1
		d.Pager.First = at(kind, form, "")
		if d.Pager.Previous = d.Pager.First; begin > pageRows {
			d.Pager.Previous = at(kind, form, string(shown[begin-pageRows-1].ID))
		}
	}
	end := min(begin+pageRows, len(shown))
	for _, w := range shown[begin:end] {
		d.Rows = append(d.Rows, r.plannedRow(w, sides))
	}
	if end < len(shown) {
		d.Pager.Next = at(kind, form, string(shown[end-1].ID))
	}
	return d
}

// compareView is the comparison of two versions.
type compareView struct {
	From, To       int
	FromURL, ToURL string
	Swap           string
	Plan           planView
	Equal          bool
	Refused        *refusalView // why the release of To would be refused
	Release        *releaseForm
	Wrong          *problemView // why a release was not made
	Agents         []string     // what changes in how agents are reached
	InForce        int          // the version in force if From is another one; 0: it is From
	Now            string       // the comparison with the version in force
}

// releaseForm releases the second version of a comparison.
type releaseForm struct {
	Do       string
	From, To int
	Lost     []string // what is lost
	Deletes  int
	Message  string
}

// versionsOf reads the two versions of a comparison. Without a first one that is 0, for the version
// in force.
func versionsOf(q url.Values) (from, to int, err error) {
	for _, v := range []struct {
		name string
		to   *int
	}{{"from", &from}, {"to", &to}} {
		text := q.Get(v.name)
		if text == "" && v.name == "from" {
			continue
		}
		if *v.to, err = strconv.Atoi(text); err != nil || *v.to < 1 {
			return 0, 0, fault.New(fault.Usage, "compare", "%q is not the number of a version", shorten(text, 40)).
				WithHint("choose two versions in the list of versions")
		}
	}
	return from, to, nil
}

func comparePage(ctx context.Context, r *request) (view, error) {
	from, to, err := versionsOf(r.URL.Query())
	if err != nil {
		return view{}, err
	}
	return r.compare(ctx, from, to, "", nil)
}

// compare returns the page of a comparison. wrong is why a release was not made, and message the text
// that was typed for it.
func (r *request) compare(ctx context.Context, from, to int, message string, wrong error) (view, error) {
	h := r.home(ctx)
	p, err := h.Progress(ctx, r.Env)
	if err != nil {
		return view{}, err
	}
	if from == 0 {
		from = p.Released
	}
	run, err := h.Compare(ctx, r.Env, from, to, false)
	if err != nil {
		return view{}, err
	}
	q := url.Values{"from": {strconv.Itoa(from)}, "to": {strconv.Itoa(to)}}
	d := compareView{From: from, To: to, FromURL: r.versionURL(from), ToURL: r.versionURL(to),
		Swap: r.compareURL(to, from), Plan: r.planView(run.Planned, "compare", q)}
	d.Equal = len(d.Plan.Counts) == 0
	for _, a := range run.Agents {
		d.Agents = append(d.Agents, agentChangeText(&a))
	}
	if run.Refused != nil {
		d.Refused = r.refusal(ctx, run.Refused, to)
	}
	if p.Released != from && p.Released != to && p.Released > 0 {
		d.InForce, d.Now = p.Released, r.compareURL(0, to)
	}
	if p.Released == from && from != to && run.Refused == nil && r.canChange() {
		d.Release = r.releaseForm(&run, from, to)
		d.Release.Message = message
	}
	if wrong != nil {
		d.Wrong = r.problem(wrong)
	}
	v := view{Template: "compare.html", Section: "Versions", Data: d,
		Title: "From version " + strconv.Itoa(from) + " to " + strconv.Itoa(to)}
	if wrong != nil {
		v.Status = d.Wrong.Status
	}
	return v, nil
}

func agentChangeText(a *deploy.AgentChange) string {
	text := "agent " + line(a.Name) + ": " + line(a.Place)
	if a.New {
		return text + ", new"
	}
	if a.How != "" {
		text += ", " + line(a.How)
	}
	return text
}

// losses counts the resources that a release deletes, and that it leaves behind.
func losses(run *deploy.DryRun) (deletes, orphans int) {
	for i := range run.Planned {
		switch w := &run.Planned[i]; {
		case w.Action == "delete", w.Replace, w.Deletes:
			deletes++
		case w.Action == "orphan":
			orphans++
		}
	}
	return deletes, orphans
}

func (r *request) releaseForm(run *deploy.DryRun, from, to int) *releaseForm {
	f := &releaseForm{Do: r.url("do/release"), From: from, To: to}
	deletes, orphans := losses(run)
	f.Deletes = deletes
	if deletes > 0 {
		f.Lost = append(f.Lost, plural(deletes, "thing")+" "+isAre(deletes, "deleted or replaced"))
	}
	if orphans > 0 {
		f.Lost = append(f.Lost, plural(orphans, "resource")+" "+
			isAre(orphans, "no longer managed; the things stay as they are"))
	}
	return f
}

func releasePage(ctx context.Context, r *request) (view, error) {
	from, to, err := versionsOf(r.PostForm)
	if err != nil {
		return view{}, err
	}
	h, message := r.home(ctx), r.PostForm.Get("message")
	p, err := h.Progress(ctx, r.Env)
	if err != nil {
		return view{}, err
	}
	switch p.Released {
	case to:
		r.flash("Version %d is in force already", to)
		return view{Redirect: r.url("versions")}, nil
	case from:
	default:
		return r.compare(ctx, p.Released, to, message, fault.New(fault.Conflict, "release",
			"version %d is in force now, and not version %d as on the page before", p.Released, from).
			WithHint("look at the comparison below, and release again"))
	}
	run, err := h.Compare(ctx, r.Env, from, to, false)
	if err != nil {
		return view{}, err
	}
	deletes, _ := losses(&run)
	if shown, err := strconv.Atoi(r.PostForm.Get("deletes")); err != nil || shown != deletes {
		return r.compare(ctx, from, to, message, fault.New(fault.Conflict, "release",
			"the release now deletes another number of things than the page showed").
			WithHint("look at the comparison below, and release again"))
	}
	out, err := h.Release(ctx, r.Env, to, api.Origin{Author: r.user(), Message: message})
	if err != nil {
		return r.compare(ctx, from, to, message, err)
	}
	r.flash("Version %d is in force: %s changed, %s removed", out.Version,
		plural(out.Changed, "resource"), number(out.Removed))
	return view{Redirect: r.url("versions")}, nil
}
