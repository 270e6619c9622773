package run

import (
	"context"
	"time"

	"southbound/shared/diff"
	"southbound/shared/internal/parallel"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// read observes the thing of each run, in one call if the handler supports that.
func (x reader) read(ctx context.Context, runs []*Run) {
	batch, ok := provider.As[provider.BatchReader](handlerOf(runs))
	if !ok && len(runs) > 0 && x.Scheduled != nil && x.readList(ctx, runs) {
		return
	}
	if !ok || len(runs) < 2 {
		for _, r := range runs {
			x.readOne(ctx, r)
		}
		return
	}
	items := make([]provider.BatchRead, len(runs))
	for i, r := range runs {
		items[i] = provider.BatchRead{
			Context:     r.ctx,
			ReadRequest: provider.ReadRequest{Resource: r.want},
		}
	}
	var readings []provider.Reading
	err := x.within(
		ctx,
		x.batchLimit(runs),
		func(ctx context.Context) { readings = batch.ReadBatch(ctx, items) },
	)
	if err != nil || len(readings) != len(runs) {
		x.apart(ctx, runs, x.readOne) // one of them may hang or panic: separate calls find it
		return
	}
	parallel.For(len(runs), func(i int) { runs[i].seen = seen(readings[i].Observation) })
	for i, r := range runs {
		if readings[i].Err != nil {
			x.fail(r, readings[i].Err)
		}
	}
}

// readOne observes a thing, unless Late reports that the time to read is over.
func (x reader) readOne(ctx context.Context, r *Run) {
	if x.Late != nil && x.Late() {
		x.Runs = drop(x.Runs, r)
		return
	}
	handler, req := r.handler, provider.ReadRequest{Resource: r.want}
	reading, ok := call(ctx, x.Executor, r, func(c *provider.Context) (out provider.Reading) {
		out.Observation, out.Err = handler.Read(c, req)
		return out
	})
	if ok {
		x.observe(r, reading)
	}
}

// apart repeats a failed batch one run at a time. Each run gets a new host first, since the batch
// may still be running with the old hosts.
func (x *Executor) apart(ctx context.Context, runs []*Run, f func(context.Context, *Run)) {
	for _, r := range runs {
		r.host = r.host.detach()
		r.Bind(ctx)
		f(ctx, r)
	}
}

// batchLimit returns how long a batch may take: the limit of its slowest call, and BatchItem more
// for each item.
func (x *Executor) batchLimit(runs []*Run) time.Duration {
	longest := time.Duration(0)
	for _, r := range runs {
		longest = max(longest, x.limit(r))
	}
	return longest + time.Duration(len(runs))*BatchItem
}

// BatchItem is what each item adds to the time that a batch may take.
const BatchItem = 100 * time.Millisecond

func handlerOf(runs []*Run) provider.Handler {
	if len(runs) == 0 {
		return nil
	}
	return runs[0].handler
}

// shows reports whether a list shows all wanted attributes of a thing with their wanted values.
func shows(typ *schema.Compiled, listed, wanted map[string]any) bool {
	for i := range typ.Attributes {
		a := &typ.Attributes[i]
		if want := wanted[a.Name]; diff.Compared(a) && want != nil &&
			!resource.Equal(want, listed[a.Name]) {
			return false
		}
	}
	return true
}

// observable returns the attributes that Read would report as well.
func observable(typ *schema.Compiled, attributes map[string]any) map[string]any {
	out := make(map[string]any, len(attributes))
	for name, v := range attributes {
		if a, ok := typ.Attribute(name); ok && a.Behaviour != schema.Parameter {
			out[name] = v
		}
	}
	return out
}
