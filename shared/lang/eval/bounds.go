package eval

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/lang/types"
)

// Limits bound the resources of a run.
type Limits struct {
	Rounds int // rounds of freezing
	// Steps counts units of work: statements, calls, elements, and portions of long operations.
	// Each instance raises the bound by StepsEach.
	Steps, StepsEach int
	Instances        int
	// Depth bounds the nesting of implementations that construct instances.
	Depth int
	// Bytes bounds the total size of computed texts, lists and dicts, and separately the kept part
	// of the printed output.
	Bytes  int64
	Memory int64 // Bytes, instances, and units that have started and are not done
}

// DefaultLimits returns the limits of a Program that sets none.
func DefaultLimits() Limits {
	return Limits{
		Rounds:    100_000,
		Steps:     5_000_000,
		StepsEach: 100,
		Instances: 1_000_000,
		Depth:     10_000,
		Bytes:     256 << 20,
		Memory:    512 << 20,
	}
}

// LimitsWithin returns the limits for a process with this much memory. A model that exceeds them is
// rejected before the system kills the process. Limits.Memory is half of the given memory. A run
// counts fewer bytes than it allocates, and counts new values only after it has created them.
func LimitsWithin(memory int64) Limits {
	const least, part, bytesPart = 8 << 20, 2, 2
	out := DefaultLimits()
	out.Memory = max(memory/part, least)
	out.Bytes = out.Memory / bytesPart
	return out
}

// used is the consumption of a run, counted against its limits.
type used struct {
	steps int64 // pieces of work done
	asked int64 // value of steps at the last check of the limits
	bytes int64 // size of computed values
	live  int64 // size of unfinished units, results of elements, instances and items of relations

	instances int
}

// Approximate sizes in bytes, including dependent allocations. The test of bounds compares these
// with the memory that models really use.
const (
	unitSize     = 360
	slotSize     = 16  // a slot of a frame, with its waiter
	variableSize = 120 // an attribute
	instanceSize = 300
	memberSize   = 180 // an item of a relation
	resultSize   = 112 // of an element, until its list is complete
	itemSize     = 24  // of a list
	entrySize    = 96  // of a dict
)

const (
	// askEach is the number of steps between two checks of the limits.
	askEach = 1 << 10
	// itemsEach is the number of list items, words of a number or bytes of a text that a run can
	// scan in one step.
	itemsEach = 64
	// roundWork is the number of steps that a round of freezing counts, since the round scans
	// waiting variables.
	roundWork = 8
	// maxValue is the largest number of values that a dict or a list may hold, including nested
	// values. A value that several entries share counts each time, because output repeats it.
	maxValue = 4 << 20
	// portion is the number of elements of a list that start before other units get a turn.
	portion = 1 << 14
)

// work adds n steps, and returns a problem if a limit is exceeded or the run was cancelled.
func (e *scheduler) work(n int, at *diag.Pos) *fail {
	if e.used.steps += int64(n); e.due() {
		return e.judge(at)
	}
	return nil
}

// due reports whether the limits have to be checked.
func (e *scheduler) due() bool {
	u := &e.used
	return u.live+u.bytes > e.limits.Memory || u.steps-u.asked >= askEach
}

// judge checks the limits and the context of the run.
func (e *scheduler) judge(at *diag.Pos) *fail {
	u := &e.used
	if u.live+u.bytes > e.limits.Memory {
		return e.tooMuch(at)
	}
	u.asked = u.steps
	if err := e.ctx.Err(); err != nil {
		return ended(err, at)
	}
	if u.steps > int64(e.limits.Steps)+int64(e.limits.StepsEach)*int64(e.used.instances) {
		return e.going(failed(CodeLimit, at,
			"the model takes too long: it is not done after %d steps", u.steps).heavy(1))
	}
	return nil
}

// scan counts the steps of scanning n items.
func (e *scheduler) scan(n int, at *diag.Pos) *fail { return e.work(n/itemsEach, at) }

// breadth returns the number of items to scan for a comparison with the value.
func breadth(v types.Value) int {
	switch v := v.(type) {
	case *types.List:
		return len(v.Items)
	case *types.Dict:
		return types.Weight(v)
	case *big.Int:
		return v.BitLen() / 32
	}
	return 0
}

// ended returns the problem of a run whose context has ended.
func ended(err error, at *diag.Pos) *fail {
	text := "the model was interrupted while it was compiled"
	if errors.Is(err, context.DeadlineExceeded) {
		text = "the model was not done in time"
	}
	return failed(CodeLimit, at, "%s", text).heavy(1)
}

func (e *scheduler) tooMuch(at *diag.Pos) *fail {
	return e.roomier(e.going(failed(CodeLimit, at,
		"the model needs too much memory: more than %d MiB for values, instances and calls in "+
			"progress",
		e.limits.Memory>>20).heavy(1)))
}

// roomier adds RoomierHint if the memory limit differs from the default.
func (e *scheduler) roomier(f *fail) *fail {
	if fallback := DefaultLimits(); e.limits.Memory == fallback.Memory {
		return f
	}
	if f.hint != "" {
		f.hint += "; "
	}
	f.hint += RoomierHint
	return f
}

// RoomierHint is the hint for a memory limit that was derived from the memory of the compiling
// process.
const RoomierHint = "the limit grows with the memory of the machine or function that compiles the model"

// going adds the positions of units that are not done.
func (e *scheduler) going(f *fail) *fail {
	f.hint = "look for loops in loops over long lists, and for a loop over a relation that adds to it"
	const limit = 5
	for u, n := e.first, 0; u != nil && len(f.related) < limit && n < portion; u, n = u.next, n+1 {
		at := goesOn(u.task)
		if at == nil || f.at != nil && *at == *f.at {
			continue
		}
		there := func(r related) bool { return *r.at == *at }
		if !slices.ContainsFunc(f.related, there) {
			f.with(at, "this still went on")
		}
	}
	return f
}

// room counts an instance, and returns a problem if the model has too many instances or too deep a
// nesting.
func (e *scheduler) room(depth, attributes int, at *diag.Pos) *fail {
	if depth > e.limits.Depth {
		return failed(
			CodeEndless,
			at,
			"implementations make instances whose implementations make instances, %d levels deep",
			e.limits.Depth,
		).
			advise("look for an implementation that makes, directly or through others, an " +
				"instance of its own entity, and end that with `implement ... when`").
			heavy(1)
	}
	if e.used.instances >= e.limits.Instances {
		const text = "the model has more than %d instances"
		return failed(CodeLimit, at, text, e.limits.Instances).heavy(1)
	}
	e.used.live += instanceSize + variableSize*int64(attributes)
	return e.work(1, at)
}

// spend counts bytes of computed data, and returns a problem if they exceed the limit.
func (e *scheduler) spend(bytes int, at *diag.Pos) *fail {
	if f := e.fits(bytes, at); f != nil {
		return f
	}
	e.used.bytes += int64(bytes)
	return e.scan(bytes/itemSize, at)
}

// remaining returns the number of bytes of texts and lists that the model may still compute.
func (e *scheduler) remaining() int { return int(max(e.limits.Bytes-e.used.bytes, 0)) }

// fits returns a problem if a value of this size would exceed the limit of computed data.
// Operations that concatenate call fits before they allocate, because the parts may repeat one
// large value many times.
func (e *scheduler) fits(bytes int, at *diag.Pos) *fail {
	if bytes <= e.remaining() {
		return nil
	}
	return e.roomier(failed(
		CodeLimit,
		at,
		"the texts and lists that the model computes are larger than %d MiB together",
		e.limits.Bytes>>20,
	).heavy(1))
}

// fitsBoth is fits for the concatenation of two texts.
func fitsBoth(e *scheduler, op string, a, b types.Value, at *diag.Pos) *fail {
	s, ok := a.(string)
	t, both := b.(string)
	if op != "+" || !ok || !both {
		return nil
	}
	return e.fits(len(s)+len(t), at)
}

// fitsAll is fits for a list of the values. A value that is a list counts with its items, since it
// is flattened.
func fitsAll(e *scheduler, values iter.Seq[types.Value], at *diag.Pos) *fail {
	n := 0
	for v := range values {
		if l, ok := v.(*types.List); ok {
			n += len(l.Items)
		} else {
			n++
		}
		if n*itemSize > e.remaining() {
			return e.fits(n*itemSize, at)
		}
	}
	return nil
}

// written formats a value as text, or with Repr. It returns a problem if the text exceeds the
// limit.
func written(e *scheduler, v types.Value, repr bool, at *diag.Pos) (string, *fail) {
	if s, ok := v.(string); ok && !repr {
		return s, nil
	}
	if o, ok := v.(types.Object); ok && !repr {
		return o.Text(), nil
	}
	text, ok := types.ReprWithin(v, e.remaining())
	if !ok {
		return "", e.fits(e.remaining()+1, at)
	}
	return text, nil
}

// made counts a computed value.
func (e *scheduler) made(v types.Value, at *diag.Pos) *fail {
	switch v := v.(type) {
	case string:
		return e.spend(len(v), at)
	case *big.Int:
		return e.spend(v.BitLen()/8, at)
	case *types.List:
		if f := e.spend(itemSize*len(v.Items), at); f != nil {
			return f
		}
	case *types.Dict:
		if f := e.spend(entrySize*v.Len(), at); f != nil {
			return f
		}
		for _, k := range v.Keys() {
			item, _ := v.Get(k)
			if l, ok := item.(*types.List); ok {
				if f := e.scan(len(l.Items), at); f != nil {
					return f
				}
			}
		}
	default:
		return nil
	}
	if n := types.Weight(v); n > maxValue {
		return failed(CodeLimit, at,
			"this value holds more than %d values, where repeated values count each "+
				"time", maxValue).heavy(1)
	}
	return nil
}

// tellAll passes items to a collector in portions, and calls end after the last item or when the
// collector is done. The function again creates the task of the next portion.
func (e *engine) tellAll(
	c collector, items []types.Value, at *diag.Pos, again func(func(*unit) *fail) task,
	end func() *fail,
) *fail {
	n := min(len(items), portion)
	for _, item := range items[:n] {
		if done, f := c.receive(item, at); done || f != nil {
			if f != nil {
				return f
			}
			return end()
		}
	}
	if n == len(items) {
		return end()
	}
	e.start(again(func(*unit) *fail { return e.tellAll(c, items[n:], at, again, end) }), frame{})
	return nil
}

// overLimit is the error of a plugin that exceeded a limit.
type overLimit string

func (e overLimit) Error() string { return string(e) }
func (overLimit) Limited() bool   { return true }

// OverLimit returns the error of a plugin whose result would exceed a limit. The problem gets the
// code CodeLimit.
func OverLimit(format string, args ...any) error { return overLimit(fmt.Sprintf(format, args...)) }

// limited returns the problem of a limit that is wrapped in an error, and nil for any other error.
func limited(err error) *fail {
	var f *fail
	if errors.As(err, &f) && f.code == CodeLimit {
		return f
	}
	var l interface{ Limited() bool }
	if errors.As(err, &l) && l.Limited() {
		return &fail{code: CodeLimit, message: err.Error(), weight: 1}
	}
	return nil
}
