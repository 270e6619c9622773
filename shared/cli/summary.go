package cli

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"southbound/shared/deploy"
	"southbound/shared/local"
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
	stop := context.AfterFunc(ctx, pr.stopping)
	out, err := a.runner().Drain(ctx, a.env, pr.report)
	stop()
	pr.end()
	return out, err
}

// progress shows how far work is: a line that is written over on a terminal, a line now and then elsewhere.
type progress struct {
	a     *app
	mu    sync.Mutex
	over  bool
	live  bool
	began time.Time
	last  time.Time
	total int
	wrote bool
}

func (a *app) progress() *progress {
	_, live := terminal(a.err)
	return &progress{a: a, live: live && os.Getenv("TERM") != "dumb", began: time.Now(), last: time.Now()}
}

func (p *progress) report(now deploy.Progress) {
	every := 5 * time.Second
	if p.live {
		every = 150 * time.Millisecond
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total = max(p.total, now.Scheduled)
	if p.over || p.a.quiet || time.Since(p.last) < every || now.Scheduled == 0 {
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
		width := textWidth
		if fd, is := terminal(p.a.err); is {
			if w, _, err := term.GetSize(fd); err == nil && w > 0 {
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
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.over = true
}

// clear removes the line that is written over.
func (p *progress) clear() {
	if p.wrote {
		fmt.Fprint(p.a.err, "\r\x1b[K")
		p.wrote = false
	}
}

// stopping says that the program waits for what runs, when it has been asked to stop.
func (p *progress) stopping() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.clear()
	p.over = true
	p.a.say("stopping when what runs has finished; Ctrl-C again stops at once")
}

// summary answers a command that waited: root causes of failures first, then what was skipped because of them. exported says
// that the command was about an export, which has changes to count.
func (a *app) summary(ctx context.Context, r report, d local.Drained, exported bool) error {
	if ill(r.Counts) || d.Stuck {
		a.code = exitUnhealthy
	}
	if ill(r.Counts) && (!a.json || !a.quiet) {
		w := a.out
		if a.json {
			w = a.err
		}
		if err := a.wrong(ctx, w, 20); err != nil {
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
	if r.Counts[deploy.StatusFailed]+r.Counts[deploy.StatusUnavailable] > 0 {
		a.say("`southbound deploy --retry-failed` tries again now; `southbound run` when it is due")
	}
	return nil
}

func whyStuck(p deploy.Progress) string {
	if p.Env.Halted {
		return fmt.Sprintf("the environment is halted with %s to do; `southbound unhalt` goes on", plural(p.Scheduled, "resource"))
	}
	names := make([]string, 0, len(p.Paused))
	for n := range p.Paused {
		names = append(names, n)
	}
	sort.Strings(names)
	return fmt.Sprintf("%s to do, held by paused agents: %s; `southbound resume AGENT` goes on", plural(p.Scheduled, "resource"), strings.Join(names, ", "))
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
