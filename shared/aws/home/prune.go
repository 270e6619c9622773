package home

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"southbound/shared/aws/provision"
	"southbound/shared/aws/queue"
	"southbound/shared/machine"
	"southbound/shared/resource"
)

// provisioner returns what makes and removes the queues of agents, as far as this process has the rights.
func (h *Home) provisioner() (*provision.Provisioner, error) {
	c := &h.Config
	return provision.New(provision.Config{SQS: h.SQS, Lambda: lambda.NewFromConfig(h.AWS), State: h.State, Clock: machine.Clock{}, Prefix: c.Prefix,
		Base: c.queueBase(), Function: c.Handler, DeadLetters: c.DeadLetters, Key: c.KMSKey, IdleAfter: c.IdleAfter,
		Reaches: func(transport string) bool { return !queue.ByRunner(resource.Agent{Transport: transport}) }})
}

// Prune returns the queues of agents that are not needed any more, and removes them when remove is set; see provision.Prune. What was removed before an
// error is returned with it.
func (h *Home) Prune(ctx context.Context, env string, remove bool) ([]provision.Queue, error) {
	p := h.Provisioner
	if p == nil {
		var err error
		if p, err = h.provisioner(); err != nil {
			return nil, err
		}
	}
	return p.Prune(ctx, env, remove)
}
