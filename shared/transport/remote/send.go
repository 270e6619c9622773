package remote

import (
	"context"
	"errors"
	"io"
	"slices"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// maxStreams is how many files one machine may have open.
const maxStreams = 4096

// sender sends one file, a piece for each request.
type sender struct {
	asked chan struct{} // one for each requested piece
	stop  context.CancelFunc
}

// open begins to send a file. It sends only files to which a call gives access.
func (c *Conn) open(m open) error {
	p, ok := c.pending(m.Call, m.Item)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams[m.Stream] != nil || len(c.streams) >= maxStreams {
		return fault.New(fault.Damaged, "read frame", "the machine asks for too much").
			WithHint("%s", hintHostile)
	}
	ctx, stop := context.WithCancel(c.ctx)
	s := &sender{asked: make(chan struct{}, window), stop: stop}
	for range window {
		s.asked <- struct{}{}
	}
	c.streams[m.Stream] = s
	var run *provider.Context
	named := false
	if ok {
		run, named = p.ctxs[m.Item], p.items[m.Item].names(m.Hash)
	}
	go func() {
		defer stop()
		var err error
		if ok && !named {
			err = fault.New(fault.Denied, "open file", "%.100q is not one of the call", m.Hash)
		} else {
			err = c.sendFile(ctx, run, m, s)
		}
		c.mu.Lock()
		delete(c.streams, m.Stream)
		c.mu.Unlock()
		last := data{Stream: m.Stream, End: err == nil, Err: failureOf(err)}
		_ = c.w.send(frame{kindData, last})
	}()
	return nil
}

// names reports whether the description of an item's resource has a file. A machine receives no
// other stored files. Data from the machine itself (Observed, Changes) does not count.
func (it *item) names(hash string) bool { return hasFile(it.Attributes, hash) }

// hasFile reports whether a file is in a value.
func hasFile(v any, hash string) bool {
	switch v := v.(type) {
	case resource.File:
		return v.Hash == hash
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return hasFile(e, hash) })
	case map[string]any:
		for _, e := range v {
			if hasFile(e, hash) {
				return true
			}
		}
	}
	return false
}

// sendFile sends a file, except the frame that ends it.
func (c *Conn) sendFile(ctx context.Context, run *provider.Context, m open, s *sender) error {
	if run == nil {
		return fault.New(fault.Canceled, "open file", "the call was given up")
	}
	r, err := run.Files().Open(ctx, m.Hash)
	if err != nil {
		return err
	}
	defer r.Close()
	buf := make([]byte, pieceSize)
	for {
		select {
		case <-s.asked:
		case <-ctx.Done():
			return ctx.Err()
		}
		n, err := io.ReadFull(r, buf)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return err
		}
		if ended {
			// The last piece uses this request. The end needs room at the reader, too: it uses this
			// request if the last piece is empty, and otherwise waits for the next one.
			if n == 0 {
				return nil
			}
		}
		if err := c.w.send(frame{kindData, data{Stream: m.Stream, Bytes: buf[:n]}}); err != nil {
			return err
		}
		if ended {
			select {
			case <-s.asked:
			case <-ctx.Done():
				return ctx.Err()
			}
			return nil
		}
	}
}

// more permits the next piece, or ends the sending.
func (c *Conn) more(m more) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.streams[m.Stream]
	if s == nil {
		return nil // it is already complete
	}
	if m.Close {
		s.stop()
		return nil
	}
	select {
	case s.asked <- struct{}{}:
		return nil
	default:
		return fault.New(fault.Damaged, "read frame",
			"the machine asks for more of a file than there is room for").
			WithHint("%s", hintHostile)
	}
}
