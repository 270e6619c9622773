package remote

import (
	"context"
	"errors"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Greeting is the first line of the machine's end, which separates it from the output of a login.
// Frames follow.
const Greeting = "southbound-remote start"

// Server is the machine's end: it calls handlers on this machine for a remote engine.
type Server struct {
	// Definitions are the types that are served.
	Definitions []provider.Definition
	// Version is the version of the program.
	Version string
	// Facts describe the machine.
	Facts map[string]string
	// Transport is the connection in the handlers' context.
	Transport any
	// Grace is how long handlers may take to end after the connection; 0 means 5 s.
	Grace time.Duration
}

// Serve communicates with an engine over in and out until in ends, ctx ends, or the engine has been
// silent for three beats. It returns after all handlers have ended, or after Grace. Its error is
// nil if in ended between two frames. Handlers may still be running then: the process must exit.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := &served{ctx: ctx, stop: stop, alone: make(chan struct{}), w: newFrameWriter(out),
		defs: map[string]provider.Definition{}, transport: s.Transport,
		calls: map[uint64]*servedCall{}, streams: map[uint64]*stream{},
		caches: map[string]*provider.Cache{}}
	h := hello{Protocol: protocol, Version: s.Version, Types: map[string]string{}, Facts: s.Facts,
		Running: current()}
	for _, d := range s.Definitions {
		if d.Type.Machine {
			c.defs[d.Type.Name] = d
			h.Types[d.Type.Name] = digest(d.Type)
		}
	}
	if _, err := io.WriteString(out, Greeting+"\n"); err != nil {
		return fault.Wrap(fault.Unavailable, "answer", err)
	}
	if err := c.w.send(frame{kindHello, h}); err != nil {
		return fault.Wrap(fault.Unavailable, "answer", err)
	}
	pulse := NewPulse(in, 0)
	go func() { stop(c.read(newFrameReader(pulse), pulse)) }()
	go func() {
		<-pulse.Silent(ctx)
		stop(fault.New(fault.Unavailable, "serve", "nothing was received from the engine for %s",
			3*pulse.beat()))
	}()
	<-ctx.Done()
	c.closeStreams()
	ended := make(chan struct{})
	go func() { c.running.Wait(); close(ended) }()
	grace := s.Grace
	if grace == 0 {
		grace = 5 * time.Second
	}
	over, release := patience.After(grace)
	defer release()
	select {
	case <-ended:
		c.closeCaches()
	case <-over:
	}
	if err := context.Cause(ctx); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// served is one connection with an engine.
type served struct {
	ctx       context.Context
	stop      context.CancelCauseFunc
	alone     chan struct{} // closed when the program of the previous connection has ended
	w         *frameWriter
	defs      map[string]provider.Definition
	transport any
	running   sync.WaitGroup
	carried   carriedValues

	mu      sync.Mutex
	calls   map[uint64]*servedCall
	streams map[uint64]*stream
	last    uint64                     // of the streams
	caches  map[string]*provider.Cache // of agents
}

// servedCall is a call whose items are being received, or that runs.
type servedCall struct {
	call
	items  []item
	cancel context.CancelFunc
}

// read reads frames until the input ends.
func (c *served) read(r *frameReader, p *Pulse) error {
	for {
		k, body, err := r.next()
		if err == nil {
			err = c.take(k, body, p)
		}
		if err != nil {
			return err
		}
	}
}

// take handles one frame. Its error ends the connection.
func (c *served) take(k kind, body []byte, p *Pulse) error {
	switch k {
	case kindHello:
		var h hello
		if err := unmarshal(body, &h); err != nil {
			return err
		}
		if h.Protocol != protocol {
			return fault.New(fault.Unsupported, "serve",
				"the engine speaks version %d of the protocol, this program %d", h.Protocol,
				protocol)
		}
		if p.once(h.Beat) {
			go c.beats(p)
			go c.succeed(h.Running)
		}
	case kindPing:
	case kindCall:
		var m call
		if err := unmarshal(body, &m); err != nil {
			return err
		}
		if m.Items < 1 || m.Items > maxItems {
			return fault.New(fault.Damaged, "read frame", "a call with %d items", m.Items)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.calls[m.ID] != nil {
			return fault.New(fault.Damaged, "read frame", "two calls of the number %d", m.ID)
		}
		c.calls[m.ID] = &servedCall{call: m}
	case kindItem:
		return c.item(body)
	case kindCancel:
		var m cancel
		if err := unmarshal(body, &m); err != nil {
			return err
		}
		c.mu.Lock()
		if sc := c.calls[m.Call]; sc != nil && sc.cancel != nil {
			sc.cancel()
		}
		c.mu.Unlock()
	case kindData:
		var m data
		if err := unmarshal(body, &m); err != nil {
			return err
		}
		c.mu.Lock()
		s := c.streams[m.Stream]
		c.mu.Unlock()
		if s != nil {
			return s.put(m)
		}
	default:
		return fault.New(fault.Damaged, "read frame", "the engine sends no frames of the kind %d",
			k)
	}
	return nil
}

// item adds an item, and starts its call when the call is complete.
func (c *served) item(body []byte) error {
	var m item
	if err := unmarshal(body, &m); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	sc := c.calls[m.Call]
	if sc == nil || sc.cancel != nil {
		return fault.New(fault.Damaged, "read frame", "an item of no call")
	}
	sc.items = append(sc.items, m)
	if len(sc.items) < sc.Items {
		return nil
	}
	limit := sc.Limit
	if limit <= 0 {
		limit = longestCall
	}
	ctx, cancel := patience.WithTimeout(c.ctx, limit)
	sc.cancel = cancel
	c.running.Go(func() {
		defer cancel()
		select {
		case <-c.alone:
			c.carryOut(ctx, sc)
		case <-c.ctx.Done():
		}
	})
	return nil
}

// longestCall bounds calls without another limit.
const longestCall = 7 * 24 * time.Hour

// succeed ends the program of the previous connection, and then permits calls. If that program does
// not end, this one does.
func (c *served) succeed(before Running) {
	defer close(c.alone)
	if err := before.end(c.ctx); err != nil {
		c.stop(err)
	}
}

// carryOut calls the handler and sends the result.
func (c *served) carryOut(ctx context.Context, sc *servedCall) {
	answers, err := c.handle(ctx, sc)
	c.mu.Lock()
	delete(c.calls, sc.ID)
	c.mu.Unlock()
	var out []encoded
	if err == nil {
		for i := range answers {
			answers[i].Call, answers[i].Item = sc.ID, i
			c.carried.hold(answers[i].Observed)
			one, bad := encode(frame{kindAnswer, answers[i]})
			if bad != nil {
				one, _ = encode(frame{kindAnswer,
					answer{Call: sc.ID, Item: i, Err: failureOf(bad)}})
			}
			out = append(out, one...)
		}
	}
	last, _ := encode(frame{kindDone, done{Call: sc.ID, Err: failureOf(err)}})
	// after the connection has ended, all its calls end
	_ = c.w.write(append(out, last...), true)
}

// handle calls the handler; a panic is its error.
func (c *served) handle(ctx context.Context, sc *servedCall) (answers []answer, err error) {
	d, ok := c.defs[sc.Type]
	if !ok {
		return nil, provider.Errorf(provider.Terminal,
			"the program on the machine has no handler for %s", sc.Type)
	}
	defer func() {
		if p := recover(); p != nil {
			answers, err = nil, fault.New(fault.Internal, "", "%v\n%s", p, debug.Stack())
		}
	}()
	if sc.Method == callList {
		return c.list(d.Handler, c.requests(ctx, sc))
	}
	return invoke(ctx, d.Handler, sc.Method, c.requests(ctx, sc))
}

// request converts an item to the form for handlers.
type request struct {
	*item
	ctx *provider.Context
	res provider.Resource
}

func (c *served) requests(ctx context.Context, sc *servedCall) []request {
	out := make([]request, len(sc.items))
	for i := range sc.items {
		m := &sc.items[i]
		if m.Attributes == nil {
			m.Attributes = map[string]any{}
		}
		c.carried.find(m.Observed)
		res := provider.Resource{ID: resource.ID(m.ID), Type: sc.Type, Agent: m.Agent,
			Attributes: m.Attributes, Purged: m.Purged}
		host := &servedHost{c: c, call: sc.ID, item: i, cache: c.cache(m.Agent)}
		opts := provider.Options{ID: res.ID, DryRun: m.DryRun, State: m.State, Reload: m.Reload,
			Version: m.Version, Released: m.Released, Known: m.Known, Provider: m.Provider,
			Kept: m.Kept}
		if sc.Method != callList {
			opts.Desired = res
		}
		out[i] = request{item: m, ctx: provider.NewContext(ctx, host, opts), res: res}
	}
	return out
}

func (r *request) change() provider.BatchChange {
	return provider.BatchChange{Context: r.ctx, Change: r.Change, Resource: r.res,
		Observed: r.Observed.observation(), Changes: r.Changes, Token: r.Token}
}

// maxCaches bounds how many agents of one machine have a cache between calls.
const maxCaches = 64

// cache returns the cache of an agent.
func (c *served) cache(agent string) *provider.Cache {
	c.mu.Lock()
	defer c.mu.Unlock()
	have := c.caches[agent]
	if have == nil && len(c.caches) < maxCaches {
		have = provider.NewCache(time.Now)
		c.caches[agent] = have
	}
	return have
}

func (c *served) closeCaches() {
	c.mu.Lock()
	all := c.caches
	c.caches = nil
	c.mu.Unlock()
	for _, cache := range all {
		cache.Close()
	}
}
