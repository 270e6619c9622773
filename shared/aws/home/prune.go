package home

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"southbound/shared/aws/logs"
	"southbound/shared/aws/provision"
	"southbound/shared/aws/queue"
	"southbound/shared/deploy/state"
	"southbound/shared/platform"
	"southbound/shared/resource"
)

// provisioner returns a provisioner of the queues of agents. Its methods work as far as this
// process has the permissions.
func (h *Home) provisioner() (*provision.Provisioner, error) {
	c := &h.Config
	return provision.New(provision.Config{SQS: h.SQS, Lambda: lambda.NewFromConfig(h.AWS),
		State: h.State, Clock: platform.Clock{}, Prefix: c.Prefix,
		Base: c.queueBase(), Function: c.Handler, DeadLetters: c.DeadLetters, Key: c.KMSKey,
		IdleAfter: c.IdleAfter, Python: c.Python.Function, Hidden: c.Python.hidden(),
		InPython: queue.InFunction,
		Reaches: func(a resource.Agent) bool {
			return !c.Packs.ByRunner(a) && (c.Python.Function != "" || !queue.InFunction(a))
		}})
}

// ParameterHistory returns the changes of a parameter, the newest first. It includes changes that
// are on their way to the log.
func (h *Home) ParameterHistory(
	ctx context.Context, env, name string,
) ([]state.ParameterChange, error) {
	l := &logs.Log{State: h.State, Store: h.LogStore}
	all, err := l.Parameters(ctx, env, name)
	return slices.DeleteFunc(all, func(c state.ParameterChange) bool { return c.Of != "" }), err
}

// Prune returns the queues of agents that are no longer needed, and removes them if remove is set;
// see provision.Prune. If it fails, it also returns the queues that it removed before the error.
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
