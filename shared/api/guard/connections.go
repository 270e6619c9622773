package guard

import (
	"net"
	"net/http"
	"sync"
	"syscall"
)

// maxConnections is how many clients a server has at the same time.
const maxConnections = 512

// Bound keeps a server within maxConnections, and within half of the files that this process may
// open. A new connection beyond the limit closes the connection that has been idle longest. If all
// of them have requests, the new connection is closed.
func Bound(s *http.Server) {
	limit := maxConnections
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		limit = int(min(uint64(limit), max(files.Cur/2, 8))) // at most 512
	}
	bound(s, limit)
}

func bound(s *http.Server, limit int) {
	c := &connections{limit: limit, waiting: map[net.Conn]uint64{}}
	s.ConnState = c.changed
}

// connections are the connections of a server.
type connections struct {
	limit   int
	mu      sync.Mutex
	busy    int
	turn    uint64
	waiting map[net.Conn]uint64 // the turn since which a connection has been idle
}

// changed is called by the server for each change of a connection.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, waited := c.waiting[conn]
	switch state {
	case http.StateNew, http.StateIdle:
		if state == http.StateIdle && !waited {
			c.busy--
		}
		c.turn++
		c.waiting[conn] = c.turn
		if len(c.waiting)+c.busy > c.limit {
			c.drop()
		}
	case http.StateActive:
		if waited {
			delete(c.waiting, conn)
			c.busy++
		}
	case http.StateClosed, http.StateHijacked:
		if !waited {
			c.busy--
		}
		delete(c.waiting, conn)
	}
}

// drop closes the connection that has been idle longest. The server removes it from the list when
// it notices.
func (c *connections) drop() {
	var longest net.Conn
	for conn, turn := range c.waiting {
		if longest == nil || turn < c.waiting[longest] {
			longest = conn
		}
	}
	_ = longest.Close()
}
