package dynamo

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Host holds the functions that State takes from its machine. A nil function is replaced by the
// machine's own. A simulation provides its own functions, so that it can repeat a run exactly.
type Host struct {
	// Sleep waits for d or until ctx is done.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now returns the time, for the removal of parameters.
	Now func() time.Time
	// Random returns a random number that is unique in practice.
	Random func() uint64
	// Each calls f for 0 to n-1, at most width at a time, and returns after all calls have. A
	// simulator provides its own, which determines the order in which the calls proceed.
	Each func(n, width int, f func(i int))
	// Lock returns a lock that may be held across requests.
	Lock func() sync.Locker
	// Plain disables compression.
	Plain bool
	// Limits replace the default limits, which follow from prices.
	Limits *Limits
}

// Limits are the thresholds of the storage: see docs/design/aws-ports.md.
type Limits struct {
	Inline   int // bytes of a delta inside a record
	Record   int // target bytes of a record
	Refs     int // pieces that a record names before the newest are merged
	Objects  int // objects of a tablet before the newest pieces are merged
	Released int // objects of a tablet when its lease is released, before a merge
	Together int // tablets that one transaction writes
	IDs      int // packed bytes of a list of ids inside a record
	Forget   int // versions that are removed together with a commit
	Sources  int // tablets from which rows move in one transaction
}

// defaultLimits are the limits of a home.
func defaultLimits() limits {
	return limits{
		inline:   4096,
		record:   1000,
		refs:     8,
		objects:  32,
		released: 2,
		together: 16,
		ids:      8 << 10,
		forget:   20,
		sources:  90,
	}
}

func (h *Host) limits() limits {
	if l := h.Limits; l != nil {
		return limits{
			inline:   l.Inline,
			record:   l.Record,
			refs:     l.Refs,
			objects:  l.Objects,
			released: l.Released,
			together: l.Together,
			ids:      l.IDs,
			forget:   l.Forget,
			sources:  l.Sources,
		}
	}
	return defaultLimits()
}

// complete replaces nil functions by the machine's own.
func (h *Host) complete() {
	if h.Sleep == nil {
		h.Sleep = sleep
	}
	if h.Now == nil {
		h.Now = time.Now
	}
	if h.Random == nil {
		h.Random = secret
	}
	if h.Each == nil {
		h.Each = sideBySide
	}
	if h.Lock == nil {
		h.Lock = func() sync.Locker { return &sync.Mutex{} }
	}
}

func secret() uint64 {
	var raw [8]byte
	_, _ = crand.Read(raw[:]) // it never fails
	return binary.BigEndian.Uint64(raw[:])
}

func sideBySide(n, width int, f func(i int)) {
	var calls errgroup.Group
	calls.SetLimit(width)
	for i := range n {
		calls.Go(func() error {
			f(i)
			return nil
		})
	}
	_ = calls.Wait()
}

// purposeKey is the key of a Purpose in a context.
type purposeKey struct{}

// Purpose is the purpose of a request other than the called operation itself. For that operation
// Name is "".
type Purpose struct {
	// Name is one of:
	//
	//	roll      apply the remaining changes of a commit, this one or another
	//	complete  apply the changes that depend on whether all rows fitted
	//	rolled    record that all changes are applied
	//	refuse    withdraw Next, which may not start
	//	ran       correct the running list after a roll-forward
	//	merge     merge the pieces of a tablet
	//	rest      end the quiet time of an environment
	Name string
	// Tablet is the key of the record, and Number the number of the commit, of a roll or a
	// completion.
	Tablet string
	Number int64
}

// PurposeOf returns the purpose of a request from its context.
func PurposeOf(ctx context.Context) Purpose {
	p, _ := ctx.Value(purposeKey{}).(Purpose)
	return p
}

func withPurpose(ctx context.Context, p Purpose) context.Context {
	return context.WithValue(ctx, purposeKey{}, p)
}
