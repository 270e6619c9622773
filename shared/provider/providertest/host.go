package providertest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Host is a provider.Host that remembers what a handler says, as it was said. It is safe for
// concurrent use.
type Host struct {
	account   // what the handler has said
	files     map[string][]byte
	transport any

	// These are guarded by account.mu.
	cache  *provider.Cache
	lists  []existing
	known  map[resource.ID]map[string]string // facts by resource, as the engine keeps them
	opened map[string]int                    // files that were opened and not closed, by the call
	kept   string                            // what was done with a context after its call
}

// NewHost returns a host; see AddFile for its files. transport is what Context.Transport returns.
func NewHost(transport any) *Host {
	h := &Host{
		account: account{changed: map[string]diff.Diff{}, facts: map[string]string{}},
		files:   map[string][]byte{}, transport: transport,
		known: map[resource.ID]map[string]string{}, opened: map[string]int{},
	}
	h.cache = provider.NewWatchedCache(time.Now, h.listed)
	return h
}

// AddFile makes bytes available to handlers and returns the reference to them. It is not for use
// while a handler runs.
func (h *Host) AddFile(data []byte) resource.File {
	sum := sha256.Sum256(data)
	f := resource.File{Hash: hex.EncodeToString(sum[:]), Size: int64(len(data))}
	h.files[f.Hash] = data
	return f
}

// Now implements provider.Host.
func (h *Host) Now() time.Time { return time.Now() }

// Files implements provider.Host.
func (h *Host) Files() provider.Files { return memory{h, ""} }

// Transport implements provider.Host.
func (h *Host) Transport() any { return h.transport }

// Cache implements provider.Host: each host has one.
func (h *Host) Cache() *provider.Cache {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cache
}

// existing is a list that provider.Existing keeps, and what it was.
type existing struct{ list, copied []provider.Found }

// listed remembers a list that the cache keeps.
func (h *Host) listed(value any) {
	if list, ok := value.([]provider.Found); ok {
		copied, _ := deepCopy(list).([]provider.Found)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.lists = append(h.lists, existing{list, copied})
	}
}

// listsChanged reports whether somebody has changed a list.
func (h *Host) listsChanged() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.lists,
		func(l existing) bool { return !alike(l.list, l.copied) })
}

// expire ends what is kept, as when time goes by, unless somebody has it on loan.
func (h *Host) expire() {
	if old := h.Cache(); old.Lent() == 0 {
		old.Close()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.cache, h.lists = provider.NewWatchedCache(time.Now, h.listed), nil
	}
}

// Context returns a context for one run of a handler on a resource. It knows the facts that runs
// before on the same resource have reported.
func (h *Host) Context(ctx context.Context, opts provider.Options) *provider.Context {
	h.mu.Lock()
	if opts.Known == nil {
		opts.Known = maps.Clone(h.known[opts.ID])
	}
	h.mu.Unlock()
	return provider.NewContext(ctx, &hostOf{Host: h, id: opts.ID}, opts)
}

// Lose forgets the facts of a resource, as when a run was cut off before they were kept.
func (h *Host) Lose(id resource.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.known, id)
}

// of returns a context for the call with a name, and what notes that the call has ended.
func (h *Host) of(
	ctx context.Context, call string, opts provider.Options,
) (c *provider.Context, ended func()) {
	h.mu.Lock()
	opts.Known = maps.Clone(h.known[opts.ID])
	h.mu.Unlock()
	o := &hostOf{Host: h, id: opts.ID, call: call}
	return provider.NewContext(ctx, o, opts), func() { o.over.Store(true) }
}

// hostOf is the host of one resource's runs.
type hostOf struct {
	*Host
	id   resource.ID
	call string      // its name, "" when it is not known
	over atomic.Bool // the call has ended
}

// late notes that a context was used after its call.
func (h *hostOf) late(what string) {
	if h.over.Load() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.kept = fmt.Sprintf("%s a context that it has kept from another call, %s", what, h.call)
	}
}

// Log implements provider.Host.
func (h *hostOf) Log(line provider.Line) {
	h.late("logs through")
	h.log(line, h.call)
}

// Changed implements provider.Host.
func (h *hostOf) Changed(attribute string, d diff.Diff) {
	h.late("reports a change through")
	h.change(attribute, d, h.call)
}

// Provider implements provider.Host.
func (h *hostOf) Provider(name, why string) { h.choose(name, why, h.call) }

// Files implements provider.Host.
func (h *hostOf) Files() provider.Files { return memory{h.Host, h.call} }

// Transport implements provider.Host.
func (h *hostOf) Transport() any {
	h.late("reaches the target through")
	return h.Host.Transport()
}

// Fact implements provider.Host.
func (h *hostOf) Fact(name, value string) {
	h.late("reports a fact through")
	h.fact(name, value, h.call)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known[h.id] == nil {
		h.known[h.id] = map[string]string{}
	}
	h.known[h.id][name] = value
}

// memory is the files of a host.
type memory struct {
	host *Host
	call string // that opens them
}

// opened is a file that counts as open until it is closed.
type opened struct {
	io.Reader
	close func()
}

// Close implements io.Closer.
func (o opened) Close() error {
	o.close()
	return nil
}

// Open implements provider.Files.
func (m memory) Open(_ context.Context, hash string) (io.ReadCloser, error) {
	data, ok := m.host.files[hash]
	if !ok {
		return nil, fault.New(fault.NotFound, "open file", "there is no file %s", hash)
	}
	count := func(n int) {
		m.host.mu.Lock()
		defer m.host.mu.Unlock()
		m.host.opened[m.call] += n
	}
	count(1)
	return opened{bytes.NewReader(data), sync.OnceFunc(func() { count(-1) })}, nil
}
