package remote

import (
	"context"
	"io"
	"time"

	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// servedHost is provider.Host on the machine: a handler's output goes to the engine, before its
// answer does. If a frame cannot be sent, the connection and the call are lost as well.
type servedHost struct {
	c     *served
	call  uint64
	item  int
	cache *provider.Cache
}

// Log implements provider.Host.
func (h *servedHost) Log(l provider.Line) {
	m := logged{Call: h.call, Item: h.item, Level: l.Level, Msg: l.Msg}
	if len(l.Kwargs) > 0 {
		m.Kwargs, _ = provider.Plain(l.Kwargs).(map[string]any)
	}
	h.enqueue(kindLog, m)
}

// enqueue queues a frame; the answer or the next beat flushes it.
func (h *servedHost) enqueue(k kind, body any) {
	if enc, err := encode(frame{k, body}); err == nil {
		_ = h.c.w.write(enc, false)
	}
}

// Now implements provider.Host. The engine stamps log lines with its own time.
func (*servedHost) Now() time.Time { return time.Now() }

// Changed implements provider.Host.
func (h *servedHost) Changed(attribute string, d diff.Diff) {
	d.Current, d.Desired = provider.Plain(d.Current), provider.Plain(d.Desired)
	h.enqueue(kindChanged, named{Call: h.call, Item: h.item, Name: attribute, Diff: &d})
}

// Fact implements provider.Host.
func (h *servedHost) Fact(name string, value resource.Data) {
	h.enqueue(kindFact, named{Call: h.call, Item: h.item, Name: name, Text: value.Text(),
		JSON: !value.IsText()})
}

// Provider implements provider.Host.
func (h *servedHost) Provider(name, why string) {
	h.enqueue(kindProvider, named{Call: h.call, Item: h.item, Name: name, Text: why})
}

// Override implements provider.Host.
func (h *servedHost) Override(change diff.Change) {
	h.enqueue(kindOverride, named{Call: h.call, Item: h.item, Name: string(change)})
}

// Keep implements provider.Host: it returns when the engine has stored the state.
func (h *servedHost) Keep(
	ctx context.Context, state []byte, outputs map[string]any,
) error {
	if len(state) > provider.MaxKept {
		return provider.Errorf(provider.Terminal,
			"the handler keeps %d bytes, and %d is the maximum; that is a fault in it", len(state),
			provider.MaxKept)
	}
	c := h.c
	s := &stream{c: c, ctx: ctx, in: make(chan data, 1)}
	c.mu.Lock()
	c.last++
	s.id = c.last
	c.streams[s.id] = s
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.streams, s.id)
	}()
	if err := c.w.send(frame{kindKeep,
		keep{Call: h.call, Item: h.item, Stream: s.id, State: state, Outputs: outputs}}); err != nil {
		return fault.Wrap(fault.Unavailable, "keep state", err)
	}
	select {
	case d := <-s.in:
		return d.Err.err()
	case <-ctx.Done():
		return fault.Wrap(fault.Unavailable, "keep state", context.Cause(ctx))
	case <-c.ctx.Done():
		return fault.Wrap(fault.Unavailable, "keep state", context.Cause(c.ctx))
	}
}

// Cache implements provider.Host: the agent's cache on this machine, which lives as long as the
// connection.
func (h *servedHost) Cache() *provider.Cache { return h.cache }

// Secret implements provider.Host.
func (h *servedHost) Secret(value string) {
	h.enqueue(kindSecret, named{Call: h.call, Item: h.item, Text: value})
}

// Transport implements provider.Host.
func (h *servedHost) Transport() any { return h.c.transport }

// Files implements provider.Host.
func (h *servedHost) Files() provider.Files { return servedFiles{h} }

type servedFiles struct{ h *servedHost }

// Open implements provider.Files: the engine sends the bytes while they are read. The first read
// shows whether the file exists.
func (f servedFiles) Open(ctx context.Context, hash string) (io.ReadCloser, error) {
	c := f.h.c
	s := &stream{c: c, ctx: ctx, in: make(chan data, window)}
	c.mu.Lock()
	c.last++
	s.id = c.last
	c.streams[s.id] = s
	c.mu.Unlock()
	if err := c.w.send(frame{kindOpen,
		open{Call: f.h.call, Item: f.h.item, Stream: s.id, Hash: hash}}); err != nil {
		_ = s.Close()
		return nil, fault.Wrap(fault.Unavailable, "open file", err)
	}
	// The first piece shows whether the file exists.
	if err := s.fill(); err != nil && err != io.EOF { // of fill itself
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// stream is a file that is received in pieces, of which at most window are in transit.
type stream struct {
	c    *served
	ctx  context.Context
	id   uint64
	in   chan data
	left []byte
	err  error
	over bool // the engine sends no more
}

// put adds a received piece. The engine sends no more pieces than were requested.
func (s *stream) put(d data) error {
	select {
	case s.in <- d:
		return nil
	default:
		return fault.New(fault.Damaged, "read frame", "more of a file than was asked for")
	}
}

// fill waits for the next piece.
func (s *stream) fill() error {
	for len(s.left) == 0 && s.err == nil {
		select {
		case d := <-s.in:
			s.left = d.Bytes
			switch {
			case d.Err != nil:
				s.err, s.over = d.Err.err(), true
			case d.End:
				s.err, s.over = io.EOF, true
			default:
				if err := s.c.w.send(frame{kindMore, more{Stream: s.id}}); err != nil {
					s.err = fault.Wrap(fault.Unavailable, "read file", err)
				}
			}
		case <-s.ctx.Done():
			s.err = fault.Wrap(fault.Unavailable, "read file", context.Cause(s.ctx))
		case <-s.c.ctx.Done():
			s.err = fault.Wrap(fault.Unavailable, "read file", context.Cause(s.c.ctx))
		}
	}
	if len(s.left) > 0 {
		return nil
	}
	return s.err
}

// Read implements io.Reader.
func (s *stream) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if err := s.fill(); err != nil {
		return 0, err
	}
	n := copy(b, s.left)
	s.left = s.left[n:]
	return n, nil
}

// Close implements io.Closer. Close cancels the transfer of a file that was not read to its end:
// otherwise the file would stay open at the other end.
func (s *stream) Close() error {
	s.c.mu.Lock()
	_, open := s.c.streams[s.id]
	delete(s.c.streams, s.id)
	s.c.mu.Unlock()
	if open && !s.over {
		_ = s.c.w.send(frame{kindMore, more{Stream: s.id, Close: true}})
	}
	return nil
}

// closeStreams ends the files whose remaining bytes will not be sent.
func (c *served) closeStreams() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.streams)
}
