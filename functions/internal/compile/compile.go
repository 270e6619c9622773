// Package compile is the function that processes orders of services. It works on one environment at
// a time for each message group of its queue. See docs/design/functions.md.
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

// Main starts the function with handlers and serves events.
func Main(definitions []provider.Definition) {
	run.Main(func(ctx context.Context) (any, error) {
		// The function makes queues, as exports do, because its export may be the first work of an
		// agent.
		f, err := run.Begin(ctx, definitions, func(c *home.Config) { c.Makes = true })
		if err != nil {
			return nil, err
		}
		c := &function{
			Function: f, dir: filepath.Join(os.TempDir(), "southbound-models"),
			limits:  limits(os.Getenv),
			workers: map[string]*fulfil.Worker{},
			// Callbacks may not address the machine itself, where Lambda's runtime listens.
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
	workers map[string]*fulfil.Worker // by environment: a worker caches its unpacked models
	caller  *callback.Caller
}

// limits returns the limits of a model, given the memory of the function. A model that exceeds them
// is a problem of its order. Without limits Lambda would kill the function, and no error would
// explain why.
func limits(get func(name string) string) eval.Limits {
	const own = 96 << 20 // memory that the function needs besides models
	megabytes, err := strconv.ParseInt(get(memory.Env), 10, 64)
	if err != nil || megabytes <= 0 {
		return eval.DefaultLimits()
	}
	return eval.LimitsWithin(megabytes<<20 - own)
}

const (
	// hideFor is how long messages are hidden from other receivers. The function extends it while
	// it works. If the function dies, its messages are delivered again after at most that time.
	hideFor  = 60 * time.Second
	beatEach = 20 * time.Second
	// spare is the end of an invocation that is reserved for the response.
	spare = 5 * time.Second
	// full is the maximum number of messages in a batch. If a batch is full, there may be more
	// messages, so all due work is done together.
	full = 10
	// limitPart is the divisor of an invocation's time that gives the limit of one compile. A
	// compile that begins in the middle of the invocation may exceed the limit for several orders
	// together, and again for the first order alone.
	limitPart = 5
	// checkEarly is how much earlier than the sweep's interval a check of all instances is allowed.
	checkEarly = time.Minute
	// modelRoom is the part of the function's disk of 512 MB that unpacked models may use.
	modelRoom = 384 << 20
)

// serve processes the work that messages name. Messages of environments in which a fault occurred
// are returned as failures, and are delivered again.
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
		// Work that begins in the first half of the invocation has the second half to finish in.
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

// notices holds the contents of an environment's messages.
type notices struct {
	messages  []string // their ids
	instances []string
	all       bool
}

// ids returns the named instances, sorted and without duplicates.
func (r *notices) ids() []string {
	slices.Sort(r.instances)
	return slices.Compact(r.instances)
}

// byEnv decodes messages, and groups those of orders and those of calls by environment.
func (f *function) byEnv(
	ctx context.Context, records []events.SQSMessage,
) (out map[string]*notices, calls map[string]*callNotices) {
	out, calls = map[string]*notices{}, map[string]*callNotices{}
	for i := range records {
		m, err := compiles.Decode(records[i].Body)
		if err != nil {
			f.Log.ErrorContext(ctx, "a message was passed over",
				"message", records[i].MessageId, "error", err.Error())
			f.Metrics.Add("MessagesRefused", emf.Count, 1)
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

// work processes the orders of an environment. It notifies the function again of orders for which
// there is no time.
//
// All effects of a visit follow its writes, and Lambda deletes the messages last, after the
// function has responded. After a crash in between, the messages are delivered again, and the next
// invocation continues with the remaining tasks. It lacks the facts that only this process had
// recorded. The sweep derives these from the stored state. It finds pending calls by pending
// events, agents without a queue by their work, and instances with work by their tasks.
func (f *function) work(ctx context.Context, env string, n *notices, total time.Duration) error {
	began := f.Home.Engine.Clock.Now()
	deadline, _ := ctx.Deadline()
	w := f.worker(env)
	// The remaining time is counted from now, so the machine's clock need not be right.
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

// python returns the problem of a model with Python code, which this function cannot compile.
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

// hide hides messages from other receivers while the function works on them. If extending that time
// fails, another receiver may get the messages, so hide calls lost, which cancels the work. A
// failure of the first call is harmless, because the queue itself hides the messages at first.
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
		for _, failed := range out.Failed { // another receiver may have it
			return fault.New(fault.Unavailable, "keep messages", "%s: %s",
				aws.ToString(failed.Code), aws.ToString(failed.Message))
		}
	}
	return nil
}
