package engine

import (
	"context"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// statePort is state.State as a process reaches it.
//
// Large: it implements a wide port, which has one method for each operation.
type statePort struct {
	p  *process
	to state.State
}

// read calls f as a call of the state port that returns a value. A failed call returns the zero
// value.
func read[T any](ctx context.Context, s *statePort, op string, f func() (T, error)) (T, error) {
	var out, none T
	err := s.p.call(ctx, op, &s.p.world.plan.faults.state, func() (err error) {
		out, err = f()
		return err
	})
	if err != nil {
		return none, err
	}
	return out, nil
}

func (s *statePort) write(ctx context.Context, op string, f func() error) error {
	return s.p.call(ctx, op, &s.p.world.plan.faults.state, f)
}

// Env implements state.State.
func (s *statePort) Env(ctx context.Context, env string) (state.Env, error) {
	return read(ctx, s, "Env", func() (state.Env, error) { return s.to.Env(ctx, env) })
}

// Envs implements state.State.
func (s *statePort) Envs(ctx context.Context) ([]string, error) {
	return read(ctx, s, "Envs", func() ([]string, error) { return s.to.Envs(ctx) })
}

// Versions implements state.State.
func (s *statePort) Versions(
	ctx context.Context, env string, numbers ...int,
) ([]state.Version, error) {
	return read(ctx, s, "Versions",
		func() ([]state.Version, error) { return s.to.Versions(ctx, env, numbers...) })
}

// Kept implements state.State.
func (s *statePort) Kept(
	ctx context.Context, env string, ids []resource.ID,
) ([]state.Kept, error) {
	return read(ctx, s, "Kept", func() ([]state.Kept, error) { return s.to.Kept(ctx, env, ids) })
}

// KeptOutputs implements state.State.
func (s *statePort) KeptOutputs(
	ctx context.Context, env string, ids []resource.ID,
) (map[resource.ID]string, error) {
	return read(ctx, s, "KeptOutputs",
		func() (map[resource.ID]string, error) { return s.to.KeptOutputs(ctx, env, ids) })
}

// KeptIDs implements state.State.
func (s *statePort) KeptIDs(ctx context.Context, env string) ([]resource.ID, error) {
	return read(ctx, s, "KeptIDs",
		func() ([]resource.ID, error) { return s.to.KeptIDs(ctx, env) })
}

// Agents implements state.State.
func (s *statePort) Agents(
	ctx context.Context, env string, names ...string,
) (map[string]state.Agent, error) {
	return read(ctx, s, "Agents",
		func() (map[string]state.Agent, error) { return s.to.Agents(ctx, env, names...) })
}

// Pause implements state.State.
func (s *statePort) Pause(ctx context.Context, env string, paused bool, agents ...string) error {
	return s.write(ctx, "Pause", func() error { return s.to.Pause(ctx, env, paused, agents...) })
}

// Halt implements state.State.
func (s *statePort) Halt(ctx context.Context, env string, halted bool) error {
	return s.write(ctx, "Halt", func() error { return s.to.Halt(ctx, env, halted) })
}

// Acquire implements state.State.
func (s *statePort) Acquire(
	ctx context.Context, env, key, holder string, now, until time.Time,
) (state.Lease, error) {
	return read(ctx, s, "Acquire",
		func() (state.Lease, error) { return s.to.Acquire(ctx, env, key, holder, now, until) })
}

// Release implements state.State.
func (s *statePort) Release(ctx context.Context, env string, l state.Lease) error {
	return s.write(ctx, "Release", func() error { return s.to.Release(ctx, env, l) })
}

// Leases implements state.State.
func (s *statePort) Leases(ctx context.Context, env string) ([]state.Lease, error) {
	return read(ctx, s, "Leases", func() ([]state.Lease, error) { return s.to.Leases(ctx, env) })
}

// Rows implements state.State.
func (s *statePort) Rows(ctx context.Context, env string, ids []resource.ID) ([]state.Row, error) {
	return read(ctx, s, "Rows", func() ([]state.Row, error) { return s.to.Rows(ctx, env, ids) })
}

// AgentRows implements state.State.
func (s *statePort) AgentRows(ctx context.Context, env, lane string, all bool) ([]state.Row, error) {
	return read(ctx, s, "LaneRows",
		func() ([]state.Row, error) { return s.to.AgentRows(ctx, env, lane, all) })
}

// ScanRows implements state.State.
func (s *statePort) ScanRows(
	ctx context.Context, env string, after resource.ID, limit int,
) ([]state.Row, error) {
	return read(ctx, s, "ScanRows",
		func() ([]state.Row, error) { return s.to.ScanRows(ctx, env, after, limit) })
}

// Changed implements state.ChangeLog.
func (s *statePort) Changed(ctx context.Context, env string, since int64) (state.Changed, error) {
	log, ok := s.to.(state.ChangeLog)
	if !ok {
		return state.Changed{}, nil
	}
	return read(ctx, s, "Changed",
		func() (state.Changed, error) { return log.Changed(ctx, env, since) })
}

// Schedule implements state.State.
func (s *statePort) Schedule(
	ctx context.Context, env string, agents ...string,
) (state.Schedule, error) {
	return read(ctx, s, "Schedule",
		func() (state.Schedule, error) { return s.to.Schedule(ctx, env, agents...) })
}

// Finished implements state.State.
func (s *statePort) Finished(
	ctx context.Context, env string, ids []resource.ID, epoch int64,
) ([]resource.ID, error) {
	return read(ctx, s, "Finished",
		func() ([]resource.ID, error) { return s.to.Finished(ctx, env, ids, epoch) })
}

// Due implements state.State.
func (s *statePort) Due(
	ctx context.Context, env string, at time.Time, limit int,
) ([]resource.ID, time.Time, error) {
	type answer struct {
		ids  []resource.ID
		next time.Time
	}
	out, err := read(ctx, s, "Due", func() (out answer, err error) {
		out.ids, out.next, err = s.to.Due(ctx, env, at, limit)
		return out, err
	})
	return out.ids, out.next, err
}

// Counts implements state.State.
func (s *statePort) Counts(ctx context.Context, env string) (map[state.Status]int, error) {
	return read(ctx, s, "Counts",
		func() (map[state.Status]int, error) { return s.to.Counts(ctx, env) })
}

// Commit implements state.State.
func (s *statePort) Commit(
	ctx context.Context, env string, c state.Commit,
) (state.Committed, error) {
	return read(ctx, s, "Commit",
		func() (state.Committed, error) { return s.to.Commit(ctx, env, c) })
}

// Outbox implements state.State.
func (s *statePort) Outbox(ctx context.Context, env string, limit int) ([]state.Outbox, error) {
	return read(ctx, s, "Outbox",
		func() ([]state.Outbox, error) { return s.to.Outbox(ctx, env, limit) })
}

// Parameters implements state.State.
func (s *statePort) Parameters(
	ctx context.Context, env string, q state.ParameterQuery,
) ([]state.Parameter, error) {
	return read(ctx, s, "Parameters",
		func() ([]state.Parameter, error) { return s.to.Parameters(ctx, env, q) })
}

// Actions implements state.State.
func (s *statePort) Actions(
	ctx context.Context, env string, q state.ActionQuery,
) ([]state.Action, error) {
	return read(ctx, s, "Actions",
		func() ([]state.Action, error) { return s.to.Actions(ctx, env, q) })
}

// DropActions implements state.State.
func (s *statePort) DropActions(ctx context.Context, env string, before time.Time) (int, error) {
	return read(ctx, s, "DropActions",
		func() (int, error) { return s.to.DropActions(ctx, env, before) })
}
