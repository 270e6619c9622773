package remote

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/provider"
)

// Conn is the engine's end: it calls the handlers of a program on a machine. It is safe for
// concurrent use.
type Conn struct {
	// Version is the version of the program on the machine, Facts its facts about the machine.
	Version string
	Facts   map[string]string
	// Running is the program on the machine, which the next connection ends.
	Running Running

	types map[string]string
	w     *frameWriter
	close func()

	ctx  context.Context // done when the connection has ended; its cause is the reason
	stop context.CancelCauseFunc

	mu      sync.Mutex
	calls   map[uint64]*pending
	streams map[uint64]*sender
	keeping int // states that are being stored
	last    uint64
}

// maxFound bounds how many things one call may list.
const maxFound = 1 << 20

// pending is a call without its answer.
type pending struct {
	ctxs    []*provider.Context // of the call's items
	items   []item
	answers []*answer
	found   []map[string]any
	err     error
	ended   chan struct{}
	agent   string // its name in errors
	held    int64  // bytes of the machine's frames for the call
	secrets int64  // bytes of secrets among these
}

// newConn performs the handshake over in and out, which follows the Greeting. beat is how often
// each end sends a sign of life, 0: 15 s. before is the program of the previous connection, if any.
// hangUp ends the program; it is called once, when the connection ends or cannot be made.
func newConn(ctx context.Context, in io.Reader, out io.Writer, beat time.Duration, before Running,
	hangUp func()) (*Conn, error) {
	if beat == 0 {
		beat = defaultBeat
	}
	c := &Conn{w: newFrameWriter(out), calls: map[uint64]*pending{}, streams: map[uint64]*sender{}}
	c.close = sync.OnceFunc(hangUp)
	c.ctx, c.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	pulse := NewPulse(in, beat)
	r := newFrameReader(pulse)
	unwatch := context.AfterFunc(ctx, c.close) // a canceled caller does not wait for a hanging peer
	defer unwatch()
	err := c.greet(r)
	if err == nil {
		err = c.w.send(frame{kindHello, hello{Protocol: protocol, Beat: beat, Running: before}})
	}
	if err != nil {
		c.close()
		c.stop(err)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fault.Wrap(orUnavailable(err), "start the program on the machine", err)
	}
	go func() { c.fail(c.read(r)) }()
	go beats(c.ctx, c.w, pulse)
	go func() {
		<-pulse.Silent(c.ctx)
		c.fail(fault.New(fault.Unavailable, "", "nothing was received from it for %s", 3*beat))
	}()
	return c, nil
}

// orUnavailable returns the kind of an error of a connection, Unavailable by default.
func orUnavailable(err error) fault.Kind {
	if k := fault.KindOf(err); k != fault.Unknown {
		return k
	}
	return fault.Unavailable
}

// greet reads the first frame.
func (c *Conn) greet(r *frameReader) error {
	k, body, err := r.next()
	if errors.Is(err, io.EOF) {
		return fault.New(fault.Unavailable, "", "it ended immediately")
	}
	if err != nil {
		return err
	}
	var h hello
	if k != kindHello {
		return fault.New(fault.Damaged, "", "it does not begin as it should")
	}
	if _, err := weighed(k, body); err != nil {
		return err
	}
	if err := unmarshal(body, &h); err != nil {
		return err
	}
	if h.Protocol != protocol {
		return provider.Errorf(provider.Terminal, "%w",
			fault.New(fault.Unsupported, "",
				"the program there speaks version %d of the protocol, this program %d", h.Protocol,
				protocol).
				WithHint("install the same version of the program there, or leave `program` out: "+
					"then it is uploaded"))
	}
	c.Version, c.Facts, c.types, c.Running = h.Version, h.Facts, h.Types, h.Running
	return nil
}

// Close ends the connection and thereby the program on the machine. Calls that wait for an answer
// fail.
func (c *Conn) Close() error {
	c.fail(fault.New(fault.Unavailable, "", "it was closed"))
	return nil
}

// Context is done when the connection has ended; its cause is the reason.
func (c *Conn) Context() context.Context { return c.ctx }

// fail ends the connection for a reason; the first reason is kept.
func (c *Conn) fail(err error) {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fault.New(fault.Unavailable, "", "it was cut")
	}
	c.stop(err)
	c.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, p := range c.calls {
		p.err = c.lost(p.agent)
		close(p.ended)
		delete(c.calls, id)
	}
}

// lost is the error of a call when the connection has ended.
func (c *Conn) lost(agent string) error {
	return provider.Errorf(provider.Retryable, "%w", &fault.Error{Kind: fault.Unavailable,
		Op:  "the connection with the machine" + agent + " is lost",
		Err: &lostError{context.Cause(c.ctx)}})
}

// lostError marks calls that may or may not have happened.
type lostError struct{ error }

// Unwrap returns the cause.
func (e *lostError) Unwrap() error { return e.error }

// wasLost reports whether a call failed because the connection did.
func wasLost(err error) bool {
	var l *lostError
	return errors.As(err, &l)
}

// do calls a method for items and waits for one answer for each, or until ctx is done.
func (c *Conn) do(
	ctx context.Context, m method, typ string, items []item, ctxs []*provider.Context,
) (*pending, error) {
	p := &pending{ctxs: ctxs, items: items, agent: agentOf(items), answers: make([]*answer, len(items)),
		ended: make(chan struct{})}
	c.mu.Lock()
	if c.ctx.Err() != nil {
		c.mu.Unlock()
		return nil, c.lost(p.agent)
	}
	c.last++
	id := c.last
	c.calls[id] = p
	c.mu.Unlock()
	defer c.forget(id)
	frames := make([]frame, 0, len(items)+1)
	begin := call{ID: id, Method: m, Type: typ, Items: len(items)}
	if left, limited := patience.Left(ctx); limited {
		begin.Limit = max(left, time.Millisecond)
	}
	frames = append(frames, frame{kindCall, begin})
	for i := range items {
		items[i].Call = id
		frames = append(frames, frame{kindItem, items[i]})
	}
	enc, err := encode(frames...)
	if err != nil {
		return nil, provider.Errorf(provider.NeedsChange, "%w", err)
	}
	sent := make(chan error, 1)
	// a peer that does not read must not block a canceled caller
	go func() { sent <- c.w.write(enc, true) }()
	for {
		select {
		case err := <-sent:
			if err != nil {
				c.fail(err)
			}
			sent = nil
		case <-p.ended:
			if p.err != nil {
				return nil, p.err
			}
			return p, nil
		case <-ctx.Done():
			return c.giveUp(ctx, id, p)
		}
	}
}

// giveUp cancels a call and gives the handler a moment to end it, as a local handler has. Work of
// the canceled call must not overlap with the next call.
func (c *Conn) giveUp(ctx context.Context, id uint64, p *pending) (*pending, error) {
	go func() { _ = c.w.send(frame{kindCancel, cancel{Call: id}}) }()
	over, release := patience.After(maxEnding)
	defer release()
	select {
	case <-p.ended:
		return p, p.err
	case <-over:
		return nil, fault.Wrap(fault.Unknown, "call the machine", ctx.Err())
	}
}

// maxEnding bounds how long a handler may take to end a canceled call.
const maxEnding = 5 * time.Second

func (c *Conn) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}

// read reads frames until the input ends.
func (c *Conn) read(r *frameReader) error {
	for {
		k, body, err := r.next()
		var n int64
		if err == nil {
			n, err = weighed(k, body)
		}
		if err == nil {
			err = c.take(k, body, n)
		}
		if err != nil {
			return err
		}
	}
}

// take handles one frame, which takes n bytes. Its error ends the connection.
func (c *Conn) take(k kind, body []byte, n int64) error {
	switch k {
	case kindPing:
		return nil
	case kindAnswer:
		var m answer
		if err := unmarshal(body, &m); err != nil {
			return err
		}
		if p, ok := c.pending(m.Call, m.Item); ok {
			m.Observed.arrived(c)
			p.answers[m.Item] = &m
		}
		return c.hold(m.Call, k, n)
	case kindDone:
		var m done
		if err := unmarshal(body, &m); err != nil {
			return err
		}
		c.end(m)
		return nil
	case kindLog:
		return c.log(body, n)
	case kindFound:
		var m found
		if err := unmarshal(body, &m); err != nil {
			return err
		}
		if p, ok := c.pending(m.Call, 0); ok && len(p.found) < maxFound {
			p.found = append(p.found, m.Attributes)
		}
		return c.hold(m.Call, k, n)
	case kindChanged, kindFact, kindSecret, kindProvider, kindOverride:
		return c.named(k, body, n)
	case kindOpen:
		var m open
		if err := unmarshal(body, &m); err != nil {
			return err
		}
		return c.open(m)
	case kindKeep:
		var m keep
		if err := unmarshal(body, &m); err != nil {
			return err
		}
		return c.keep(m)
	case kindMore:
		var m more
		if err := unmarshal(body, &m); err != nil {
			return err
		}
		return c.more(m)
	}
	return fault.New(fault.Damaged, "read frame", "the machine sends no frames of the kind %d", k)
}

// pending returns an open call that has the item. A canceled call is not open.
func (c *Conn) pending(id uint64, n int) (*pending, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.calls[id]
	return p, p != nil && n >= 0 && n < len(p.answers)
}

// end completes a call.
func (c *Conn) end(m done) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.calls[m.Call]
	if p == nil {
		return
	}
	delete(c.calls, m.Call)
	if p.err = m.Err.err(); p.err == nil {
		for _, a := range p.answers {
			if a == nil {
				p.answers = nil // the handler answered fewer items than requested
				break
			}
		}
	}
	close(p.ended)
}

// log hands a log line to the run.
func (c *Conn) log(body []byte, n int64) error {
	var m logged
	if err := unmarshal(body, &m); err != nil {
		return err
	}
	if err := c.hold(m.Call, kindLog, n); err != nil {
		return err
	}
	p, ok := c.pending(m.Call, m.Item)
	if !ok {
		return nil
	}
	kv := make([]any, 0, 2*len(m.Kwargs))
	for k, v := range m.Kwargs {
		kv = append(kv, k, v)
	}
	ctx := p.ctxs[m.Item]
	log := ctx.Info
	switch m.Level {
	case provider.LevelDebug:
		log = ctx.Debug
	case provider.LevelWarning:
		log = ctx.Warning
	case provider.LevelError:
		log = ctx.Error
	}
	log(m.Msg, kv...)
	return nil
}

// maxProvider bounds the name of a provider, which is stored.
const maxProvider = 200

// named hands a change, a fact or a secret to the run.
func (c *Conn) named(k kind, body []byte, n int64) error {
	var m named
	if err := unmarshal(body, &m); err != nil {
		return err
	}
	if err := c.hold(m.Call, k, n); err != nil {
		return err
	}
	p, ok := c.pending(m.Call, m.Item)
	if !ok {
		return nil
	}
	switch ctx := p.ctxs[m.Item]; {
	case k == kindProvider && len(m.Name) > maxProvider:
		return fault.New(fault.Damaged, "read frame",
			"the machine names a provider by %d bytes", len(m.Name)).WithHint("%s", hintHostile)
	case k == kindProvider:
		ctx.SetProvider(m.Name, m.Text)
	case k == kindOverride:
		ctx.SetChange(diff.Change(m.Name))
	case k == kindSecret:
		ctx.Secret(m.Text)
	case k == kindFact:
		ctx.Fact(m.Name, m.fact())
	case m.Diff != nil:
		ctx.Changed(m.Name, m.Diff.Current, m.Diff.Desired)
	}
	return nil
}
