package patience

import (
	"context"
	"net"
	"sync"
	"time"
)

// Dial returns a dial function whose limit is measured by package patience.
func Dial(
	dial func(ctx context.Context, network, address string) (net.Conn, error), limit time.Duration,
) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := WithTimeout(ctx, limit)
		defer cancel()
		return dial(ctx, network, address)
	}
}

// Listener returns a listener whose connections measure read deadlines by package patience. Data
// that a client sent while this process was suspended is still read. A deadline counts from the
// call that sets it.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// conn is a connection whose read deadline is measured by package patience.
type conn struct {
	net.Conn
	mu    sync.Mutex
	limit *Wait // nil: none
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limit != nil {
		c.limit.Stop()
		c.limit = nil
	}
	left := time.Until(t)
	if t.IsZero() || left <= 0 {
		return c.Conn.SetReadDeadline(t)
	}
	err := c.Conn.SetReadDeadline(time.Time{})
	var limit *Wait
	limit = AfterFunc(left, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.limit == limit {
			_ = c.Conn.SetReadDeadline(time.Unix(1, 0))
		}
	})
	c.limit = limit
	return err
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.Conn.SetWriteDeadline(t); err != nil {
		return err
	}
	return c.SetReadDeadline(t)
}

// Close implements net.Conn.
func (c *conn) Close() error {
	_ = c.SetReadDeadline(time.Time{}) // stops the timer
	return c.Conn.Close()
}
