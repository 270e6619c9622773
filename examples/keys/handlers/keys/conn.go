// Package keys manages the entries of a store of keys and values, over a transport of its own:
// lines of text over TCP.
package keys

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// store declares the transport keys. Every type that is reached over it names the same one.
var store = &provider.Transport{
	Name: "keys", Description: "A store of keys and values.",
	Options: []schema.Attribute{
		{Name: "address", Type: `Pattern[/\A[^:\s]+:\d+\z/]`,
			Description: "the host and the port, such as db:4180"},
		{Name: "password", Type: "Sensitive[String[1]]", Description: "the password of the store"},
		{Name: "timeout", Type: "Integer[1, 60]", Default: int64(5),
			Description: "seconds to wait for an answer"},
	},
	Connect: connect,
	Limit:   time.Minute,
}

// session is what handlers ask. Questions are asked one after the other, over a connection that is
// opened again when it was lost.
type session struct {
	address, password string
	timeout           time.Duration
	turn              chan struct{} // holds one while a request runs
	conn              net.Conn      // nil: the next question opens it
	in                *bufio.Reader
	closed            bool
}

// connect opens a session. Options are as declared, with what references stand for.
func connect(ctx context.Context, _ string, options map[string]any) (any, error) {
	s := &session{turn: make(chan struct{}, 1)}
	s.address, _ = options["address"].(string)
	s.password, _ = options["password"].(string)
	seconds, _ := options["timeout"].(int64)
	s.timeout = time.Duration(seconds) * time.Second
	if err := s.Verify(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Verify implements provider.Verifier.
func (s *session) Verify(ctx context.Context) error {
	_, err := s.ask(ctx, "PING")
	return err
}

// Close ends the session when a run is over.
func (s *session) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.closed = true
	s.drop()
	return nil
}

// ask sends a line and returns the one that is answered. What is quoted in it cannot end it.
func (s *session) ask(ctx context.Context, format string, args ...any) (string, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if s.closed {
		return "", fault.New(fault.Unavailable, "ask the store", "the session has ended")
	}
	if s.conn == nil {
		if err := s.open(ctx); err != nil {
			return "", err
		}
	}
	return s.exchange(ctx, format, args...)
}

// open connects and logs in.
func (s *session) open(ctx context.Context) error {
	c, err := (&net.Dialer{Timeout: s.timeout}).DialContext(ctx, "tcp", s.address)
	if err != nil {
		return fault.New(fault.Unavailable, "connect", "no server answers at %s", s.address)
	}
	s.conn, s.in = c, bufio.NewReader(c)
	answer, err := s.exchange(ctx, "AUTH %q", s.password)
	if err == nil && answer != "OK" {
		s.drop()
		err = fault.New(fault.Denied, "connect", "the store refuses the password")
	}
	return err
}

// exchange is a question and its answer. A connection on which one failed, or was given up, is
// dropped: the answer may still come, and would be taken for that to the next question.
func (s *session) exchange(ctx context.Context, format string, args ...any) (string, error) {
	c := s.conn
	_ = c.SetDeadline(time.Now().Add(s.timeout))
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	_, err := fmt.Fprintf(c, format+"\n", args...)
	line := ""
	if err == nil {
		line, err = s.in.ReadString('\n')
	}
	if !stop() {
		err = errors.Join(ctx.Err(), err)
	}
	if err == nil {
		return strings.TrimSuffix(line, "\n"), nil
	}
	s.drop()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return "", fault.New(fault.Unavailable, "ask the store", "%s does not answer", s.address)
}

func (s *session) drop() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}
