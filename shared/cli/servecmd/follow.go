package servecmd

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"southbound/shared/api"
	"southbound/shared/cli/output"
	"southbound/shared/cli/work"
	"southbound/shared/diff"
	"southbound/shared/local"
	"southbound/shared/patience"
)

// reportEvery is how often `southbound run` reports new actions.
const reportEvery = 300 * time.Millisecond

// overlap is how far back a follower looks for unseen actions: actions may be recorded in another
// order than they finished.
const overlap = 2 * time.Second

// lastPollTimeout limits the last poll of a follower.
const lastPollTimeout = 5 * time.Second

// maxServed is how many agents are named when an environment is served.
const maxServed = 10

// serve deploys the scheduled resources of an environment until ctx ends, and reports its actions.
// label, which may be empty, precedes every line.
func (s *HomeServer) serve(ctx context.Context, env, label string) {
	s.serving(ctx, env, label)
	f := &follower{server: s, env: env, label: label, from: time.Now(),
		seen: map[string]time.Time{}}
	until, end := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.follow(until)
	}()
	orders, callbacks := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(orders)
		s.Orders.ServeOrders(ctx, env, label)
	}()
	go func() {
		defer close(callbacks)
		s.Orders.CallCallbacks(ctx, env, label)
	}()
	s.Runner().Serve(ctx, env, func(err error) { s.Say("southbound: %s%v", label, err) })
	<-orders
	<-callbacks
	end()
	<-ended
	last, cancel := patience.WithTimeout(context.WithoutCancel(ctx), lastPollTimeout)
	defer cancel()
	f.poll(last)
}

// serving reports the state of an environment before it is served.
func (s *HomeServer) serving(ctx context.Context, env, label string) {
	p, err := s.Home.Progress(ctx, env)
	if err != nil {
		return // Serve reports the error
	}
	if p.Last == 0 {
		s.Say("  %snothing was exported yet; `southbound apply PATH` starts", label)
		return
	}
	s.Say("  %sversion %d: %s", label, p.Released, output.CountsText(p.ByStatus()))
	if agents, err := s.Home.Agents(ctx, env); err == nil && len(agents) > 0 {
		var names []string
		for _, g := range agents[:min(len(agents), maxServed)] {
			names = append(names, output.OneLine(g.Name)+" ("+output.AgentText(g)+")")
		}
		text := strings.Join(names, ", ")
		if more := len(agents) - len(names); more > 0 {
			text += " and " + output.Plural(more, "more agent")
		}
		s.Say("  %sagents: %s", label, text)
	}
	for _, l := range work.UnfinishedText(p, false) {
		s.Say("  %s%s", label, l)
	}
}

// follower reports changes and failures of an environment as they occur.
type follower struct {
	server     *HomeServer
	env, label string
	ran        int64     // resources that this process had run at the last poll
	again      bool      // resources ran shortly before, and their actions may be recorded since
	from       time.Time // actions that finished earlier are not shown
	seen       map[string]time.Time
}

// follow polls whenever a resource ran, until ctx ends.
func (f *follower) follow(ctx context.Context) {
	for (local.Clock{}).Sleep(ctx, reportEvery) == nil {
		ran := f.server.Ran.Load()
		if ran == f.ran && !f.again {
			continue
		}
		f.again = ran != f.ran
		f.ran = ran
		f.poll(ctx)
	}
}

// poll reports new actions.
func (f *follower) poll(ctx context.Context) {
	actions, err := f.server.Home.Actions(ctx, f.env, api.ActionQuery{Since: f.from, Notable: true})
	if err != nil {
		return // the next poll tries again
	}
	newest := f.from
	for i := len(actions) - 1; i >= 0; i-- { // oldest first
		x := &actions[i]
		if _, shown := f.seen[x.ID]; shown {
			continue
		}
		f.seen[x.ID] = x.Finished
		if x.Finished.Add(-overlap).After(newest) {
			newest = x.Finished.Add(-overlap)
		}
		f.show(x)
	}
	f.from = newest
	maps.DeleteFunc(f.seen, func(_ string, at time.Time) bool { return at.Before(newest) })
}

// ranLine is an action in the output of run.
type ranLine struct {
	Environment string `json:"environment"`
	api.Action
}

// show writes a line about an action: its changes, or the reason for its failure.
func (f *follower) show(x *api.Action) {
	a := f.server
	a.Writing.Lock() // several environments may be followed
	defer a.Writing.Unlock()
	switch at := x.Finished.UTC().Format(time.RFC3339); {
	case a.JSON:
		a.Line(ranLine{f.env, *x})
	case a.Quiet:
	case slices.Contains(api.Unhealthy(), x.Outcome):
		a.Printf("%s  %s%-8s %s%s\n", at, f.label, x.Outcome, x.Resource,
			output.Because(output.OneLine(x.Reason)))
	default:
		text := ""
		if names := slices.Sorted(maps.Keys(x.Changes)); len(names) > 0 &&
			x.Change == diff.Updated {
			text = "  " + output.OneLine(strings.Join(names, ", "))
		}
		word := output.ChangeWord(x.Change, x.Replaced)
		if x.Change == diff.NoChange {
			word = string(x.Outcome)
		}
		a.Printf("%s  %s%-8s %s%s\n", at, f.label, word, x.Resource, text)
	}
}
