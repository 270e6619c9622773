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

// Limits bound what a model may take.
type Limits struct {
	Rounds int // of freezing
	// Steps are pieces of work: statements, calls and elements, and parts of those that take long.
	// Each instance that is made allows StepsEach more.
	Steps, StepsEach int
	Instances        int
	// of implementations that make instances whose implementations make instances
	Depth int
	// of texts, lists and dicts that are computed, together, and of what is printed
	Bytes  int64
	Memory int64 // of Bytes, instances, and work that has begun and is not done
}

// DefaultLimits are used where Program has none.
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

// LimitsWithin returns the limits for a model that may take so much memory of its process: one that
// would take more is refused before the system ends the process. What counts is less than what is
// taken, and what was just made is not counted yet.
func LimitsWithin(memory int64) Limits {
	const least, part, bytesPart = 8 << 20, 2, 2
	out := DefaultLimits()
	out.Memory = max(memory/part, least)
	out.Bytes = out.Memory / bytesPart
	return out
}

// used is what a run has taken of its limits.
type used struct {
	steps int64 // pieces of work done
	asked int64 // steps when it was looked last whether the run should end
	bytes int64 // of values that were computed
	live  int64 // of what is kept until it is done, and of instances

	instances int
}

// What things take, about, with what hangs on them. The test of bounds holds these against the
// memory that models really take.
const (
	unitSize     = 360
	slotSize     = 16  // a place of a frame, with the waiter
	variableSize = 120 // an attribute
	instanceSize = 300
	memberSize   = 180 // an item of a relation
	resultSize   = 112 // of an element, until its list is complete
	itemSize     = 24  // of a list
	entrySize    = 96  // of a dict
)

const (
	// askEach is after how many steps a run looks whether it should end.
	askEach = 1 << 10
	// itemsEach is how many items of a list, words of a number or bytes of a text can be looked
	// through in the time of a step.
	itemsEach = 64
	// roundWork is what a round of freezing counts, which looks through what waits.
	roundWork = 8
	// maxValue is how many values a dict or a list may hold all told, when what several of its
	// entries share counts each time: so much is written when it is shown.
	maxValue = 4 << 20
	// portion is how many elements of a list begin before the next ones wait for their turn.
	portion = 1 << 14
)

// work counts pieces of work, and reports that there were too many or that the run has to end.
func (e *scheduler) work(n int, at *diag.Pos) *fail {
	if e.used.steps += int64(n); e.due() {
		return e.judge(at)
	}
	return nil
}

// due reports whether it is time to look at the bounds.
func (e *scheduler) due() bool {
	u := &e.used
	return u.live+u.bytes > e.limits.Memory || u.steps-u.asked >= askEach
}

// judge looks at the bounds.
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

// scan counts the work of looking through n items.
func (e *scheduler) scan(n int, at *diag.Pos) *fail { return e.work(n/itemsEach, at) }

// breadth is how much has to be looked through to compare a value.
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

// ended says why a run was not brought to its end.
func ended(err error, at *diag.Pos) *fail {
	text := "the model was interrupted while it was compiled"
	if errors.Is(err, context.DeadlineExceeded) {
		text = "the model was not done in time"
	}
	return failed(CodeLimit, at, "%s", text).heavy(1)
}

func (e *scheduler) tooMuch(at *diag.Pos) *fail {
	return e.roomier(e.going(failed(CodeLimit, at,
		"the model needs too much memory: more than %d MiB for values, instances and what has "+
			"begun and is not done",
		e.limits.Memory>>20).heavy(1)))
}

// roomier adds that the bound is that of whoever compiles, if it is.
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

// RoomierHint says that a bound is below the default because of whoever compiles.
const RoomierHint = "the bound is that of whoever compiles the model, and grows with its memory"

// going adds the places of what still went on.
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

// room reports that there is no room for one more instance.
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

// spend reports that the model has made more data than it may.
func (e *scheduler) spend(bytes int, at *diag.Pos) *fail {
	if f := e.fits(bytes, at); f != nil {
		return f
	}
	e.used.bytes += int64(bytes)
	return e.scan(bytes/itemSize, at)
}

// remaining is how many bytes of texts and lists the model may still compute.
func (e *scheduler) remaining() int { return int(max(e.limits.Bytes-e.used.bytes, 0)) }

// fits reports that a value of so many bytes would be more data than the model may make. What is
// put together from parts asks before it is: the parts may be the same large value many times.
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

// fitsBoth is fits of what an operation makes of two texts.
func fitsBoth(e *scheduler, op string, a, b types.Value, at *diag.Pos) *fail {
	s, ok := a.(string)
	t, both := b.(string)
	if op != "+" || !ok || !both {
		return nil
	}
	return e.fits(len(s)+len(t), at)
}

// fitsAll is fits of the list of some values, where lists are replaced by their items.
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

// written returns a value as text, or as Repr writes it, if that fits.
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

// made counts a value that was computed.
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
			"this value holds more than %d values, when what is there several times counts each "+
				"time", maxValue).heavy(1)
	}
	return nil
}

// tellAll gives items to a collector, in portions, and calls end when it has them all. again makes
// the task of the next portion.
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

// overLimit is the error of a plugin that met a bound.
type overLimit string

func (e overLimit) Error() string { return string(e) }
func (overLimit) Limited() bool   { return true }

// OverLimit is the error of a plugin for what is larger than a bound: its problem has the code
// CodeLimit.
func OverLimit(format string, args ...any) error { return overLimit(fmt.Sprintf(format, args...)) }

// limited returns the problem of a bound that was met inside an error; nil for any other error.
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
