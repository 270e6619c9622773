package compile

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"southbound/shared/aws/emf"
	"southbound/shared/service/callback"
)

// callNotices are the messages of an environment which say that callbacks are to be told something.
type callNotices struct {
	messages []string // their ids
	late     int      // how often they were put off, at most
}

func (n *callNotices) add(message string, late int) {
	n.messages, n.late = append(n.messages, message), max(n.late, late)
}

// maxLate is how often calls are put off when orders come with them. Then they are made, so that
// they are made at all where orders always come.
const maxLate = 3

// calls has callbacks told what happened, and returns the messages that come again. Those that came
// with orders are put off: the messages of the orders would not be done with before the calls, and
// more orders of the environment would wait for them.
func (f *function) calls(
	ctx context.Context, byEnv map[string]*callNotices, orders bool, total time.Duration,
) []events.SQSBatchItemFailure {
	var out []events.SQSBatchItemFailure
	for _, env := range slices.Sorted(maps.Keys(byEnv)) {
		n := byEnv[env]
		var err error
		// The new notice is sent before this one is deleted, which Lambda does after the answer: a
		// crash in between leaves both, and the second finds nothing to tell.
		if orders && n.late < maxLate {
			err = f.Home.Compiles.NotifyCalls(context.WithoutCancel(ctx), env, n.late+1)
		} else {
			err = f.deliver(ctx, env, total)
		}
		if err == nil {
			continue
		}
		f.Log.ErrorContext(ctx, "calls come again", "environment", env, "error", err.Error())
		f.Metrics.Add("CompileFaults", emf.Count, 1)
		for _, id := range n.messages {
			out = append(out, events.SQSBatchItemFailure{ItemIdentifier: id})
		}
	}
	return out
}

// deliver has the callbacks of an environment told what happened. What there is no time for is left
// to another invocation; callbacks that fail are called again when the sweep finds that it is time.
func (f *function) deliver(ctx context.Context, env string, total time.Duration) error {
	h := f.Home
	deadline, _ := ctx.Deadline()
	// Clocks of machines do not matter here: what is left of the time is counted from now.
	left := max(time.Until(deadline)-total/2, 0)
	t := callback.New(callback.Config{
		Env: env, Store: h.Callbacks, Instances: h.Instances, Clock: h.Engine.Clock,
		Caller: f.caller, Secrets: h.Engine.Secrets,
		Failed: func(err error) {
			f.Log.WarnContext(ctx, "a callback fails", "environment", env, "error", err.Error())
		},
	})
	more, err := t.Visit(ctx, h.Engine.Clock.Now().Add(left))
	if err == nil && more {
		return h.Compiles.NotifyCalls(context.WithoutCancel(ctx), env, 0)
	}
	return err
}
