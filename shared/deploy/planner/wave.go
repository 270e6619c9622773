package planner

import (
	"context"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// waveProgress is the progress of the wave, for a release that wakes rows. It is read once, and only
// if it is needed.
type waveProgress struct {
	p        *planning
	schedule *state.Schedule // nil: not read
}

// read reads the progress of the wave, unless it was read already.
func (w *waveProgress) read(ctx context.Context) error {
	if w.schedule != nil {
		return nil
	}
	s, err := w.p.pl.State.Schedule(ctx, w.p.env.Name)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read schedule", err)
	}
	w.schedule = &s
	return nil
}

// begins reports whether the plan starts the wave.
func (w *waveProgress) begins() bool { return w.p.env.Wave.Epoch > w.schedule.Wave.Epoch }

// asks reports whether the wave has yet to check a row.
func (w *waveProgress) asks(row *state.Row) bool {
	if w.schedule == nil || !w.p.env.Wave.Asks(row) {
		return false
	}
	if w.begins() {
		return true // if the row conflicts, it may be over when the row is planned again
	}
	if _, unfinished := w.schedule.Unfinished[row.Agent]; !unfinished {
		return false
	}
	return !w.checked(row)
}

// checked reports whether a record shows that the wave has checked a row.
func (w *waveProgress) checked(row *state.Row) bool {
	if w.schedule == nil || w.begins() {
		return false
	}
	_, listed := slices.BinarySearch(w.schedule.Unfinished[row.Agent], row.ID)
	return listed || row.Checked >= w.schedule.Wave.Epoch
}
