package patience

import (
	"context"
	"net"
	"sync"
	"time"
)

// Dial returns a dialer whose limit is one of patience.
func Dial(
	dial func(ctx context.Context, network, address string) (net.Conn, error), limit time.Duration,
) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := WithTimeout(ctx, limit)
		defer cancel()
		return dial(ctx, network, address)
	}
}

// Listener returns a listener whose connections measure deadlines of reads with patience: what a
// client has sent while this process was suspended is read. A deadline counts from its call.
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

// conn is a connection with a patient deadline of reads.
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
	_ = c.SetReadDeadline(time.Time{}) // it ends the limit
	return c.Conn.Close()
}
