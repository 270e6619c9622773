package python

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"southbound/shared/deploy/run"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// PackOptions configure a Pack.
type PackOptions struct {
	// Find returns the Python program for handlers and its working directory. It is called before
	// each start.
	Find func() (path, dir string, err error)
	// Packages, if not nil, returns the folder of the packages that come with the resources, in
	// which Python then finds packages. open reads the file of the packages.
	Packages func(ctx context.Context, packages resource.File,
		open func(ctx context.Context) (io.ReadCloser, error)) (dir string, err error)
	// Environment is the environment of processes; nil: that of this process.
	Environment []string
	// Confined ends the daemons of a process with the process.
	Confined bool
	// Call is the time limit of one call of a handler; 0 stands for 10 minutes.
	Call time.Duration
	// Memory limits the bytes that a process holds; 0 stands for 1 GiB.
	Memory int64
	// Idle is how long an unused process is kept; 0 stands for a minute.
	Idle time.Duration
	// Processes limits the number of processes for compatible codes; 0 stands for 4.
	Processes int
}

// Pack runs handlers that come with resources. A process imports only the codes of its resources,
// and holds one version of each module. Resources of one agent run in one process, one after the
// other, as long as their codes are compatible.
type Pack struct {
	o      PackOptions
	mu     sync.Mutex
	served map[uint32][]*served
	codes  map[string]modules
	until  time.Time // when calls have to end; zero: never
	closed bool
}

// modules lists the contents of a code: a hash of each Python module, by name.
type modules map[string]string

// served is a process, or a slot for one.
type served struct {
	slot   uint32
	used   chan struct{} // holds one element while a call uses the process
	host   *Host         // nil while no process runs
	loaded map[string]bool
	idle   *time.Timer
	uses   int // number of calls, so that a late timer detects a later call

	// Guarded by the pack:
	modules modules // of all codes of this process
	wanted  int     // number of calls that use or await the process
}

// fits reports whether a process can import a code besides its other codes.
func (s *served) fits(code modules) bool {
	for name, hash := range code {
		if other, has := s.modules[name]; has && other != hash {
			return false
		}
	}
	return true
}

// lock waits until no other call uses the process; false if the context ends first.
func (s *served) lock(ctx context.Context) bool {
	select {
	case s.used <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *served) unlock() { <-s.used }

// Default limits of handlers.
const (
	defaultMemory    = 1 << 30
	defaultIdle      = time.Minute
	defaultProcesses = 4
)

// NewPack returns a pack. It starts processes on demand; Close ends them.
func NewPack(o PackOptions) *Pack {
	o.Call = cmp.Or(o.Call, defaultCall)
	o.Memory = cmp.Or(o.Memory, defaultMemory)
	o.Idle = cmp.Or(o.Idle, defaultIdle)
	o.Processes = cmp.Or(o.Processes, defaultProcesses)
	return &Pack{o: o, served: map[uint32][]*served{}, codes: map[string]modules{}}
}

// Limit sets the time limit of the following calls.
func (p *Pack) Limit(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.o.Call = d
}

// limit returns the time limit of one call.
func (p *Pack) limit() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.o.Call
}

// Handler implements run.Code.
func (p *Pack) Handler(
	env, agent string, code, packages resource.File,
) (provider.Handler, error) {
	if p.o.Packages != nil && packages.Hash == "" {
		return nil, errors.New("its version has no Python packages: export the project again, " +
			"from a machine with its virtual environment")
	}
	if p.o.Packages == nil {
		packages = resource.File{} // those of the virtual environment
	}
	return &handler{pack: p, env: env, agent: agent, code: code, packages: packages}, nil
}

// Until sets when calls have to end, as the process then freezes or ends. A call that may take
// longer is not begun.
func (p *Pack) Until(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = t
}

// tooLate returns the error of a call for which there is no time left; nil if there is.
func (p *Pack) tooLate(agent string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := time.Until(p.until)
	if p.until.IsZero() || left >= p.o.Call {
		return nil
	}
	return provider.With(fmt.Errorf("it was not begun: the function ends in %s, and a call may "+
		"take %s; the next invocation tries again. If calls take longer than that, give the agent "+
		"the transport local and run `southbound agent run %s` on a machine",
		left.Round(time.Second), p.o.Call, agent), provider.ErrUnavailable)
}

// Rest ends all processes. The next call starts another one.
func (p *Pack) Rest() {
	p.mu.Lock()
	all := p.served
	p.served = map[uint32][]*served{}
	p.mu.Unlock()
	endAll(all)
}

// Close ends all processes.
func (p *Pack) Close() {
	p.mu.Lock()
	p.closed = true
	all := p.served
	p.served = map[uint32][]*served{}
	p.mu.Unlock()
	endAll(all)
}

// endAll ends processes after their calls.
func endAll(all map[uint32][]*served) {
	var wg sync.WaitGroup
	for _, s := range slices.Concat(slices.Collect(maps.Values(all))...) {
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

// at returns the served of an agent and a code. The caller must call leave afterwards.
func (p *Pack) at(env, agent string, code modules) (*served, error) {
	sum := fnv.New32a()
	_, _ = io.WriteString(sum, env+"\n"+agent)
	slot := sum.Sum32() % uint32(p.o.Processes) // a few
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errEnding
	}
	all := p.served[slot]
	i := slices.IndexFunc(all, func(s *served) bool { return s.fits(code) })
	if i < 0 {
		i = len(all)
		s := &served{slot: slot, used: make(chan struct{}, 1), modules: modules{}}
		p.served[slot] = append(all, s)
	}
	s := p.served[slot][i]
	maps.Copy(s.modules, code)
	s.wanted++
	return s, nil
}

// leave ends a use that began with at.
func (p *Pack) leave(s *served) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.wanted--
}

// drop forgets a process that has ended, unless a call uses or awaits it.
func (p *Pack) drop(s *served) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.wanted == 0 {
		p.served[s.slot] = slices.DeleteFunc(p.served[s.slot],
			func(other *served) bool { return other == s })
	}
}

// maxCodes is the capacity of the cache of codes.
const maxCodes = 1000

// modulesOf returns the modules of a code.
func (p *Pack) modulesOf(ctx *provider.Context, code resource.File) (modules, error) {
	p.mu.Lock()
	out := p.codes[code.Hash]
	p.mu.Unlock()
	if out != nil {
		return out, nil
	}
	b, err := readCode(ctx, code)
	if err != nil {
		return nil, err
	}
	var whole struct{ Modules map[string]json.RawMessage }
	if err := json.Unmarshal(b, &whole); err != nil {
		return nil, fmt.Errorf("read the code of its version: %w", err)
	}
	out = modulesIn(whole.Modules)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.codes) >= maxCodes {
		clear(p.codes)
	}
	p.codes[code.Hash] = out
	return out, nil
}

// modulesIn returns the hash of each module of a model in a code. The hash covers all files of the
// module: a file that only one version has can also register handlers.
func modulesIn(files map[string]json.RawMessage) modules {
	sums := map[string]hash.Hash{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		top, _, _ := strings.Cut(strings.TrimPrefix(name, "inmanta_plugins."), ".")
		if sums[top] == nil {
			sums[top] = sha256.New()
		}
		_, _ = fmt.Fprintf(sums[top], "%q %d %s\n", name, len(files[name]), files[name])
	}
	out := modules{}
	for top, sum := range sums {
		out[top] = string(sum.Sum(nil))
	}
	return out
}

// end ends the process, if there is one.
func (s *served) end() {
	if s.idle != nil {
		s.idle.Stop()
	}
	if s.host != nil {
		s.host.Close()
		s.host, s.loaded = nil, nil
	}
}

// rest ends the process if it stays unused for a time.
func (p *Pack) rest(s *served, after time.Duration) {
	s.uses++
	count := s.uses
	s.idle = time.AfterFunc(after, func() {
		s.lock(context.Background())
		defer s.unlock()
		if s.uses == count {
			s.end()
			p.drop(s)
		}
	})
}

// use calls f with a process that has imported the code. Calls of one process run one at a time.
func (p *Pack) use(
	ctx *provider.Context, h *handler, f func(host *Host) error,
) error {
	code, err := p.modulesOf(ctx, h.code)
	if err != nil {
		return err
	}
	if h.packages.Hash != "" { // a process has one version of each package
		code = maps.Clone(code)
		code[packagesKey] = h.packages.Hash
	}
	s, err := p.at(h.env, h.agent, code)
	if err != nil {
		return err
	}
	defer p.leave(s)
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
	if err := p.tooLate(h.agent); err != nil {
		return err
	}
	if s.idle != nil {
		s.idle.Stop()
	}
	defer p.rest(s, p.o.Idle) // also without a process: then drop forgets its codes
	if err := p.ready(ctx, s, h); err != nil {
		return err
	}
	s.host.ctx, s.host.print = ctx, func(text string) { ctx.Info(text) }
	s.host.begin()
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
		s.end() // its next message would not be the answer to the next call
	case held > p.o.Memory/2:
		ctx.Warning("the Python process is ended to free its memory",
			"bytes", held, "limit", p.o.Memory)
		s.end()
	}
	return err
}

// held returns how many bytes the process holds; 0 without a process.
func (s *served) held() int64 {
	if s.host == nil {
		return 0
	}
	return s.host.memory()
}

// ready starts the process if none runs, and imports the code if it is not loaded yet.
func (p *Pack) ready(ctx *provider.Context, s *served, h *handler) error {
	code := h.code
	if s.host != nil && s.loaded[code.Hash] {
		return nil
	}
	text, err := readCode(ctx, code)
	if err != nil {
		return err
	}
	if s.host == nil {
		path, dir, err := p.o.Find()
		if err != nil {
			return provider.With(err, provider.ErrUnavailable)
		}
		packages, err := p.packages(ctx, h.packages)
		if err != nil {
			return provider.With(err, provider.ErrUnavailable)
		}
		s.host, err = Start(ctx, Options{
			Python: path, Dir: dir, Shown: ".", Call: defaultCall, Memory: p.o.Memory,
			Print: func(string) {}, Daemons: !p.o.Confined, Path: packages,
			Environment: p.o.Environment,
		})
		if err != nil {
			s.host = nil
			return provider.With(err, provider.ErrUnavailable)
		}
		s.loaded = map[string]bool{}
	}
	s.host.ctx, s.host.print = ctx, func(string) {}
	s.host.Limit(defaultCall)
	if err := s.host.LoadCode(text); err != nil {
		s.end()
		return provider.With(err, provider.ErrUnavailable)
	}
	s.loaded[code.Hash] = true
	return nil
}

// packagesKey stands for the packages of a process among its modules.
const packagesKey = "packages of the version"

// packages returns the folders in which Python searches before its own.
func (p *Pack) packages(ctx *provider.Context, f resource.File) ([]string, error) {
	if p.o.Packages == nil {
		return nil, nil
	}
	dir, err := p.o.Packages(ctx, f, func(inner context.Context) (io.ReadCloser, error) {
		return ctx.Files().Open(inner, f.Hash)
	})
	return []string{dir}, err
}

// readCode reads a code from the files of its version.
func readCode(ctx *provider.Context, code resource.File) ([]byte, error) {
	in, err := ctx.Files().Open(ctx, code.Hash)
	if err != nil {
		return nil, fmt.Errorf("read the code of its version: %w", err)
	}
	defer func() { _ = in.Close() }()
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("read the code of its version: %w", err)
	}
	return text, nil
}

// LoadCode imports a code that Export returned.
func (h *Host) LoadCode(code []byte) error {
	message := append(appendText([]byte(`["code",`), string(code)), ']')
	kind, v, err := h.converse(message, loading, h.quiet)
	switch {
	case err != nil:
		return asFault(err)
	case kind == "missing" && len(v) == 2:
		return h.sources.missing(text(v[0]), text(v[1]))
	case kind != "ok":
		return fault.Wrap(fault.Internal, "load modules", errFrame)
	}
	return nil
}

var _ run.Code = (*Pack)(nil)
