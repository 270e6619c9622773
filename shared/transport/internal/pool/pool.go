// Package pool keeps values that agents with the same options share, such as connections, across
// the runs of their lanes.
package pool

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// KeyOf distinguishes options of agents without keeping their secrets. Invalid: the options have a
// value that no document can hold.
func KeyOf(options map[string]any) (string, error) {
	if options == nil {
		options = map[string]any{}
	}
	b, err := resource.CanonicalValue(options)
	if err != nil {
		return "", fault.Wrap(fault.Invalid, "connect", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// Pool holds values by key. The zero value is ready to use. A Pool is safe for concurrent use.
type Pool[K comparable, V interface{ Close() }] struct {
	// Now returns the current time; nil: time.Now.
	Now func() time.Time
	// Idle is how long an unused value is kept; 0: 15 minutes, negative: not at all.
	Idle time.Duration

	mu   sync.Mutex
	open map[K]*entry[V]
}

type entry[V any] struct {
	value V
	users int
	left  time.Time // when the last user returned it
}

const defaultIdle = 15 * time.Minute

// Take returns the value of a key. If there is none, Take calls made, one call at a time. The
// caller calls give once, when it no longer needs the value.
func (p *Pool[K, V]) Take(key K, made func() (V, error)) (value V, give func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget()
	e := p.open[key]
	if e == nil {
		if value, err = made(); err != nil {
			return value, nil, err
		}
		e = &entry[V]{value: value}
		if p.open == nil {
			p.open = map[K]*entry[V]{}
		}
		p.open[key] = e
	}
	e.users++
	return e.value, func() { p.give(e) }, nil
}

func (p *Pool[K, V]) give(e *entry[V]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.users--
	e.left = p.now()
	p.forget()
}

// forget closes values that have been idle for long.
func (p *Pool[K, V]) forget() {
	idle := p.Idle
	if idle == 0 {
		idle = defaultIdle
	}
	for key, e := range p.open {
		if e.users == 0 && p.now().Sub(e.left) >= idle {
			delete(p.open, key)
			e.value.Close()
		}
	}
}

func (p *Pool[K, V]) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}

// Close closes all values, also those in use.
func (p *Pool[K, V]) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, e := range p.open {
		delete(p.open, key)
		e.value.Close()
	}
}
