package export

import (
	"context"
	"encoding/json"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"southbound/functions/internal/run"
	"southbound/shared/aws/awserr"
	"southbound/shared/aws/provision"
)

// After an export there may be agents that nobody listens to yet: their queues and mappings are
// made when the lease of the plan was given back. A few are prepared before the export is answered;
// more in an invocation of their own, so that nobody waits for an answer while a thousand are made.

const (
	briefly = 5 * time.Second  // that an answer waits
	spare   = 15 * time.Second // of an invocation, in which no agent is begun
)

// work is what the function tells itself.
type work struct {
	Prepare []provision.Job `json:"prepare"`
}

// preparer prepares agents.
type preparer struct {
	*run.Function
	// more begins another invocation with work.
	more func(ctx context.Context, w work) error
}

// newPreparer returns one for this function.
func newPreparer(f *run.Function) *preparer {
	calls := lambda.NewFromConfig(f.Home.AWS)
	return &preparer{f, func(ctx context.Context, w work) error {
		payload, err := json.Marshal(w)
		if err != nil {
			return err
		}
		_, err = calls.Invoke(ctx,
			&lambda.InvokeInput{FunctionName: aws.String(lambdacontext.FunctionName),
				InvocationType: types.InvocationTypeEvent, Payload: payload})
		return awserr.Fault("prepare agents", err)
	}}
}

// after prepares what an export has left, and hands on what takes longer.
func (p *preparer) after(ctx context.Context) {
	jobs := p.Home.Provisioner.Take()
	if len(jobs) > 0 {
		p.prepare(ctx, jobs, p.Home.Engine.Clock.Now().Add(briefly))
	}
}

// handed prepares what another invocation has handed on.
func (p *preparer) handed(ctx context.Context, w work) {
	end, ok := ctx.Deadline()
	if !ok {
		end = p.Home.Engine.Clock.Now().Add(2 * spare)
	}
	p.prepare(ctx, w.Prepare, end.Add(-spare))
}

// prepare prepares agents until a time, and hands on the rest. What fails, or cannot be handed on,
// is done by the sweep.
func (p *preparer) prepare(ctx context.Context, jobs []provision.Job, until time.Time) {
	began := p.Home.Engine.Clock.Now()
	left, err := p.Home.Prepare(ctx, jobs, until)
	p.Log.InfoContext(ctx, "prepared agents", "agents", len(jobs)-len(left), "left", len(left),
		"ms", p.Home.Engine.Clock.Now().Sub(began).Milliseconds())
	if err != nil {
		p.Log.WarnContext(ctx, "agents are left to the sweep", "error", err.Error())
	}
	if len(left) == 0 || len(left) == len(jobs) {
		// the latter: nothing could be done, and this must not go in a circle
		return
	}
	if err := p.more(ctx, work{left}); err != nil {
		p.Log.WarnContext(ctx, "agents are left to the sweep", "agents", len(left), "error",
			err.Error())
	}
}
