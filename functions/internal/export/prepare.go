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

// After an export, some agents may have no queue or no enabled mapping. They are prepared after the
// lease of the plan has been released. A few are prepared before the response to the export. More
// are prepared in a separate invocation, so that the client does not wait while a thousand are
// made.

const (
	briefly = 5 * time.Second  // for which the response may wait
	spare   = 15 * time.Second // end of an invocation in which no agent is begun
)

// work is the payload with which the function invokes itself.
type work struct {
	Prepare []provision.Job `json:"prepare"`
}

// preparer prepares agents.
type preparer struct {
	*run.Function
	// more starts another invocation with work.
	more func(ctx context.Context, w work) error
}

// newPreparer returns a preparer that invokes this function.
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

// after prepares agents after an export, and passes on those that take longer.
func (p *preparer) after(ctx context.Context) {
	jobs := p.Home.Provisioner.Take()
	if len(jobs) > 0 {
		p.prepare(ctx, jobs, p.Home.Engine.Clock.Now().Add(briefly))
	}
}

// handed prepares agents that another invocation passed on.
func (p *preparer) handed(ctx context.Context, w work) {
	end, ok := ctx.Deadline()
	if !ok {
		end = p.Home.Engine.Clock.Now().Add(2 * spare)
	}
	p.prepare(ctx, w.Prepare, end.Add(-spare))
}

// prepare prepares agents until a time, and passes on the rest. If an agent fails or cannot be
// passed on, the sweep prepares it.
func (p *preparer) prepare(ctx context.Context, jobs []provision.Job, until time.Time) {
	began := p.Home.Engine.Clock.Now()
	left, err := p.Home.Prepare(ctx, jobs, until)
	p.Log.InfoContext(ctx, "prepared agents", "agents", len(jobs)-len(left), "left", len(left),
		"ms", p.Home.Engine.Clock.Now().Sub(began).Milliseconds())
	if err != nil {
		p.Log.WarnContext(ctx, "agents are left to the sweep", "error", err.Error())
	}
	if len(left) == 0 || len(left) == len(jobs) {
		// In the latter case no agent could be prepared; passing them on could loop forever.
		return
	}
	if err := p.more(ctx, work{left}); err != nil {
		p.Log.WarnContext(ctx, "agents are left to the sweep", "agents", len(left), "error",
			err.Error())
	}
}
