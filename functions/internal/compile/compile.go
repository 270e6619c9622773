// Package compile is the function that works on orders of services, one environment at a time for
// each message group of its queue. See docs/design/functions.md.
package compile

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"southbound/functions/internal/memory"
	"southbound/functions/internal/run"
	"southbound/shared/aws/awserr"
	"southbound/shared/aws/compiles"
	"southbound/shared/aws/emf"
	"southbound/shared/aws/home"
	"southbound/shared/diag"
	"southbound/shared/entity"
	"southbound/shared/fault"
	"southbound/shared/lang/eval"
	"southbound/shared/provider"
	"southbound/shared/service/bundle"
	"southbound/shared/service/callback"
	"southbound/shared/service/fulfil"
)

// Main begins the function with handlers and serves events.
func Main(definitions []provider.Definition) {
	run.Main(func(ctx context.Context) (any, error) {
		// It makes queues, as exports do: what it exports may be the first work of an agent.
		f, err := run.Begin(ctx, definitions, func(c *home.Config) { c.Makes = true })
		if err != nil {
			return nil, err
		}
		c := &function{
			Function: f, dir: filepath.Join(os.TempDir(), "southbound-models"),
			limits:  limits(os.Getenv),
			workers: map[string]*fulfil.Worker{},
			// Nothing of the machine itself is called: there Lambda's runtime listens.
			caller: callback.NewCaller(false, 0),
		}
		c.mapper, err = provider.Mapper(f.Home.Types, definitions)
		return c.serve, err
	})
}

// function is the compile function.
type function struct {
	*run.Function
	dir     string
	limits  eval.Limits
	mapper  *entity.Mapper
	workers map[string]*fulfil.Worker // by environment: they know which models are unpacked
	caller  *callback.Caller
}

// limits returns what a model may take of the memory that the function has: one that would take
// more is a problem of its order. Without them the function would be ended, and nobody would know
// why.
func limits(get func(name string) string) eval.Limits {
	const own = 96 << 20 // what the function needs beside models
	megabytes, err := strconv.ParseInt(get(memory.Env), 10, 64)
	if err != nil || megabytes <= 0 {
		return eval.DefaultLimits()
	}
	return eval.LimitsWithin(megabytes<<20 - own)
}

const (
	// hideFor is how long messages are hidden from others; it is prolonged while the work goes on.
	// Whoever has died is followed that much later.
	hideFor  = 60 * time.Second
	beatEach = 20 * time.Second
	// spare is what is left of an invocation to answer.
	spare = 5 * time.Second
	// full is how many messages a batch has at most: if it has as many, there may be more, and all
	// that is due is worked on together.
	full = 10
	// limitPart is which part of an invocation a compile has: what is begun in the middle can take
	// too long for several orders, and once more for the first of them alone.
	limitPart = 5
	// checkEarly is how much sooner than the sweep asks for it all instances may be looked at.
	checkEarly = time.Minute
	// modelRoom is what unpacked models may take of the 512 MB that the function has on its disk.
	modelRoom = 384 << 20
)

// serve works on what messages name. Those of environments in which a fault was in the way come
// again.
func (f *function) serve(
	ctx context.Context, e events.SQSEvent,
) (events.SQSEventResponse, error) {
	defer f.Flush(ctx)
	out := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	deadline, ok := ctx.Deadline()
	if !ok {
		return out, run.ErrNoDeadline
	}
	total := time.Until(deadline) - spare
	ctx, cancel := context.WithDeadline(ctx, deadline.Add(-spare))
	defer cancel()
	defer f.hide(ctx, cancel, e.Records)()
	byEnv, calls := f.byEnv(ctx, e.Records)
	for _, env := range slices.Sorted(maps.Keys(byEnv)) {
		// What is begun in the first half has the other one to end in.
		n := byEnv[env]
		n.all = n.all || len(e.Records) >= full
		err := f.work(ctx, env, n, total)
		if err == nil {
			continue
		}
		f.Log.ErrorContext(ctx, "orders come again", "environment", env, "error", err.Error())
		f.Metrics.Add("CompileFaults", emf.Count, 1)
		for _, id := range byEnv[env].messages {
			out.BatchItemFailures = append(out.BatchItemFailures,
				events.SQSBatchItemFailure{ItemIdentifier: id})
		}
	}
	out.BatchItemFailures = append(out.BatchItemFailures,
		f.calls(ctx, calls, len(byEnv) > 0, total)...)
	return out, nil
}

// notices are those of the messages of an environment.
type notices struct {
	messages  []string // their ids
	instances []string
	all       bool
}

// ids returns the instances that are named.
func (r *notices) ids() []string {
	slices.Sort(r.instances)
	return slices.Compact(r.instances)
}

// byEnv reads messages: those of orders, and those of calls.
func (f *function) byEnv(
	ctx context.Context, records []events.SQSMessage,
) (out map[string]*notices, calls map[string]*callNotices) {
	out, calls = map[string]*notices{}, map[string]*callNotices{}
	for i := range records {
		m, err := compiles.Decode(records[i].Body)
		if err != nil {
			f.Log.ErrorContext(ctx, "a message was passed over",
				"message", records[i].MessageId, "error", err.Error())
			continue
		}
		if m.Calls {
			if calls[m.Env] == nil {
				calls[m.Env] = &callNotices{}
			}
			calls[m.Env].add(records[i].MessageId, m.Late)
			continue
		}
		r := out[m.Env]
		if r == nil {
			r = &notices{}
			out[m.Env] = r
		}
		r.messages = append(r.messages, records[i].MessageId)
		r.instances = append(r.instances, m.Instances...)
		r.all = r.all || len(m.Instances) == 0
	}
	return out, calls
}

// work works on the orders of an environment. Of what there is no time for, the function is
// notified anew.
//
// All that follows a visit comes after its writes, and its messages are deleted last, when the
// function has answered. A crash in between brings the messages back, and whoever gets them goes on
// with the tasks that are left. What such a one does not know, since this process alone had noted
// it, is found by the sweep in what is stored: calls by what is pending, agents without a queue by
// their work, and instances with tasks by these.
func (f *function) work(ctx context.Context, env string, n *notices, total time.Duration) error {
	began := f.Home.Engine.Clock.Now()
	deadline, _ := ctx.Deadline()
	w := f.worker(env)
	// Clocks of machines do not matter here: what is left of the time is counted from now.
	until := began.Add(max(time.Until(deadline)-total/2, 0))
	w.Limit = total / limitPart
	ids := n.ids()
	left, err := w.Visit(ctx, ids, n.all, until)
	took := f.Home.Engine.Clock.Now().Sub(began)
	f.Metrics.Sample("CompileTime", emf.Milliseconds, float64(took.Milliseconds()))
	f.Log.InfoContext(ctx, "worked on orders", "environment", env, "named", len(ids),
		"left", len(left), "ms", took.Milliseconds())
	if f.Home.Callbacks.Noted(env) {
		if err := f.Home.Compiles.NotifyCalls(context.WithoutCancel(ctx), env, 0); err != nil {
			f.Log.WarnContext(ctx, "calls are left to the sweep", "error", err.Error())
		}
	}
	if p := f.Home.Provisioner; p != nil {
		if jobs := p.Take(); len(jobs) > 0 {
			if _, err := f.Home.Prepare(ctx, jobs,
				f.Home.Engine.Clock.Now().Add(spare)); err != nil {
				f.Log.WarnContext(ctx, "agents are left to the sweep", "error", err.Error())
			}
		}
	}
	if err == nil && len(left) > 0 {
		return f.Home.Compiles.Notify(context.WithoutCancel(ctx), env, left...)
	}
	return err
}

// worker returns the worker of an environment.
func (f *function) worker(env string) *fulfil.Worker {
	if w := f.workers[env]; w != nil {
		return w
	}
	h := f.Home
	w := fulfil.New(fulfil.Config{
		Env: env, Instances: h.Instances, Definitions: h.Definitions, Engine: h.Engine,
		Types: h.Types, Mapper: f.mapper, Agent: h.Config.Packs.Check, Dir: f.dir,
		Elsewhere: python, Notified: true, Followers: h.Instances,
		Again: compiles.CheckInterval - checkEarly, Limits: f.limits, Room: modelRoom,
		Passwords: h.Instances.Passwords(env),
		Print: func(text string) {
			f.Log.Debug("a model prints", "environment", env, "text", strings.TrimSpace(text))
		},
	})
	f.workers[env] = w
	return w
}

// python says why a model with code in Python is not compiled here.
func python(m bundle.Opened) []diag.Problem {
	if m.Env == "" {
		return nil
	}
	return []diag.Problem{{
		Message: "the model has modules with Python code or of a package index, and the compile " +
			"function has no Python: the order waits",
		Hint: "export the services from a model without such modules, or export them to a home that " +
			"`southbound run` serves on a machine with Python and order there",
	}}
}

// hide hides messages from others while they are worked on. When that fails, somebody else may get
// them, and the work ends; but not at the first time, when the queue itself hides them.
func (f *function) hide(
	ctx context.Context, lost context.CancelFunc, records []events.SQSMessage,
) (end func()) {
	beat, stop := context.WithCancel(ctx)
	if err := f.prolong(ctx, records); err != nil {
		f.Log.WarnContext(ctx, "messages are hidden as long as the queue does", "error",
			err.Error())
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for f.Home.Engine.Clock.Sleep(beat, beatEach) == nil {
			err := f.prolong(context.WithoutCancel(ctx), records)
			if err != nil && beat.Err() == nil {
				f.Log.WarnContext(ctx, "messages could not be kept", "error", err.Error())
				lost()
				return
			}
		}
	})
	return func() {
		stop()
		wg.Wait()
	}
}

func (f *function) prolong(ctx context.Context, records []events.SQSMessage) error {
	ctx, cancel := context.WithTimeout(ctx, beatEach)
	defer cancel()
	for part := range slices.Chunk(records, full) {
		in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &f.Home.Config.CompileQueue}
		for i := range part {
			in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{
				Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &part[i].ReceiptHandle,
				VisibilityTimeout: int32(hideFor / time.Second),
			})
		}
		out, err := f.Home.SQS.ChangeMessageVisibilityBatch(ctx, in)
		if err != nil {
			return awserr.Fault("keep messages", err)
		}
		for _, failed := range out.Failed { // somebody else may have it by now
			return fault.New(fault.Unavailable, "keep messages", "%s: %s",
				aws.ToString(failed.Code), aws.ToString(failed.Message))
		}
	}
	return nil
}
