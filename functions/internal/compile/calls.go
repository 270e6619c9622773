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

// callNotices holds the messages of an environment that announce pending events for callbacks.
type callNotices struct {
	messages []string // their ids
	late     int      // the largest number of postponements of a message
}

func (n *callNotices) add(message string, late int) {
	n.messages, n.late = append(n.messages, message), max(n.late, late)
}

// maxLate is how often calls are postponed when orders come with them. After that they are made, so
// that callbacks are called even if orders always come.
const maxLate = 3

// calls calls the callbacks with pending events, and returns the messages that have to be delivered
// again. Calls that came with orders are postponed. Otherwise the messages of the orders would stay
// in progress until the calls were done, and more orders of the environment would wait.
func (f *function) calls(
	ctx context.Context, byEnv map[string]*callNotices, orders bool, total time.Duration,
) []events.SQSBatchItemFailure {
	var out []events.SQSBatchItemFailure
	for _, env := range slices.Sorted(maps.Keys(byEnv)) {
		n := byEnv[env]
		var err error
		// The new notice is sent before this message is deleted, which Lambda does after the
		// response. A crash in between leaves both, and the second finds no pending events.
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

// deliver calls the callbacks of an environment. If time runs out, it notifies another invocation
// of the remaining events. A callback that fails is called again when the sweep finds that it is
// due.
func (f *function) deliver(ctx context.Context, env string, total time.Duration) error {
	h := f.Home
	deadline, _ := ctx.Deadline()
	// The remaining time is counted from now, so the machine's clock need not be right.
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
