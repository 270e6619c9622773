package console

import "sync"

// streams counts open streams, by session.
type streams struct {
	mu  sync.Mutex
	all int
	by  map[string]int
}

// take counts a stream; false: there are too many.
func (s *streams) take(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= maxStreams || s.by[session] >= maxSessionStreams {
		return false
	}
	if s.by == nil {
		s.by = map[string]int{}
	}
	s.all++
	s.by[session]++
	return true
}

// give ends a stream that was counted.
func (s *streams) give(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.by[session]--; s.by[session] == 0 {
		delete(s.by, session)
	}
}
