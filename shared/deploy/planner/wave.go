package planner

import (
	"context"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// waveProgress is how far the wave is, of which a release moves rows to other lanes, or wakes them.
// It is read once, and only where that matters.
type waveProgress struct {
	p        *planning
	schedule *state.Schedule // nil: not read
}

// read reads how far the wave is, unless that was read already.
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

// begins reports whether the wave begins with what is planned.
func (w *waveProgress) begins() bool { return w.p.env.Wave.Epoch > w.schedule.Wave.Epoch }

// asks reports whether the wave has still to check a row in the lane where it is now.
func (w *waveProgress) asks(row *state.Row) bool {
	if w.schedule == nil || !w.p.env.Wave.Asks(row) {
		return false
	}
	if w.begins() {
		// If the row conflicts, it may be over in the other lane when this is planned again.
		return true
	}
	if _, unfinished := w.schedule.Unfinished[row.Lane]; !unfinished {
		return false
	}
	return !w.checked(row)
}

// checked reports whether a record says that the wave has checked a row where it is now.
func (w *waveProgress) checked(row *state.Row) bool {
	if w.schedule == nil || w.begins() {
		return false
	}
	_, listed := slices.BinarySearch(w.schedule.Unfinished[row.Lane], row.ID)
	return listed || row.Checked >= w.schedule.Wave.Epoch
}

// reached returns the wave if it has checked a row where it is now, and 0 otherwise.
func (w *waveProgress) reached(row *state.Row) int64 {
	if !w.checked(row) {
		return 0
	}
	return w.schedule.Wave.Epoch
}
