package dynamo

import (
	"context"
	"sync"
	"sync/atomic"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/fault"
)

// tablets reads tablets, and caches them. It never finishes commits of other processes: see reader.
type tablets struct {
	*storage
	cacheBytes int

	mu     sync.Mutex
	cached map[tabletKey]*tablet // guarded by mu
	tick   int64                 // guarded by mu; grows with each use of a tablet, see tablet.touch
	heads  map[string]*head      // guarded by mu; by environment: the cached heads
}

// readRecord reads the record of a tablet. If the record does not exist, the result has seq 0.
func (s *tablets) readRecord(ctx context.Context, env, key string) (*record, error) {
	got, err := s.get(ctx, recordPart(env), key)
	if err != nil {
		return nil, err
	}
	return s.recordOf(env, key, got)
}

func (s *tablets) recordOf(env, key string, i item) (*record, error) {
	rec := &record{key: key}
	if i != nil {
		var err error
		seq, body := attributevalue.NumberOf(i, attrSeq), attributevalue.BytesOf(i, attrBody)
		if rec, err = decodeRecord(key, seq, body, s.pack); err != nil {
			return nil, err
		}
	}
	s.saw(env, rec)
	return rec, nil
}

// withImage calls f with the image of a tablet as of rec or a later change; image.seq is the number
// of that change. The image must not be used after f returns.
func (s *tablets) withImage(
	ctx context.Context,
	env string,
	rec *record,
	f func(m *image) error,
) error {
	b := s.tablet(tabletKey{env, rec.key})
	b.mu.Lock()
	defer b.mu.Unlock()
	const tries = 5
	for try := 1; ; try++ {
		err := s.load(ctx, env, b, rec)
		if err == nil {
			break
		}
		b.img = nil
		b.size.Store(0)
		if !fault.Is(err, fault.NotFound) || try == tries {
			if fault.Is(err, fault.NotFound) {
				return damaged("a piece of %s is missing: %v", rec.key, err)
			}
			return err
		}
		// The pieces that the record names were merged after it was read.
		if rec, err = s.readRecord(ctx, env, rec.key); err != nil {
			return err
		}
	}
	return f(b.img)
}

// load brings the image of b to rec. If a piece no longer exists, load fails with NotFound.
func (s *tablets) load(ctx context.Context, env string, b *tablet, rec *record) error {
	lane, _ := laneOf(rec.key)
	if b.img == nil {
		b.img = newImage(lane)
		b.size.Store(0)
	}
	m := b.img
	if m.seq >= rec.seq {
		return nil
	}
	pieces, err := s.pieces(ctx, env, rec, m.seq)
	if err != nil {
		return err
	}
	for _, p := range pieces {
		raw, err := s.pack.unpack(p.data)
		if err != nil {
			return err
		}
		d, err := m.read(p.seq, raw)
		if err != nil {
			return err
		}
		if d.whole {
			b.size.Store(0)
		}
		b.size.Add(3 * int64(len(raw))) // decoded rows take about three times the space
	}
	m.seq, m.wave = rec.seq, rec.wave // some changes have no delta
	s.shrink()
	return nil
}

// took updates the cache with a write of this process.
func (s *tablets) took(env string, e *edit) {
	s.saw(env, e.next)
	b := s.tablet(tabletKey{env, e.next.key})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.img == nil || b.img.seq != e.rec.seq {
		return
	}
	if err := b.img.apply(e.next.seq, &e.delta); err != nil {
		b.img = nil // the next use reads it again
		return
	}
	b.img.seq, b.img.wave = e.next.seq, e.next.wave
	b.size.Add(3 * int64(e.size))
}

// tabletKey names a tablet: the environment and the sort key of its record.
type tabletKey struct{ env, key string }

// tablet is the cache entry of a tablet. It may be older than the table, and is never newer.
type tablet struct {
	mu    sync.Locker // held while the image is loaded
	rec   *record     // guarded by tablets.mu; nil: not cached
	img   *image      // guarded by mu
	size  atomic.Int64
	touch int64
}

// known returns the cached record of a tablet, or nil.
func (s *tablets) known(key tabletKey) *record {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.cached[key]; b != nil {
		return b.rec
	}
	return nil
}

// saw caches a record, unless a later record is cached.
func (s *tablets) saw(env string, r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.tabletLocked(tabletKey{env, r.key})
	if b.rec == nil || b.rec.seq <= r.seq {
		b.rec = r
	}
}

// sawHead caches a head, unless a later head is cached.
func (s *tablets) sawHead(h *head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.heads[h.name]; known == nil || known.seq <= h.seq {
		s.heads[h.name] = h.clone()
	}
}

// headKnown returns a copy of the cached head of an environment, or nil. The caller may change the
// copy.
func (s *tablets) headKnown(env string) *head {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.heads[env]; h != nil {
		return h.clone()
	}
	return nil
}

// forget removes the cached record of a tablet, so that the next use reads it.
func (s *tablets) forget(key tabletKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.cached[key]; b != nil {
		b.rec = nil
	}
}

func (s *tablets) tablet(key tabletKey) *tablet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tabletLocked(key)
}

func (s *tablets) tabletLocked(key tabletKey) *tablet {
	b := s.cached[key]
	if b == nil {
		b = &tablet{mu: s.host.Lock()}
		s.cached[key] = b
	}
	s.tick++
	b.touch = s.tick
	return b
}

// shrink evicts the least recently used images until the rest fits into the cache. A caller that is
// using an image keeps it.
func (s *tablets) shrink() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		sum, oldest := int64(0), tabletKey{}
		var first *tablet
		for key, b := range s.cached {
			sum += b.size.Load()
			if b.size.Load() > 0 && (first == nil || b.touch < first.touch) {
				first, oldest = b, key
			}
		}
		if sum <= int64(s.cacheBytes) || first == nil || first.touch == s.tick {
			return
		}
		delete(s.cached, oldest)
	}
}
