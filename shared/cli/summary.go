package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"golang.org/x/term"

	"southbound/shared/deploy"
	"southbound/shared/local"
	"southbound/shared/plan"
	"southbound/shared/resource"
)

// statuses in the order in which people want to know them.
var statuses = []deploy.Status{deploy.StatusFailed, deploy.StatusUnavailable, deploy.StatusSkipped, deploy.StatusBlocked, deploy.StatusUndefined,
	deploy.StatusDeploying, deploy.StatusAvailable, deploy.StatusNonCompliant, deploy.StatusOrphaned, deploy.StatusDeployed}

// unhealthy are those that make a command end with exit code 3.
var unhealthy = []deploy.Status{deploy.StatusFailed, deploy.StatusUnavailable, deploy.StatusSkipped, deploy.StatusBlocked, deploy.StatusUndefined}

// allCounts has every status, and takes what runs now out of where it is counted otherwise.
func allCounts(p deploy.Progress) map[deploy.Status]int {
	out := make(map[deploy.Status]int, len(statuses))
	for _, s := range statuses {
		out[s] = p.Counts[s]
	}
	running := min(len(p.Running), out[deploy.StatusAvailable])
	out[deploy.StatusDeploying] = running
	out[deploy.StatusAvailable] -= running
	return out
}

// drain serves the environment until nothing is left to do, and shows how far it is.
func (a *app) drain(ctx context.Context) (local.Drained, error) {
	pr := a.progress()
	out, err := a.runner().Drain(ctx, a.env, pr.report)
	pr.end()
	return out, err
}

// progress shows how far work is: a line that is written over on a terminal, a line now and then elsewhere.
type progress struct {
	a     *app
	live  bool
	began time.Time
	last  time.Time
	total int
	wrote bool
}

func (a *app) progress() *progress {
	f, ok := a.err.(*os.File)
	return &progress{a: a, live: ok && term.IsTerminal(int(f.Fd())), began: time.Now(), last: time.Now()} //nolint:gosec // a file descriptor
}

func (p *progress) report(now deploy.Progress) {
	every := 5 * time.Second
	if p.live {
		every = 150 * time.Millisecond
	}
	p.total = max(p.total, now.Scheduled)
	if p.a.quiet || time.Since(p.last) < every || now.Scheduled == 0 {
		return
	}
	p.last = time.Now()
	done := p.total - now.Scheduled
	rate := float64(done) / time.Since(p.began).Seconds()
	text := fmt.Sprintf("%d of %d, %.0f/s", done, p.total, rate)
	if bad := now.Counts[deploy.StatusFailed] + now.Counts[deploy.StatusUnavailable]; bad > 0 {
		text += fmt.Sprintf(", %d failed", bad)
	}
	if len(now.Running) > 0 {
		text += ", at " + string(now.Running[0])
	}
	if p.live {
		width := 100
		if f, ok := p.a.err.(*os.File); ok {
			if w, _, err := term.GetSize(int(f.Fd())); err == nil { //nolint:gosec // a file descriptor
				width = w
			}
		}
		if r := []rune(text); len(r) >= width {
			text = string(r[:max(width-1, 0)])
		}
		fmt.Fprintf(p.a.err, "\r\x1b[K%s", text)
		p.wrote = true
		return
	}
	p.a.say("%s", text)
}

func (p *progress) end() {
	if p.wrote {
		fmt.Fprint(p.a.err, "\r\x1b[K")
	}
}

// summary answers a command that waited: root causes of failures first, then what was skipped because of them.
func (a *app) summary(ctx context.Context, r report, d local.Drained) error {
	for _, s := range unhealthy {
		if r.Counts[s] > 0 {
			a.code = exitUnhealthy
		}
	}
	if d.Stuck {
		a.code = exitUnhealthy
	}
	if a.json {
		a.line(r)
		return nil
	}
	if a.code == exitUnhealthy {
		if err := a.wrong(ctx, 20); err != nil {
			return err
		}
	}
	if d.Stuck {
		a.printf("waiting: %s\n", whyStuck(d.Progress))
	}
	what := fmt.Sprintf("%d resources, %d changed, %d unchanged", r.Resources, r.Changed, r.Unchanged)
	if r.Removed > 0 {
		what += fmt.Sprintf(", %d removed", r.Removed)
	}
	if r.Repaired > 0 {
		what += fmt.Sprintf(", %d repaired", r.Repaired)
	}
	a.printf("version %d of %s: %s; %s (%.2f s)\n", r.Version, r.Environment, what, countsText(r.Counts), float64(r.DurationMS)/1000)
	return nil
}

func whyStuck(p deploy.Progress) string {
	if p.Env.Halted {
		return fmt.Sprintf("the environment is halted with %d resources to do; `southbound unhalt` goes on", p.Scheduled)
	}
	names := make([]string, 0, len(p.Paused))
	for n := range p.Paused {
		names = append(names, n)
	}
	sort.Strings(names)
	return fmt.Sprintf("%d resources wait for paused agents: %s; `southbound resume AGENT` goes on", p.Scheduled, strings.Join(names, ", "))
}

func countsText(counts map[deploy.Status]int) string {
	var parts []string
	for _, s := range statuses {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return "nothing there"
	}
	return strings.Join(parts, ", ")
}

// wrong lists what is not well: what failed by itself first, each with what was skipped because of it.
func (a *app) wrong(ctx context.Context, most int) error {
	var roots []deploy.Row
	because := map[resource.ID][]resource.ID{}
	err := a.engine.EachRow(ctx, a.env, deploy.Filter{}, func(r *deploy.Row) error {
		switch s := r.Status(); {
		case !slices.Contains(unhealthy, s):
		case len(r.Causes) > 0 && r.Causes[0] != r.ID:
			for _, c := range r.Causes {
				because[c] = append(because[c], r.ID)
			}
		default:
			roots = append(roots, *r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, g := range grouped(roots) {
		if i == most {
			a.printf("… and more; see `southbound resources status=failed`\n")
			break
		}
		r := g[0]
		a.printf("%s  %s", a.paint(r.Status()), r.ID)
		if len(g) > 1 {
			a.printf(" and %d more for the same reason", len(g)-1)
		}
		a.printf("\n")
		for _, l := range strings.Split(strings.TrimSpace(r.Reason), "\n") {
			a.printf("    %s\n", l)
		}
		var skipped []resource.ID
		for _, r := range g {
			skipped = append(skipped, because[r.ID]...)
		}
		slices.Sort(skipped)
		if skipped = slices.Compact(skipped); len(skipped) > 0 {
			a.printf("    because of it %d not done: %s\n", len(skipped), firstIDs(skipped, 3))
		}
	}
	return nil
}

// grouped puts rows together that are not well for the same reason, but for their own names in it; the largest groups first.
func grouped(rows []deploy.Row) [][]*deploy.Row {
	index := map[string]int{}
	var out [][]*deploy.Row
	for i := range rows {
		reason := string(rows[i].Status()) + rows[i].Reason
		if parts, err := resource.ParseID(string(rows[i].ID)); err == nil {
			for _, k := range parts.Keys {
				reason = strings.ReplaceAll(reason, k.Value, "…")
			}
		}
		at, ok := index[reason]
		if !ok {
			at = len(out)
			index[reason] = at
			out = append(out, nil)
		}
		out[at] = append(out[at], &rows[i])
	}
	slices.SortStableFunc(out, func(a, b []*deploy.Row) int { return len(b) - len(a) })
	return out
}

func firstIDs(ids []resource.ID, most int) string {
	var parts []string
	for i, id := range ids {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(ids)-most))
			break
		}
		parts = append(parts, string(id))
	}
	return strings.Join(parts, ", ")
}

// paint colours a status on a terminal.
func (a *app) paint(s deploy.Status) string {
	f, ok := a.out.(*os.File)
	if a.noColor || os.Getenv("NO_COLOR") != "" || !ok || !term.IsTerminal(int(f.Fd())) { //nolint:gosec // a file descriptor
		return string(s)
	}
	code := "33"
	switch s {
	case deploy.StatusDeployed:
		code = "32"
	case deploy.StatusFailed, deploy.StatusUnavailable:
		code = "31"
	}
	return "\x1b[" + code + "m" + string(s) + "\x1b[0m"
}

// diff shows differences, an attribute a line.
func (a *app) diff(changes map[string]plan.Diff) {
	for _, name := range sortedNames(changes) {
		a.printf("    %s: %s -> %s\n", name, short(changes[name].Current), short(changes[name].Desired))
	}
}

func sortedNames(m map[string]plan.Diff) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

func short(v any) string {
	if v == nil {
		return "nothing"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if r := []rune(string(b)); len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return string(b)
}
