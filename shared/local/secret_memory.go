package local

import (
	"context"
	"sync"
	"time"

	"southbound/shared/resource"
)

const (
	// valueAge is how long a value is used, and versionAge how long an export takes it for the
	// newest. So one export reads a secret once, and the next one sees a rotation.
	valueAge   = 5 * time.Minute
	versionAge = 5 * time.Second
	// maxRemembered bounds the number of values.
	maxRemembered = 10_000
)

// memory holds values of slow sources, for minutes and in memory only. Concurrent calls for one
// reference read it once.
type memory struct {
	mu      sync.Mutex
	entries map[resource.Secret]*remembered
}

// remembered is a value. Who has sent to the channel may use it.
type remembered struct {
	turn  chan struct{}
	found found
	at    time.Time // zero: there is no value
}

// find returns the value of a key, which read returns if there is none, or if it is older than age.
// Unless the value has the wanted version, it may only be versionAge old.
func (m *memory) find(
	ctx context.Context, key resource.Secret, version string, age time.Duration,
	read func() (found, error),
) (found, error) {
	e := m.entry(key)
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return found{}, ctx.Err()
	}
	defer func() { <-e.turn }()
	if version == "" || version != e.found.version {
		age = min(age, versionAge)
	}
	if !e.at.IsZero() && time.Since(e.at) < age {
		return e.found, nil
	}
	got, err := read()
	if err != nil {
		return found{}, err
	}
	e.found, e.at = got, time.Now()
	return got, nil
}

// entry returns the entry of a key.
func (m *memory) entry(key resource.Secret) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil || len(m.entries) >= maxRemembered {
		m.entries = map[resource.Secret]*remembered{}
	}
	e := m.entries[key]
	if e == nil {
		e = &remembered{turn: make(chan struct{}, 1)}
		m.entries[key] = e
	}
	return e
}
