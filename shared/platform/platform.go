// Package platform holds the services of the machine that each home of the engine uses: the time,
// calls with a limit, and unique ids.
package platform

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	"southbound/shared/fault"
	"southbound/shared/patience"
)

// Clock is the clock of the machine. It implements state.Clock.
type Clock struct{}

// Now returns the time in UTC.
func (Clock) Now() time.Time { return time.Now().UTC() }

// Sleep waits d. If ctx is done first, Sleep returns its error.
func (Clock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Caller calls handlers in goroutines of their own. It implements state.Caller.
type Caller struct {
	// Calls, unless it is nil, can abort all calls.
	Calls *Calls
}

// Call runs f and waits for it for at most limit; see package patience.
func (c Caller) Call(ctx context.Context, limit time.Duration, f func(ctx context.Context)) error {
	ctx, cancel := patience.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	ended := c.Calls.begin()
	done := make(chan error, 1)
	go func() {
		defer ended()
		defer func() {
			if p := recover(); p != nil {
				done <- fault.New(fault.Internal, "", "%s\n%s", panicText(p), debug.Stack())
			}
		}()
		f(ctx)
		done <- nil
	}()
	select {
	case err := <-done:
		return err
	case <-c.Calls.ending():
		cancel()
		select {}
	case <-ctx.Done():
	}
	// A handler that observes its context gets a moment to return its error.
	over, stop := patience.After(time.Second)
	defer stop()
	select {
	case err := <-done:
		return err
	case <-over:
		return fault.New(fault.Timeout, "call handler", "no answer within %s", limit)
	}
}

// CallRenewing implements state.RenewingCaller. Renewals end with the process, too.
func (c Caller) CallRenewing(ctx context.Context, limit, every time.Duration,
	renew func(ctx context.Context) error, f func(ctx context.Context)) error {
	ctx = context.WithoutCancel(ctx)
	lost, lose := context.WithCancel(ctx)
	defer lose()
	until, stop := context.WithCancel(ctx)
	var renewals sync.WaitGroup
	renewals.Go(func() {
		for (Clock{}).Sleep(until, every) == nil {
			if renew(ctx) != nil {
				lose()
				return
			}
		}
	})
	defer renewals.Wait()
	defer stop()
	return c.Call(ctx, limit, func(ctx context.Context) {
		own, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(lost, cancel)()
		f(own)
	})
}

// panicText describes the value of a panic. A map, list or struct is described by its type only: it
// may contain itself, and printing it would not terminate.
func panicText(p any) string {
	switch p.(type) {
	case error, fmt.Stringer:
		return fmt.Sprintf("%v", p)
	}
	switch v := reflect.ValueOf(p); v.Kind() {
	case reflect.Map, reflect.Slice, reflect.Array, reflect.Struct, reflect.Pointer,
		reflect.Interface:
		return fmt.Sprintf("a value of the type %T", p)
	}
	return fmt.Sprintf("%v", p)
}

// IDs generates identifiers. It is safe for concurrent use.
type IDs struct {
	// Holder names this process.
	Holder string
	// Now returns the time; nil: the clock of the machine.
	Now func() time.Time

	tail [6]byte

	mu   sync.Mutex
	last int64
	n    uint32
}

// NewIDs returns a generator for this process, with a holder that no other process has.
func NewIDs() *IDs {
	var raw [12]byte
	_, _ = rand.Read(raw[:]) // never fails
	return &IDs{Holder: hex.EncodeToString(raw[:]), tail: [6]byte(raw[:6])}
}

// IDAt returns a lower bound of the ids that NewID returns at time t or later.
func IDAt(t time.Time) string { return fmt.Sprintf("%012x", max(t.UnixMilli(), 0)) }

// NewID returns a unique id of milliseconds, a counter and a part that identifies this process. It
// is greater than all earlier ids of this process. As far as clocks agree, it is also greater than
// earlier ids of other processes.
func (i *IDs) NewID() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := time.Now
	if i.Now != nil {
		now = i.Now
	}
	ms := now().UnixMilli()
	if ms <= i.last {
		i.n++
	} else {
		i.last, i.n = ms, 0
	}
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], uint64(i.last)<<16) // the time is positive
	binary.BigEndian.PutUint32(raw[6:], i.n)
	copy(raw[10:], i.tail[:])
	return hex.EncodeToString(raw[:])
}
