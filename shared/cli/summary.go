package cli

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
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// progress shows how far the work is: by one line that is updated in place on a terminal, by a line
// from time to time elsewhere.
type progress struct {
	a     *app
	mu    sync.Mutex
	over  bool
	live  bool
	began time.Time
	last  time.Time
	moved time.Time                 // when the number of what is left last changed, or something last ran
	since map[resource.ID]time.Time // when what runs was first seen to
	left  int
	total int
	bad   map[state.Status]int // the fewest that were failed or unavailable at a time
	wrote bool
	// By agent: how much was to do, and is left. counted says when all of it was counted.
	totals, remaining map[string]int
	counted           time.Time
}

func (a *app) progress() *progress {
	_, live := terminal(a.err)
	return &progress{a: a, live: live && os.Getenv("TERM") != "dumb", began: time.Now(), last: time.Now(), moved: time.Now()}
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
		text := fmt.Sprintf("%d of %d, %.0f/s, %s", done, total, float64(done)/elapsed.Seconds(), elapsed.Round(time.Second))
		text += p.newlyBad(now)
		text += p.runs(now, time.Now())
		p.count(now)
		text += p.slowest()
		why := p.a.waits.of(p.a.env, time.Now())
		maps.Copy(why, now.Waiting) // what a server has told
		if tried := triedAgain(why); tried != "" {
			text += ", " + tried
		}
		return text + waitsFor(now, still)
	})
}

// newlyBad says how many more are failed and unavailable than once were: others of the environment
// may have been before, and are none of what is worked on. It is called under the lock.
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

// runs says on which agents something runs, and what has been running longest. It is called under
// the lock.
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
	text := ", at " + oneLine(string(slowest))
	if took := at.Sub(since[slowest]); took >= slowAfter {
		text += " for " + took.Round(time.Second).String()
	}
	if len(agents) > 1 {
		text += fmt.Sprintf(" and on %d more agents", len(agents)-1)
	}
	return text
}

// slowAfter is how long something has to run until its time is shown.
const slowAfter = 3 * time.Second

// waitsFor names the agents that have work but are not served, if nothing has moved for a while.
func waitsFor(now api.Progress, still time.Duration) string {
	if still < stuckAfter || len(now.Running)+len(now.Held) > 0 || len(now.Lanes) == 0 {
		return ""
	}
	var agents []string
	for _, lane := range now.Lanes {
		agents = append(agents, state.AgentOf(lane))
	}
	slices.Sort(agents)
	agents = slices.Compact(agents)
	const limit = 3
	text := strings.Join(agents[:min(limit, len(agents))], ", ")
	if len(agents) > limit {
		text += fmt.Sprintf(" and %d more", len(agents)-limit)
	}
	return ", waits for somebody to serve " + text
}

// show writes a line of progress when it is time for one.
func (p *progress) show(line func() string) {
	every := 5 * time.Second
	if p.live {
		every = 150 * time.Millisecond
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.a.quiet || time.Since(p.last) < every {
		return
	}
	p.last = time.Now()
	text := line()
	if !p.live {
		p.a.say("%s", text)
		return
	}
	fmt.Fprintf(p.a.err, "\r\x1b[K%s", cut(text, columns(p.a.err)-1))
	p.wrote = true
}

// sent shows how far an upload is.
func (p *progress) sent(s api.Sent) {
	p.show(func() string {
		return fmt.Sprintf("sent %d of %s, %.1f of %.1f MB", s.Files, plural(s.OfFiles, "file"), float64(s.Bytes)/1e6, float64(s.OfBytes)/1e6)
	})
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.over = true
}

// clear removes the line that is updated in place.
func (p *progress) clear() {
	if p.wrote {
		fmt.Fprint(p.a.err, "\r\x1b[K")
		p.wrote = false
	}
}

// stopping says that the program waits for what still runs after it was asked to stop.
func (p *progress) stopping(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.clear()
	p.over = true
	if p.a.remote() {
		p.a.say("no longer waiting; the server goes on")
		return
	}
	if fault.Is(why, fault.Timeout) {
		p.a.say("the time to wait is over; what still runs is ended, and stays scheduled")
		return
	}
	p.a.say("stopping when what runs has finished, in %s at most; Ctrl-C again stops at once", p.a.grace)
}

// summary writes the result of a command that waited: first the root causes of failures, then what
// was skipped because of them. exported says that the command made an export, so that there are
// changes to count.
func (a *app) summary(ctx context.Context, r api.Report, d waited, exported bool) error {
	if ill(r.Counts) || d.Stuck {
		a.code = exitUnhealthy
	}
	if !a.json {
		a.changed(&r)
	}
	if ill(r.Counts) && (!a.json || !a.quiet) {
		w := a.out
		if a.json {
			w = a.err
		}
		if a.documents != "" { // they are read once more, since it is seldom that something is wrong
			a.described = a.describedAt(ctx, a.documents)
		}
		if d.Scope != nil {
			d.Scope.show(a, w)
		} else if err := a.wrong(ctx, w, maxWrong); err != nil {
			return err
		}
	}
	if d.Stuck && !a.json {
		a.printf("waiting: %s\n", whyStuck(d.Progress))
	}
	if a.json {
		a.line(r)
		return nil
	}
	what := plural(r.Resources, "resource")
	if exported {
		what += fmt.Sprintf(", %d changed, %d unchanged", r.Changed, r.Unchanged)
	}
	if r.Removed > 0 {
		what += fmt.Sprintf(", %d removed", r.Removed)
	}
	if r.Repaired > 0 {
		what += fmt.Sprintf(", %d repaired", r.Repaired)
	}
	a.printf("version %d of %s: %s; %s (%.2f s)\n", r.Version, r.Environment, what, countsText(r.Counts), float64(r.DurationMS)/1000)
	if r.Counts[state.StatusFailed]+r.Counts[state.StatusUnavailable] > 0 {
		a.say("`southbound deploy --retry-failed` tries again now; `southbound run` when it is due")
	}
	return nil
}

func whyStuck(p api.Progress) string {
	if p.Halted {
		return fmt.Sprintf("the environment is halted with %s to do; `southbound unhalt` goes on", plural(p.Scheduled, "resource"))
	}
	return fmt.Sprintf("%s to do, held by paused agents: %s; `southbound resume AGENT` goes on", plural(p.Scheduled, "resource"), strings.Join(p.Paused, ", "))
}

func countsText(counts map[state.Status]int) string {
	var parts []string
	for _, s := range api.Statuses() {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return "nothing there"
	}
	return strings.Join(parts, ", ")
}
