package provider

import (
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"southbound/shared/fault"
)

// maxCached bounds how many values a Cache keeps.
const maxCached = 1000

// idleDefault is how long a value is kept after its last use if Keep sets no limit.
const idleDefault = time.Minute

// Keep limits how long a value is kept. The value expires at the first limit that is reached.
// Without a limit, it is kept for a minute after its last use.
type Keep struct {
	For     time.Duration // since it was made
	Idle    time.Duration // since it was last used
	Version bool          // until a run for a newer version
}

// Key identifies a value within one resource type, or within all types: by a name and by the
// arguments on which the value depends. Arguments are compared as JSON, so a field tagged
// `json:"-"` is not part of the key. An unexported field, which JSON omits, is an error: distinct
// values would share a key.
type Key struct {
	Name string
	Args []any
	// Across is set for a value that all types of the agent share.
	Across bool
}

// Cache keeps values across runs. It is safe for concurrent use. The next use of the cache closes
// expired values.
type Cache struct {
	now   func() time.Time
	limit int

	mu      sync.Mutex
	entries map[string]*entry
	made    uint64 // number of built values
	used    uint64 // number of uses
	version int    // the newest version seen
	ended   []*entry
	closing bool
	idle    *sync.Cond // signals that no goroutine closes values
	closed  bool
}

// entry is one value, which may still be under construction.
type entry struct {
	keep     Keep
	version  int
	done     chan struct{} // closed when build has returned
	value    any
	err      error
	canceled bool // build was canceled or panicked: the next caller builds again
	close    func()
	order    uint64
	use      uint64
	madeAt   time.Time
	usedAt   time.Time
	lent     int
	gone     bool // no longer in entries
}

// NewCache returns an empty cache that reads the time from now.
func NewCache(now func() time.Time) *Cache {
	c := &Cache{now: now, limit: maxCached, entries: map[string]*entry{}}
	c.idle = sync.NewCond(&c.mu)
	return c
}

// Cached returns the value of a key, and builds it if the cache has none. One goroutine at a time
// calls build for a key; the others wait for its result. Errors are not cached. The value is
// shared, so callers must not change it.
func Cached[T any](
	ctx *Context, key Key, keep Keep, build func(ctx *Context) (T, error),
) (T, error) {
	v, back, err := Borrow(ctx, key, keep, build, nil)
	back()
	return v, err
}

// Borrow is Cached for values that have to be closed. The caller returns the value by calling back,
// which is never nil, when it no longer needs the value. An expired value is closed when all
// callers have returned it. Values that expire together are closed in the reverse order of their
// creation, one at a time.
func Borrow[T any](
	ctx *Context, key Key, keep Keep, build func(ctx *Context) (T, error), shut func(T),
) (value T, back func(), err error) {
	c := ctx.host.Cache()
	text, err := keyText[T](ctx, key)
	if err != nil {
		return value, func() {}, err
	}
	if c == nil {
		value, err = build(ctx)
		return value, closer(value, shut, err), err
	}
	boxed := func() (any, func(), error) {
		v, err := build(ctx)
		return v, closer(v, shut, err), err
	}
	e, err := c.get(ctx, text, keep, ctx.Version(), boxed)
	if err != nil {
		return value, func() {}, err
	}
	value, _ = e.value.(T) // the type is part of the key
	return value, sync.OnceFunc(func() { c.giveBack(e) }), nil
}

func closer[T any](v T, shut func(T), err error) func() {
	if shut == nil || err != nil {
		return func() {}
	}
	return sync.OnceFunc(func() { shut(v) })
}

func keyText[T any](ctx *Context, key Key) (string, error) {
	args, err := json.Marshal(key.Args)
	for _, a := range key.Args {
		if hidden := unexported(reflect.TypeOf(a), nil); err == nil && hidden != "" {
			err = fmt.Errorf(
				"%T has the field %s, which is not exported; export it, or tag it with "+
					"`json:\"-\"` when the value does not depend on it", a, hidden)
		}
	}
	if err != nil {
		return "", Errorf(Terminal, "the arguments of the cached value %s cannot be compared: %w",
			key.Name, err)
	}
	typ, of := reflect.TypeFor[T](), ctx.ID().Type()
	if key.Across {
		of = ""
	}
	return of + "\x00" + key.Name + "\x00" + typ.PkgPath() + "\x00" + typ.String() +
		"\x00" + string(args), nil
}

// unexported returns the first field of a type, or of a type within it, that JSON omits although no
// tag excludes it; "" if there is none.
func unexported(t reflect.Type, above []reflect.Type) string {
	if t == nil || slices.Contains(above, t) || t.Implements(reflect.TypeFor[json.Marshaler]()) ||
		t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return ""
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return unexported(t.Elem(), append(above, t))
	case reflect.Struct:
		for f := range t.Fields() {
			switch {
			case f.Tag.Get("json") == "-":
			case !f.IsExported() && !f.Anonymous:
				return f.Name
			default:
				if hidden := unexported(f.Type, append(above, t)); hidden != "" {
					return f.Name + "." + hidden
				}
			}
		}
	}
	return ""
}

// get returns an entry that is lent to the caller.
func (c *Cache) get(
	ctx context.Context, key string, keep Keep, version int, build func() (any, func(), error),
) (*entry, error) {
	for {
		c.mu.Lock()
		c.expire(version)
		e := c.entries[key]
		if e != nil && e.keep.Version && e.version != version {
			e = nil // of a newer version: this late run builds its own value, which is not cached
		}
		if e == nil {
			e = c.begin(key, keep, version)
			c.mu.Unlock()
			return e, c.finish(key, e, build)
		}
		e.lent++
		c.mu.Unlock()
		c.drain()
		select {
		case <-e.done:
		case <-ctx.Done():
			c.giveBack(e)
			return nil, ctx.Err()
		}
		if e.err == nil {
			c.touch(e)
			return e, nil
		}
		c.giveBack(e)
		if !e.canceled {
			return nil, e.err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// begin adds an entry whose value is under construction.
func (c *Cache) begin(key string, keep Keep, version int) *entry {
	if keep.For <= 0 && keep.Idle <= 0 && !keep.Version {
		keep.Idle = idleDefault
	}
	now := c.now()
	c.used++
	e := &entry{keep: keep, version: version, done: make(chan struct{}), lent: 1, madeAt: now,
		usedAt: now, use: c.used}
	switch {
	case c.closed, c.entries[key] != nil:
		e.gone = true
	default:
		c.entries[key] = e
		c.bound()
	}
	return e
}

// finish builds the value. If build fails or panics, the entry is removed.
func (c *Cache) finish(key string, e *entry, build func() (any, func(), error)) error {
	made := false
	defer func() {
		c.mu.Lock()
		if !made {
			e.err, e.canceled = Errorf(Retryable, "the maker of a cached value panicked"), true
		}
		if e.err != nil && c.entries[key] == e {
			delete(c.entries, key)
			e.gone = true
		}
		c.made++
		e.order, e.madeAt = c.made, c.now()
		e.usedAt = e.madeAt
		close(e.done)
		if e.err != nil {
			e.lent--
		}
		c.mu.Unlock()
		c.drain()
	}()
	e.value, e.close, e.err = build()
	e.canceled = e.err != nil && isCanceled(e.err)
	made = true
	return e.err
}

func (c *Cache) touch(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used++
	e.use, e.usedAt = c.used, c.now()
}

// giveBack ends a loan.
func (c *Cache) giveBack(e *entry) {
	c.mu.Lock()
	e.lent--
	if !e.gone && e.err == nil {
		e.usedAt = c.now()
	}
	c.end(e)
	c.mu.Unlock()
	c.drain()
}

// end queues an entry for closing if it was removed and is not lent.
func (c *Cache) end(e *entry) {
	if e.gone && e.lent == 0 && e.close != nil {
		c.ended = append(c.ended, e)
		slices.SortStableFunc(c.ended, func(a, b *entry) int { return int(b.order) - int(a.order) })
	}
}

// expire removes expired entries.
func (c *Cache) expire(version int) {
	c.version = max(c.version, version)
	now := c.now()
	for key, e := range c.entries {
		if e.over(now, c.version) {
			c.take(key, e)
		}
	}
}

// over reports whether a value has expired. A value under construction has not.
func (e *entry) over(now time.Time, version int) bool {
	select {
	case <-e.done:
	default:
		return false
	}
	return e.keep.For > 0 && now.Sub(e.madeAt) >= e.keep.For ||
		e.keep.Idle > 0 && e.lent == 0 && now.Sub(e.usedAt) >= e.keep.Idle ||
		e.keep.Version && e.version < version
}

func (c *Cache) take(key string, e *entry) {
	delete(c.entries, key)
	e.gone = true
	c.end(e)
}

// bound removes the least recently used entries while there are too many.
func (c *Cache) bound() {
	for len(c.entries) > c.limit {
		oldest := ""
		for key, e := range c.entries {
			if e.lent == 0 && (oldest == "" || e.use < c.entries[oldest].use) {
				oldest = key
			}
		}
		if oldest == "" {
			return // all are lent, and are removed later
		}
		c.take(oldest, c.entries[oldest])
	}
}

// drain closes expired values, one at a time, unless another goroutine is doing so.
func (c *Cache) drain() {
	c.mu.Lock()
	if c.closing {
		c.mu.Unlock()
		return
	}
	c.closing = true
	for len(c.ended) > 0 {
		e := c.ended[0]
		c.ended = c.ended[1:]
		c.mu.Unlock()
		shut(e)
		c.mu.Lock()
	}
	c.closing = false
	c.idle.Broadcast()
	c.mu.Unlock()
}

// shut closes a value. A panic of its close function is ignored: it is unrelated to the current
// run.
func shut(e *entry) {
	defer func() { _ = recover() }()
	e.close()
}

func isCanceled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		fault.Is(err, fault.Canceled)
}

// Expire closes expired values; each use of the cache does so, too.
func (c *Cache) Expire() {
	c.mu.Lock()
	c.expire(0)
	c.mu.Unlock()
	c.drain()
}

// Close closes all values and waits until they are closed; a lent value is closed when it is
// returned. The cache keeps no values from then on. A close function must not call Close.
func (c *Cache) Close() {
	c.mu.Lock()
	c.closed = true
	for key, e := range c.entries {
		c.take(key, e)
	}
	c.mu.Unlock()
	c.drain()
	c.mu.Lock()
	for c.closing {
		c.idle.Wait()
	}
	c.mu.Unlock()
}

// Len returns the number of cached values.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}
