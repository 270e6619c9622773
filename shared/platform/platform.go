// Package platform is what every home of the engine takes from the machine it runs on: the time,
// calls with a limit, and names for what is new.
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

// Clock is the time of the machine. It implements state.Clock.
type Clock struct{}

// Now returns the time in UTC.
func (Clock) Now() time.Time { return time.Now().UTC() }

// Sleep waits d or until ctx is done, and returns the error of ctx then.
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
	// Calls, unless it is nil, can end all calls.
	Calls *Calls
}

// Call runs f and waits for it at most limit, see package patience.
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
	// A handler that minds its context gets a moment to say what went wrong.
	over, stop := patience.After(time.Second)
	defer stop()
	select {
	case err := <-done:
		return err
	case <-over:
		return fault.New(fault.Timeout, "call handler", "no answer within %s", limit)
	}
}

// panicText says what a call panicked with. Maps, lists and structs are told by their type alone:
// one may hold itself, and printing it would not end.
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

// IDs makes identifiers. It may be used by any number of goroutines.
type IDs struct {
	// Holder names this process.
	Holder string
	// Now tells the time; nil: the clock of the machine.
	Now func() time.Time

	tail [6]byte

	mu   sync.Mutex
	last int64
	n    uint32
}

// NewIDs returns identifiers of this process, under a holder that no other process has.
func NewIDs() *IDs {
	var raw [12]byte
	_, _ = rand.Read(raw[:]) // it never fails
	return &IDs{Holder: hex.EncodeToString(raw[:]), tail: [6]byte(raw[:6])}
}

// IDAt returns what is not greater than any id that NewID returns at a time or later.
func IDAt(t time.Time) string { return fmt.Sprintf("%012x", max(t.UnixMilli(), 0)) }

// NewID returns a unique id: milliseconds, a counter and a part of this process. It is greater than
// all this process made before and, as far as clocks agree, others.
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
