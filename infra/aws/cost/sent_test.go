//go:build servers

package cost_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
)

// sent knows the queues that may have messages: those of which something was asked since the poller
// found them empty. Asking all others again and again took longer than what is counted.
type sent struct {
	next   http.RoundTripper
	mu     sync.Mutex
	queues map[string]bool
	some   chan struct{} // has one when there is a queue of which the poller may not know
}

func newSent(next http.RoundTripper) *sent {
	return &sent{next: next, queues: map[string]bool{}, some: make(chan struct{}, 1)}
}

// RoundTrip implements http.RoundTripper.
func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.") {
		return s.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var asked struct {
		URL string `json:"QueueUrl"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	r = r.WithContext(r.Context()) // a copy
	r.Body = readCloser{bytes.NewReader(body)}
	res, err := s.next.RoundTrip(r)
	s.note(asked.URL) // now its messages are there, even if the answer was lost
	return res, err
}

// note says that a queue may have messages.
func (s *sent) note(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues[path.Base(url)] = true
	select {
	case s.some <- struct{}{}:
	default:
	}
}

// to reports whether a queue may have messages, and takes note that it is asked for them.
func (s *sent) to(url string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.queues[path.Base(url)]
	delete(s.queues, path.Base(url))
	return was
}
