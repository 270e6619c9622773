package dynamo

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Host is what State takes from the machine that it runs on. What is nil is the machine's own; a
// simulation brings its own, and repeats a run to the letter.
type Host struct {
	// Sleep waits d or until ctx is done.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now tells the time at which parameters are removed.
	Now func() time.Time
	// Random returns what nobody has had before, for all that matters.
	Random func() uint64
	// Each calls f for 0 to n-1, at most width at a time, and returns when all calls have.
	// A simulator has its own, which says in which order they go on.
	Each func(n, width int, f func(i int))
	// Lock returns a lock that is held across requests.
	Lock func() sync.Locker
	// Plain leaves what is stored as it is, not compressed.
	Plain bool
	// Limits replace those that prices suggest.
	Limits *Limits
}

// Limits say when what is done otherwise: see docs/design/aws-ports.md.
type Limits struct {
	Inline   int // bytes of a delta that stands in a record
	Record   int // bytes of a record, where it can be kept so
	Refs     int // pieces that a record may name before the newest are merged
	Objects  int // objects that it may take to read a tablet before the newest are merged
	Released int // the same when its lease is given up
	Together int // tablets that are written in one transaction
	IDs      int // packed bytes of a list of ids that stands in a record
	Forget   int // versions that are removed together with a commit
	Sources  int // tablets that rows move from in one transaction
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

// complete puts the machine in the place of what is nil.
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

// Purpose says what a request is made for besides the operation that was called. Name is "" for the
// operation itself.
type Purpose struct {
	// Name is roll (do what another commit, or this one, has left to do), complete (do what depends
	// on whether all rows fitted), rolled (say that all of it is done), refuse (what was to run
	// next may not), merge or rest.
	Name string
	// Tablet is the key of the record and Number the number of the commit, of a roll or of its
	// completion.
	Tablet string
	Number int64
}

// PurposeOf returns the purpose of a request by its context.
func PurposeOf(ctx context.Context) Purpose {
	p, _ := ctx.Value(purposeKey{}).(Purpose)
	return p
}

func withPurpose(ctx context.Context, p Purpose) context.Context {
	return context.WithValue(ctx, purposeKey{}, p)
}
