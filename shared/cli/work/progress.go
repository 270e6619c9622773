package work

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"southbound/shared/api"
	"southbound/shared/cli/output"
)

const (
	// countEvery is how often the remaining resources are counted by agent, if progress does not
	// report them.
	countEvery = 5 * time.Second
	// maxSlow is how many agents a line of progress names.
	maxSlow = 3
)

// count counts the remaining resources of each agent. The caller holds the lock.
func (p *progress) count(now api.Progress) {
	if now.Left == nil && p.w.Home != nil && time.Since(p.counted) >= countEvery {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		p.counted = time.Now()
		if whole, err := p.w.Home.Progress(ctx, p.w.Env); err == nil {
			now.Left = whole.Left
		}
	}
	if now.Left == nil {
		return
	}
	if p.totals == nil {
		p.totals = map[string]int{}
	}
	p.remaining = now.Left
	for name, n := range now.Left {
		p.totals[name] = max(p.totals[name], n)
	}
}

// slowest names the agents with the most remaining work, if there are several.
func (p *progress) slowest() string {
	if len(p.totals) < 2 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(p.remaining), func(a, b string) int {
		return cmp.Or(cmp.Compare(p.remaining[b], p.remaining[a]), strings.Compare(a, b))
	})
	names = slices.DeleteFunc(names, func(name string) bool { return p.remaining[name] == 0 })
	if len(names) == 0 {
		return ""
	}
	var parts []string
	for _, name := range names[:min(len(names), maxSlow)] {
		parts = append(parts, fmt.Sprintf("%s %d of %d", output.OneLine(name),
			p.totals[name]-p.remaining[name], p.totals[name]))
	}
	text := fmt.Sprintf(", %d of %d agents done, slowest: %s", len(p.totals)-len(names),
		len(p.totals), strings.Join(parts, ", "))
	if more := len(names) - maxSlow; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// TriedAgain returns the reason for waiting of one agent, and the number of other waiting agents.
func TriedAgain(why map[string]string) string {
	if len(why) == 0 {
		return ""
	}
	name := slices.Min(slices.Collect(maps.Keys(why)))
	text := fmt.Sprintf("%s is tried again: %s", output.OneLine(name), output.OneLine(why[name]))
	if more := len(why) - 1; more > 0 {
		text += fmt.Sprintf(" (and %s)", output.Plural(more, "more agent"))
	}
	return text
}
