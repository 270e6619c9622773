package python

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"sync"
	"time"

	"southbound/shared/deploy/run"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// PackOptions say how handlers are run.
type PackOptions struct {
	// Find returns the Python program to run handlers with, and the directory to run it in. It is
	// called before each start.
	Find func() (path, dir string, err error)
	// Call bounds one call of a handler; 0 stands for 10 minutes.
	Call time.Duration
	// Memory is how many bytes a process may hold; 0 stands for 1 GiB.
	Memory int64
	// Idle is how long a process is kept that nobody uses; 0 stands for a minute.
	Idle time.Duration
	// Processes is how many processes there are at most for the code of one version; 0 stands for
	// 4.
	Processes int
}

// Pack runs handlers that come with resources. Each code has processes of its own, which import
// nothing else. Resources of one agent run in one process, one after the other.
type Pack struct {
	o      PackOptions
	mu     sync.Mutex
	served map[place]*served
	closed bool
}

// place is a process that handlers run in.
type place struct {
	code string
	slot uint32
}

// served is a process, or the room for one.
type served struct {
	used chan struct{} // holds one while it is used
	host *Host         // nil as long as none is running
	idle *time.Timer
	uses int // counts calls, so that a late timer is told
}

// lock waits until nobody uses the process; false if the context ends before.
func (s *served) lock(ctx context.Context) bool {
	select {
	case s.used <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *served) unlock() { <-s.used }

// Usual bounds of handlers.
const (
	defaultMemory    = 1 << 30
	defaultIdle      = time.Minute
	defaultProcesses = 4
)

// NewPack returns a pack. Processes are started when they are needed, and end with Close.
func NewPack(o PackOptions) *Pack {
	o.Call = cmp.Or(o.Call, defaultCall)
	o.Memory = cmp.Or(o.Memory, defaultMemory)
	o.Idle = cmp.Or(o.Idle, defaultIdle)
	o.Processes = cmp.Or(o.Processes, defaultProcesses)
	return &Pack{o: o, served: map[place]*served{}}
}

// Limit says how long one call may take from now on.
func (p *Pack) Limit(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.o.Call = d
}

// limit returns how long one call may take.
func (p *Pack) limit() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.o.Call
}

// Handler implements run.Code.
func (p *Pack) Handler(env, agent string, code resource.File) (provider.Handler, error) {
	return &handler{pack: p, env: env, agent: agent, code: code}, nil
}

// Close ends all processes.
func (p *Pack) Close() {
	p.mu.Lock()
	p.closed = true
	all := p.served
	p.served = map[place]*served{}
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(func() {
			s.lock(context.Background())
			defer s.unlock()
			s.end()
		})
	}
	wg.Wait()
}

var errEnding = fault.New(fault.Canceled, "run Python", "the program is about to end")

// ended reports whether the pack was closed.
func (p *Pack) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// at returns the room for the process of an agent.
func (p *Pack) at(env, agent, code string) (*served, error) {
	sum := fnv.New32a()
	_, _ = io.WriteString(sum, env+"\n"+agent)
	key := place{code, sum.Sum32() % uint32(p.o.Processes)} //nolint:gosec // a few
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errEnding
	}
	s := p.served[key]
	if s == nil {
		s = &served{used: make(chan struct{}, 1)}
		p.served[key] = s
	}
	return s, nil
}

// end ends the process, if there is one.
func (s *served) end() {
	if s.idle != nil {
		s.idle.Stop()
	}
	if s.host != nil {
		s.host.Close()
		s.host = nil
	}
}

// rest ends the process if nobody uses it for a while.
func (s *served) rest(after time.Duration) {
	s.uses++
	count := s.uses
	s.idle = time.AfterFunc(after, func() {
		s.lock(context.Background())
		defer s.unlock()
		if s.uses == count {
			s.end()
		}
	})
}

// use calls f with a process that has the code, one call at a time.
func (p *Pack) use(
	ctx *provider.Context, h *handler, f func(host *Host) error,
) error {
	s, err := p.at(h.env, h.agent, h.code.Hash)
	if err != nil {
		return err
	}
	locked := s.lock(ctx)
	if locked {
		defer s.unlock()
	}
	switch err := context.Cause(ctx); {
	case !locked && errors.Is(err, context.DeadlineExceeded):
		return provider.With(errors.New("it was not its turn: other resources kept the Python "+
			"process of its agent busy all the time"), provider.ErrUnavailable)
	case err != nil:
		return fault.Wrap(fault.KindOf(err), "run Python", err)
	case p.ended():
		return errEnding
	}
	if s.idle != nil {
		s.idle.Stop()
	}
	if s.host == nil {
		if s.host, err = p.start(ctx, h); err != nil {
			return err
		}
	}
	s.host.ctx, s.host.o.Print = ctx, func(text string) { ctx.Info(text) }
	s.host.whole = false
	s.host.Limit(p.limit())
	s.host.said.clear()
	err = f(s.host)
	select {
	case <-s.host.exited:
		s.end()
	default:
	}
	switch held := s.held(); {
	case s.host != nil && err != nil && !s.host.whole:
		s.end() // what it says next is not the answer to the next call
	case held > p.o.Memory/2:
		ctx.Warning("the Python process is ended, so that what it holds is given back",
			"bytes", held, "limit", p.o.Memory)
		s.end()
	case s.host != nil:
		s.rest(p.o.Idle)
	}
	return err
}

// held returns how many bytes the process holds.
func (s *served) held() int64 {
	if s.host == nil {
		return 0
	}
	return s.host.memory()
}

// start starts a process with the code of a handler.
func (p *Pack) start(ctx *provider.Context, h *handler) (*Host, error) {
	path, dir, err := p.o.Find()
	if err != nil {
		return nil, provider.With(err, provider.ErrUnavailable)
	}
	in, err := ctx.Files().Open(ctx, h.code.Hash)
	if err != nil {
		return nil, fmt.Errorf("read the code of its version: %w", err)
	}
	defer func() { _ = in.Close() }()
	code, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("read the code of its version: %w", err)
	}
	host, err := Start(ctx, Options{
		Python: path, Dir: dir, Shown: ".", Call: defaultCall, Memory: p.o.Memory,
		Print: func(string) {},
	})
	if err != nil {
		return nil, provider.With(err, provider.ErrUnavailable)
	}
	if err := host.LoadCode(code); err != nil {
		host.Close()
		return nil, provider.With(err, provider.ErrUnavailable)
	}
	return host, nil
}

// LoadCode imports the code of a version, as Export returns it.
func (h *Host) LoadCode(code []byte) error {
	message := append(appendText([]byte(`["code",`), string(code)), ']')
	kind, v, err := h.converse(message, "the import of modules", h.quiet)
	switch {
	case err != nil:
		return asFault(err)
	case kind == "missing" && len(v) == 2:
		return h.missing(text(v[0]), text(v[1]))
	case kind != "ok":
		return fault.Wrap(fault.Internal, "load modules", errFrame)
	}
	return nil
}

var _ run.Code = (*Pack)(nil)
