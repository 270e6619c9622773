package work

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"southbound/shared/api"
	"southbound/shared/cli/output"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/resource"
)

// interruptedText names the resources that ran when the program that ran them exited.
func interruptedText(ids []resource.ID) string {
	if len(ids) == 0 {
		return ""
	}
	return "; interrupted in the middle: " + output.FirstIDs(ids, maxUnfinished)
}

// MaxAgents is how many agents the status names.
const MaxAgents = 10

// Ill reports whether the environment has unhealthy resources.
func Ill(counts map[state.Status]int) bool {
	return slices.ContainsFunc(api.Unhealthy(), func(s state.Status) bool { return counts[s] > 0 })
}

// Wrong lists the unhealthy resources: first those that failed on their own, each with the
// resources that were skipped because of it.
func (rs *Results) Wrong(ctx context.Context, w io.Writer, limit int) error {
	health, err := rs.Home.Health(ctx, rs.Env)
	if err != nil {
		return err
	}
	out := &problemList{Console: rs.To(w), described: rs.Docs.Described}
	if rs.Unfold {
		out.single(health)
		return nil
	}
	for i, g := range health.Groups {
		if i == limit {
			out.Printf("… and more; see `southbound resources status=%s`\n", g.Status)
			break
		}
		out.group(g)
	}
	return nil
}

// problemList writes unhealthy resources and their problems.
type problemList struct {
	*output.Console
	described func(id string) diag.Pos // where a resource is written; nil: not known
}

// group writes the unhealthy resources with one reason.
func (p *problemList) group(g api.Group) {
	if g.Agent != "" && g.Status == state.StatusUnavailable {
		p.unreachable(g)
		return
	}
	p.Printf("%s  %s", p.Paint(g.Status, 0), g.ID)
	if g.Count > 1 {
		p.Printf(" and %d more for the same reason", g.Count-1)
	}
	p.Printf("\n")
	for _, l := range strings.Split(strings.TrimSpace(g.Reason), "\n") {
		p.Printf("    %s\n", l)
	}
	if p.described != nil {
		if at := p.described(string(g.ID)); at.Line > 0 {
			p.Printf("    written at %s\n", at)
		}
	}
	if g.Parameter != "" {
		p.Printf("    `southbound parameter set NAME VALUE` sets it\n")
	}
	if g.NextAt != nil {
		p.Printf("    tried again from %s on\n", g.NextAt.Format(time.RFC3339))
	}
	if g.NotDone > 0 {
		p.Printf("    because of it %d not done: %s\n", g.NotDone, output.MoreIDs(g.FirstNot, g.NotDone))
	}
}

// single writes each unhealthy resource.
func (p *problemList) single(health api.Health) {
	for i := range health.Single {
		x := &health.Single[i]
		p.group(api.Group{ID: x.ID, Status: x.Status, Reason: x.Reason, NextAt: x.NextAt, Count: 1,
			NotDone: len(x.Because), FirstNot: x.Because[:min(len(x.Because), maxUnfinished)]})
	}
	if n := inGroups(health.Groups); n > len(health.Single) {
		p.Printf("… and %d more; see `southbound resources`\n", n-len(health.Single))
	}
}

// unreachable writes one line about the resources that wait for an unreachable machine.
func (p *problemList) unreachable(g api.Group) {
	since := "is not reached and never was"
	if g.Since != nil {
		since = "is not reached since " + g.Since.Format(time.RFC3339)
	}
	reason := strings.Join(strings.Fields(g.Reason), " ")
	p.Printf("%s  %s %s; %s: %s (if the machine is gone, apply the documents without it, then "+
		"`southbound forget agent=%s`)\n", p.Paint(g.Status, 0), g.Agent, since,
		waitFor(g.Count+g.NotDone), reason, output.ShellWord(g.Agent))
	if g.NextAt != nil {
		p.Printf("    tried again from %s on\n", g.NextAt.Format(time.RFC3339))
	}
}

// waitFor returns the number of waiting resources as text.
func waitFor(n int) string {
	if n == 1 {
		return "1 resource waits"
	}
	return fmt.Sprintf("%d resources wait", n)
}

// inGroups counts the resources of groups.
func inGroups(groups []api.Group) int {
	n := 0
	for _, g := range groups {
		n += g.Count
	}
	return n
}
