package work

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/input"
	"southbound/shared/cli/output"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/fault"
	render "southbound/shared/internal/report"
	"southbound/shared/resource"
)

// progress shows the progress of the work: by one line that is updated in place on a terminal, by a
// line at intervals elsewhere.
type progress struct {
	w     *Waiter
	mu    sync.Mutex
	over  bool
	live  bool
	began time.Time
	last  time.Time
	// when the number of remaining resources last changed, or a resource last ran
	moved time.Time
	since map[resource.ID]time.Time // when a running resource was first seen running
	left  int
	total int
	bad   map[state.Status]int // the lowest counts of failed and unavailable resources
	wrote bool
	// By agent: the number of scheduled and of remaining resources. counted is when all were
	// counted.
	totals, remaining map[string]int
	counted           time.Time
}

// Progress returns a display of progress. The caller ends it.
func (w *Waiter) Progress() *progress {
	_, live := output.Terminal(w.Err)
	return &progress{w: w, live: live && os.Getenv("TERM") != "dumb", began: time.Now(),
		last: time.Now(), moved: time.Now()}
}

func (p *progress) report(now api.Progress) {
	p.mu.Lock()
	p.total = max(p.total, now.Scheduled)
	total := p.total
	if now.Scheduled != p.left || now.RunningCount > 0 {
		p.left, p.moved = now.Scheduled, time.Now()
	}
	still := time.Since(p.moved)
	p.mu.Unlock()
	if now.Scheduled == 0 {
		return
	}
	p.show(func() string {
		done := total - now.Scheduled
		elapsed := time.Since(p.began)
		text := fmt.Sprintf("%d of %d, %.0f/s, %s", done, total, float64(done)/elapsed.Seconds(),
			elapsed.Round(time.Second))
		text += p.newlyBad(now)
		text += p.runs(now, time.Now())
		p.count(now)
		text += p.slowest()
		why := p.w.Waits.Of(p.w.Env, time.Now())
		maps.Copy(why, now.Waiting) // reasons that a server has reported
		if tried := TriedAgain(why); tried != "" {
			text += ", " + tried
		}
		return text + waitsFor(now, still)
	})
}

// newlyBad returns how many more resources are failed or unavailable than at the lowest count.
// Other resources of the environment may have failed before, and do not belong to this work. The
// caller holds the lock.
func (p *progress) newlyBad(now api.Progress) string {
	first := p.bad == nil
	if first {
		p.bad = map[state.Status]int{}
	}
	text := ""
	for _, status := range []state.Status{state.StatusFailed, state.StatusUnavailable} {
		n := now.Counts[status]
		if first || n < p.bad[status] {
			p.bad[status] = n
		}
		if more := n - p.bad[status]; more > 0 {
			text += fmt.Sprintf(", %d %s", more, status)
		}
	}
	return text
}

// runs names the agents on which resources run, and the resource that has run longest. The caller
// holds the lock.
func (p *progress) runs(now api.Progress, at time.Time) string {
	if len(now.Running) == 0 {
		clear(p.since)
		return ""
	}
	since := make(map[resource.ID]time.Time, len(now.Running))
	var agents []string
	slowest := now.Running[0]
	for _, id := range now.Running {
		since[id] = at
		if began, known := p.since[id]; known {
			since[id] = began
		}
		if since[id].Before(since[slowest]) {
			slowest = id
		}
		agents = append(agents, id.Agent())
	}
	p.since = since
	slices.Sort(agents)
	agents = slices.Compact(agents)
	text := ", at " + output.OneLine(string(slowest))
	if took := at.Sub(since[slowest]); took >= slowAfter {
		text += " for " + took.Round(time.Second).String()
	}
	if len(agents) > 1 {
		text += " and on " + output.Plural(len(agents)-1, "more agent")
	}
	return text
}

// slowAfter is how long a resource has to run until its time is shown.
const slowAfter = 3 * time.Second

// waitsFor names the agents that have work but are not served, if there was no progress for a
// while.
func waitsFor(now api.Progress, still time.Duration) string {
	if still < stuckAfter || len(now.Running)+len(now.Held) > 0 || len(now.Lanes) == 0 {
		return ""
	}
	agents := slices.Compact(slices.Sorted(slices.Values(now.Lanes)))
	const limit = 3
	text := strings.Join(agents[:min(limit, len(agents))], ", ")
	if len(agents) > limit {
		text += fmt.Sprintf(" and %d more", len(agents)-limit)
	}
	return ", waits for a process that serves " + text
}

// show writes a line of progress when it is due.
func (p *progress) show(line func() string) {
	every := 5 * time.Second
	if p.live {
		every = 150 * time.Millisecond
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.w.Quiet || time.Since(p.last) < every {
		return
	}
	p.last = time.Now()
	text := line()
	if !p.live {
		p.w.Say("%s", text)
		return
	}
	fmt.Fprintf(p.w.Err, "\r\x1b[K%s", output.Cut(text, output.Columns(p.w.Err)-1))
	p.wrote = true
}

// Sent shows the progress of an upload.
func (p *progress) Sent(s api.Sent) {
	p.show(func() string {
		return fmt.Sprintf("sent %d of %s, %.1f of %.1f MB", s.Files, output.Plural(s.OfFiles, "file"),
			float64(s.Bytes)/1e6, float64(s.OfBytes)/1e6)
	})
}

// End removes the display.
func (p *progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.over = true
}

// clear removes the line that is updated in place.
func (p *progress) clear() {
	if p.wrote {
		fmt.Fprint(p.w.Err, "\r\x1b[K")
		p.wrote = false
	}
}

// stopping reports that the program waits for running handlers after it was asked to stop.
func (p *progress) stopping(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.clear()
	p.over = true
	if p.w.Remote() {
		p.w.Say("no longer waiting; the server continues")
		return
	}
	if fault.Is(why, fault.Timeout) {
		p.w.Say("the time to wait is over; ending running calls")
		return
	}
	p.w.Say("stopping when running calls have finished, in %s at most; Ctrl-C again stops immediately",
		p.w.Grace)
}

// Results writes the result of a command.
type Results struct {
	*output.Console
	*home.Location
	*home.Session
	Docs *input.Documents
}

// Summary writes the result of a command that waited: first the root causes of failures, then the
// resources that were skipped because of them. exported reports that the command made an export, so
// that there are changes to count.
func (rs *Results) Summary(ctx context.Context, r api.Report, d Result, exported bool) error {
	if Ill(r.Counts) || d.Stuck || r.Superseded > 0 {
		rs.Code = output.Unhealthy
	}
	if !rs.JSON {
		showChanged(rs.Console, &r)
	}
	if Ill(r.Counts) && (!rs.JSON || !rs.Quiet) {
		w := rs.Out
		if rs.JSON {
			w = rs.Err
		}
		if rs.Docs.Path != "" {
			// read the documents again; failures are rare, so positions are not kept in memory
			rs.Docs.Described = rs.Docs.DescribedAt(ctx, rs.Docs.Path)
		}
		if d.Scope != nil {
			d.Scope.show(&problemList{Console: rs.To(w), described: rs.Docs.Described})
		} else if err := rs.Wrong(ctx, w, maxWrong); err != nil {
			return err
		}
	}
	if d.Stuck && !rs.JSON {
		rs.Printf("waiting: %s\n", whyStuck(d.Progress))
	}
	if rs.JSON {
		rs.Line(r)
		return nil
	}
	what := output.Plural(r.Resources, "resource")
	if exported {
		what += fmt.Sprintf(", %d changed, %d unchanged", r.Changed, r.Unchanged)
	}
	if r.Removed > 0 {
		what += fmt.Sprintf(", %d removed", r.Removed)
	}
	if r.Repaired > 0 {
		what += fmt.Sprintf(", %d repaired", r.Repaired)
	}
	if r.Recovered > 0 {
		what += fmt.Sprintf(", %d recovered", r.Recovered)
	}
	rs.Printf("version %d of %s: %s; %s (%.2f s)\n", r.Version, r.Environment, what,
		output.CountsText(r.Counts), float64(r.DurationMS)/1000)
	if r.Superseded > 0 {
		rs.Say("version %d was released in between: this result is about it, and version %d may "+
			"not have been deployed", r.Superseded, r.Version)
	}
	if r.Counts[state.StatusFailed]+r.Counts[state.StatusUnavailable] > 0 {
		rs.Say("`southbound deploy --retry-failed` tries again now; `southbound run` when " +
			"it is due")
	}
	return nil
}

// whyStuck returns why no remaining resource makes progress.
func whyStuck(p api.Progress) string {
	if p.Halted {
		return haltedText(p)
	}
	return heldText(p.Scheduled, pausedWith(p))
}

func haltedText(p api.Progress) string {
	return fmt.Sprintf("the environment is halted with %s to do; `southbound unhalt` continues",
		output.Plural(p.Scheduled, "resource"))
}

func heldText(n int, agents []string) string {
	return fmt.Sprintf("%s to do, held by paused agents: %s; `southbound resume AGENT` continues",
		output.Plural(n, "resource"), strings.Join(agents, ", "))
}

// pausedWith returns the paused agents that have work.
func pausedWith(p api.Progress) []string {
	var out []string
	for _, a := range p.Paused {
		if p.Left[a] > 0 || slices.ContainsFunc(p.Lanes, func(lane string) bool {
			return lane == a
		}) {
			out = append(out, a)
		}
	}
	return out
}

// WaitsForPeople reports whether work waits until a person resumes an agent or the environment.
func WaitsForPeople(p api.Progress) bool {
	return p.Scheduled > 0 && (p.Halted || len(pausedWith(p)) > 0)
}

// UnfinishedText describes in lines the scheduled resources and the reason why they wait. here
// reports that only commands do work, so that possibly no process is active.
func UnfinishedText(p api.Progress, here bool) []string {
	if p.Halted {
		return []string{haltedText(p)}
	}
	var lines []string
	rest := p.Scheduled
	if paused := pausedWith(p); len(paused) > 0 && rest > 0 {
		n := 0
		for _, a := range paused {
			n += p.Left[a]
		}
		lines, rest = append(lines, heldText(n, paused)), rest-n
	}
	switch {
	case rest <= 0:
	case here && len(p.Held) == 0:
		lines = append(lines, fmt.Sprintf(
			"%s to do and no process at work%s; `southbound deploy` continues",
			output.Plural(rest, "resource"), interruptedText(p.Interrupted)))
	default:
		lines = append(lines, fmt.Sprintf("%s to be done%s", output.Plural(rest, "resource"),
			interruptedText(p.Interrupted)))
	}
	return lines
}

// Applied writes the result of an export that was waited for, limited to the resources that terms
// select.
func (rs *Results) Applied(
	ctx context.Context, r api.Report, done Result, terms []string, began time.Time,
) (err error) {
	r.Counts = done.Progress.ByStatus()
	if done.Scope, err = rs.ScopeOf(ctx, terms); err != nil {
		return err
	}
	if s := done.Scope; s != nil {
		r.Resources, r.Counts, r.Unchanged = s.Total, s.Counts, max(s.Total-r.Changed, 0)
	}
	r.DurationMS = time.Since(began).Milliseconds()
	return rs.Summary(ctx, r, done, true)
}

// Stored writes the result of an export that is not waited for.
func (rs *Results) Stored(ctx context.Context, r api.Report, began time.Time) error {
	p, err := rs.Home.Progress(ctx, rs.Env)
	if err != nil {
		return err
	}
	r.Counts, r.DurationMS = p.ByStatus(), time.Since(began).Milliseconds()
	r.Tell(nil)
	if rs.JSON {
		rs.Line(r)
		return nil
	}
	what := fmt.Sprintf("version %d of %s: %s", r.Version, r.Environment,
		output.Plural(r.Resources, "resource"))
	if p.Released < r.Version {
		rs.Printf("%s; stored and not released; the same export without --no-release releases it\n",
			what)
		return nil
	}
	rs.Printf("%s, %d changed, %d removed; %d to deploy\n", what, r.Changed, r.Removed, p.Scheduled)
	if p.Scheduled > 0 && len(p.Held) == 0 && !rs.Remote() {
		rs.Say("`southbound deploy` does it and waits; `southbound run` does it in the background")
	}
	return nil
}

// showChanged lists the changes.
func showChanged(c *output.Console, r *api.Report) {
	for i, x := range r.Moves.Moves {
		if i == maxChanges {
			c.Printf("… and %d more are moved\n", r.Moved-i)
			break
		}
		c.Printf("%-8s %s, from %s\n", "moved", x.To, x.From)
	}
	shown := 0
	id := func(i int) resource.ID { return r.Changes[i].ID }
	for n, g := range output.Folded(c, r.Changes, output.ChangeKey) {
		if n == maxChanges {
			c.Printf("… and %d more; see `southbound logs`\n", len(r.Changes)+r.More-shown)
			return
		}
		shown += len(g)
		x := &r.Changes[g[0]]
		c.Printf("%-8s %s", output.ChangeWord(x.Change, x.Replaced), x.ID)
		if len(x.Attributes) > 0 && x.Change == diff.Updated {
			c.Printf("  %s", output.OneLine(strings.Join(x.Attributes, ", ")))
		}
		c.Printf("%s\n", output.OneLine(render.Same(output.AgentsOfFold(g, id))))
	}
}
