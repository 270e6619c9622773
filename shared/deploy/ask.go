package deploy

import (
	"context"
	"time"

	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/worker"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Export validates, stores and releases a model. Repeating an export, also after a crash, yields
// the same version. Export rejects a model with problems and stores nothing. The error is then
// diag.Problems with all of the problems.
func (e *Engine) Export(
	ctx context.Context,
	env string,
	x planner.Export,
) (planner.Exported, error) {
	return e.planner().Export(ctx, env, x)
}

// Release puts a stored version in force again, an earlier or a later one, and schedules the
// resources that this changes. No new version is stored. Until the next export, partial exports are
// merged into the released version. Release returns NotFound if the version is not stored or has
// been removed. It returns Invalid if the version would change resource sets of other owners, or
// bring back sets whose owner is gone.
func (e *Engine) Release(
	ctx context.Context, env string, number int, by state.Origin,
) (planner.Exported, error) {
	return e.planner().Release(ctx, env, number, by)
}

// MayRelease returns the error with which Release would refuse a version. It changes nothing.
func (e *Engine) MayRelease(ctx context.Context, env string, number int) error {
	return e.planner().MayRelease(ctx, env, number)
}

// Deploy schedules the matching resources that are not deployed as intended, and returns their
// number.
func (e *Engine) Deploy(ctx context.Context, env string, req planner.Request) (int, error) {
	return e.planner().Deploy(ctx, env, req)
}

// Repair schedules a check of all matching resources against reality, and returns their number.
func (e *Engine) Repair(ctx context.Context, env string, req planner.Request) (int, error) {
	return e.planner().Repair(ctx, env, req)
}

// SetParameters stores parameters. Resources that were undefined for lack of these parameters get
// their intent and are scheduled.
func (e *Engine) SetParameters(ctx context.Context, env string, ps ...state.Parameter) error {
	return e.planner().SetParameters(ctx, env, ps...)
}

// DeleteParameters removes parameters and facts. Resources deployed with their values stay
// unchanged until the next export.
func (e *Engine) DeleteParameters(
	ctx context.Context,
	env string,
	keys ...state.ParameterKey,
) error {
	return e.planner().DeleteParameters(ctx, env, keys...)
}

// Forget removes the state and the facts of a resource that left the model. Resources that wait for
// its removal proceed. The managed object is not touched, and the recorded actions of the resource
// are kept. Forget returns Conflict if the version in force contains the resource, and NotFound if
// the resource is unknown.
func (e *Engine) Forget(ctx context.Context, env string, id resource.ID) ([]resource.ID, error) {
	return e.planner().Forget(ctx, env, id)
}

// LockExports records the caller's exporter token; see Export.Turn.
func (e *Engine) LockExports(ctx context.Context, env, turn string) error {
	return e.planner().LockExports(ctx, env, turn)
}

// ForgetPurged removes the state of those resources in ids that left the model after a purge, and
// returns their ids. Their objects no longer exist, so no information is lost. The other resources
// are left unchanged.
func (e *Engine) ForgetPurged(
	ctx context.Context,
	env string,
	ids []resource.ID,
) ([]resource.ID, error) {
	return e.planner().ForgetPurged(ctx, env, ids)
}

// ForgetLeft removes the state of those resources in ids that left the model, and returns their
// ids. The other resources are left unchanged.
func (e *Engine) ForgetLeft(
	ctx context.Context,
	env string,
	ids []resource.ID,
) ([]resource.ID, error) {
	return e.planner().ForgetLeft(ctx, env, ids)
}

// ForgetAgent removes an agent that manages no resource in force, and the state of all resources
// left behind there. It is meant for a machine that is gone.
func (e *Engine) ForgetAgent(ctx context.Context, env, name string) ([]resource.ID, error) {
	return e.planner().ForgetAgent(ctx, env, name)
}

// Sweep completes planner work that other processes left undone. It finishes an interrupted
// release, processes the outbox, schedules due retries and timers, and notifies the lanes with
// scheduled resources. It may run at any time, in any number of processes. For an idle environment,
// it makes a few small reads.
func (e *Engine) Sweep(ctx context.Context, env string) (planner.SweepResult, error) {
	return e.planner().Sweep(ctx, env)
}

// Collect removes old versions and actions according to the settings of the environment, and facts
// of resources that no longer exist. It also removes files that no environment refers to and that
// were stored more than grace ago. A grace of 0 is one day.
func (e *Engine) Collect(
	ctx context.Context,
	env string,
	grace time.Duration,
) (planner.Collected, error) {
	return e.planner().Collect(ctx, env, grace)
}

// Pause stops claims for agents, or resumes them. Running resources finish, and scheduled resources
// stay scheduled.
func (e *Engine) Pause(ctx context.Context, env string, paused bool, agents ...string) error {
	if err := e.State.Pause(ctx, env, paused, agents...); err != nil {
		return fault.Wrap(fault.Unknown, "pause", err)
	}
	if paused {
		return nil
	}
	return e.notifyReady(ctx, env)
}

// Halt stops all claims of an environment, or resumes them. Paused agents stay paused.
func (e *Engine) Halt(ctx context.Context, env string, halted bool) error {
	if err := e.State.Halt(ctx, env, halted); err != nil {
		return fault.Wrap(fault.Unknown, "halt", err)
	}
	if halted {
		return nil
	}
	return e.notifyReady(ctx, env)
}

// notifyReady notifies every lane in which a resource may start. Callers write the pause or halt
// first, since a lane notified earlier would still be held. If a notice is lost, the next sweep
// notifies the lane.
func (e *Engine) notifyReady(ctx context.Context, env string) error {
	lanes, err := worker.Startable(ctx, e.State, e.graphs, env)
	if err != nil {
		return err
	}
	e.client().Notify(ctx, env, state.NoticesOf(lanes))
	return nil
}
