package deploy

import (
	"context"
	"time"

	"southbound/shared/deploy/lane"
	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Export validates, stores and releases a model. The same export again, also after a crash, gives
// the same version. A model with problems is refused with diag.Problems, which holds all of them,
// and nothing is stored.
func (e *Engine) Export(
	ctx context.Context,
	env string,
	x planner.Export,
) (planner.Exported, error) {
	return e.planner().Export(ctx, env, x)
}

// Release puts a stored version in force again, an earlier or a later one, and schedules what that
// changes. No new version is stored. Until the next export, partial exports are merged into it.
// It is NotFound when the version is not stored, or not any more, and Invalid if it takes from
// others what they have, or brings back what they had.
func (e *Engine) Release(
	ctx context.Context, env string, number int, by state.Origin,
) (planner.Exported, error) {
	return e.planner().Release(ctx, env, number, by)
}

// MayRelease says why Release would refuse a version, and does nothing.
func (e *Engine) MayRelease(ctx context.Context, env string, number int) error {
	return e.planner().MayRelease(ctx, env, number)
}

// Deploy schedules the matching resources that are not deployed as wanted, and returns how many
// these are.
func (e *Engine) Deploy(ctx context.Context, env string, req planner.Request) (int, error) {
	return e.planner().Deploy(ctx, env, req)
}

// Repair schedules all matching resources to be checked against reality, and returns how many these
// are.
func (e *Engine) Repair(ctx context.Context, env string, req planner.Request) (int, error) {
	return e.planner().Repair(ctx, env, req)
}

// SetParameters stores parameters. Resources that were undefined for want of them get their intent
// and are scheduled.
func (e *Engine) SetParameters(ctx context.Context, env string, ps ...state.Parameter) error {
	return e.planner().SetParameters(ctx, env, ps...)
}

// DeleteParameters removes parameters and facts. What was deployed with their values stays as it is
// until the next export.
func (e *Engine) DeleteParameters(
	ctx context.Context,
	env string,
	keys ...state.ParameterKey,
) error {
	return e.planner().DeleteParameters(ctx, env, keys...)
}

// Forget lets go of a resource that left the model: its state and its facts are removed, and what
// waits for its removal goes on. The thing itself is not touched, and what was done with it stays
// on record. It is Conflict when the version in force wants it, and NotFound when it is not known.
func (e *Engine) Forget(ctx context.Context, env string, id resource.ID) ([]resource.ID, error) {
	return e.planner().Forget(ctx, env, id)
}

// TakeTurn notes whose turn it is to export for others; see Export.Turn.
func (e *Engine) TakeTurn(ctx context.Context, env, turn string) error {
	return e.planner().TakeTurn(ctx, env, turn)
}

// ForgetPurged lets go of those of ids that left the model after they were purged, and returns
// them: nothing is left of them that anybody could miss. The others stay as they are.
func (e *Engine) ForgetPurged(
	ctx context.Context,
	env string,
	ids []resource.ID,
) ([]resource.ID, error) {
	return e.planner().ForgetPurged(ctx, env, ids)
}

// ForgetLeft lets go of those of ids that left the model, and returns them. The others stay as they
// are.
func (e *Engine) ForgetLeft(
	ctx context.Context,
	env string,
	ids []resource.ID,
) ([]resource.ID, error) {
	return e.planner().ForgetLeft(ctx, env, ids)
}

// ForgetAgent lets go of an agent that no resource in force is managed on, with all that was left
// behind there: for a machine that is gone.
func (e *Engine) ForgetAgent(ctx context.Context, env, name string) ([]resource.ID, error) {
	return e.planner().ForgetAgent(ctx, env, name)
}

// Sweep does what nobody else is left to do: it finishes an interrupted release, does what follows
// from commits, schedules retries and timers that are due, and notifies the lanes in which
// something is scheduled. It may run at any time, in any number of processes. An idle environment
// costs a few small reads.
func (e *Engine) Sweep(ctx context.Context, env string) (planner.SweepResult, error) {
	return e.planner().Sweep(ctx, env)
}

// Collect removes old versions and actions, by the settings of the environment, facts of what is
// gone, and files that nothing in any environment refers to and that were stored more than grace
// ago (0: a day).
func (e *Engine) Collect(
	ctx context.Context,
	env string,
	grace time.Duration,
) (planner.Collected, error) {
	return e.planner().Collect(ctx, env, grace)
}

// Pause stops claims for agents, or lets them go on. What runs is finished, and what is scheduled
// stays scheduled.
func (e *Engine) Pause(ctx context.Context, env string, paused bool, agents ...string) error {
	if err := e.State.Pause(ctx, env, paused, agents...); err != nil {
		return fault.Wrap(fault.Unknown, "pause", err)
	}
	if paused {
		return nil
	}
	return e.notifyReady(ctx, env)
}

// Halt stops all claims of an environment, or lets them go on. Agents that were paused stay paused.
func (e *Engine) Halt(ctx context.Context, env string, halted bool) error {
	if err := e.State.Halt(ctx, env, halted); err != nil {
		return fault.Wrap(fault.Unknown, "halt", err)
	}
	if halted {
		return nil
	}
	return e.notifyReady(ctx, env)
}

// notifyReady notifies every lane in which something may start. It comes after the write that lets
// them start: a notice before it would find them held. If it is lost, a sweep notifies them.
func (e *Engine) notifyReady(ctx context.Context, env string) error {
	lanes, err := lane.Startable(ctx, e.State, e.graphs, env)
	if err != nil {
		return err
	}
	e.client().Notify(ctx, env, state.NoticesOf(lanes))
	return nil
}
