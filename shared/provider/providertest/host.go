package providertest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/redact"
	"southbound/shared/resource"
)

// Host is a provider.Host that remembers what a handler says, as it was said. It is safe for
// concurrent use.
type Host struct {
	files     map[string][]byte
	transport any

	mu      sync.Mutex
	lines   []provider.Line
	changed map[string]diff.Diff
	facts   map[string]string
	known   map[resource.ID]map[string]string // facts by resource, as the engine keeps them
	secrets redact.Set
	cache   *provider.Cache
	// What the handler said of the run.
	provider, why string
	override      diff.Change
	recent        map[string]diff.Diff // changed since forgetChanges
	claimed       map[string]diff.Diff // changed since forgetSaid
	opened        int                  // files that were opened and not closed
	kept          string               // what was done with a context after its call
}

// NewHost returns a host; see AddFile for its files. transport is what Context.Transport returns.
func NewHost(transport any) *Host {
	return &Host{files: map[string][]byte{}, transport: transport, changed: map[string]diff.Diff{}, facts: map[string]string{},
		known: map[resource.ID]map[string]string{}, cache: provider.NewCache(time.Now)}
}

// AddFile makes bytes available to handlers and returns the reference to them. It is not for use
// while a handler runs.
func (h *Host) AddFile(data []byte) resource.File {
	sum := sha256.Sum256(data)
	f := resource.File{Hash: hex.EncodeToString(sum[:]), Size: int64(len(data))}
	h.files[f.Hash] = data
	return f
}

// Log implements provider.Host.
func (h *Host) Log(line provider.Line) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, line)
}

// Now implements provider.Host.
func (h *Host) Now() time.Time { return time.Now() }

// Changed implements provider.Host.
func (h *Host) Changed(attribute string, d diff.Diff) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changed[attribute] = d
	if h.recent != nil {
		h.recent[attribute] = d
	}
	if h.claimed == nil {
		h.claimed = map[string]diff.Diff{}
	}
	h.claimed[attribute] = d
}

// forgetChanges begins a new account of recentChanges.
func (h *Host) forgetChanges() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recent = map[string]diff.Diff{}
}

func (h *Host) recentChanges() map[string]diff.Diff {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.recent)
}

// Fact implements provider.Host.
func (h *Host) Fact(name, value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.facts[name] = value
}

// Files implements provider.Host.
func (h *Host) Files() provider.Files { return memory{h} }

// Transport implements provider.Host.
func (h *Host) Transport() any { return h.transport }

// Secret implements provider.Host.
func (h *Host) Secret(value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.secrets.Add(value)
}

// Provider implements provider.Host.
func (h *Host) Provider(name, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.provider, h.why = name, why
}

// Override implements provider.Host.
func (h *Host) Override(change diff.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.override = change
}

// Cache implements provider.Host: each host has one.
func (h *Host) Cache() *provider.Cache { return h.cache }

// Chosen returns the provider that was chosen last, and why.
func (h *Host) Chosen() (name, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.provider, h.why
}

// Overridden returns what the handler said the run has done, "" when it did not.
func (h *Host) Overridden() diff.Change {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.override
}

// Lines returns what was logged, in order.
func (h *Host) Lines() []provider.Line {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.lines)
}

// AttributeChanges returns what was reported through Context.Changed.
func (h *Host) AttributeChanges() map[string]diff.Diff {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.changed)
}

// Facts returns the facts that were reported.
func (h *Host) Facts() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.facts)
}

// Output returns all that the handler said, as one text. What it named as a secret through
// Context.Secret is replaced, as the engine does.
func (h *Host) Output() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	for _, l := range h.lines {
		kwargs := "?" // it has no form: another check says so
		if unrecordable(reflect.ValueOf(l.Kwargs), 0) != endless {
			kwargs = fmt.Sprint(l.Kwargs)
		}
		fmt.Fprintf(&b, "%s %s %s\n", l.Level, l.Msg, kwargs)
	}
	fmt.Fprintf(&b, "%v\n%v\n%s\n", h.changed, h.facts, h.why)
	out := b.String()
	return h.secrets.Clean(out, diff.Redacted)
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

// once returns a context for one call, and what notes that the call has ended.
func (h *Host) once(ctx context.Context, opts provider.Options) (c *provider.Context, ended func()) {
	h.mu.Lock()
	opts.Known = maps.Clone(h.known[opts.ID])
	h.mu.Unlock()
	o := &hostOf{Host: h, id: opts.ID}
	return provider.NewContext(ctx, o, opts), func() { o.over.Store(true) }
}

// forgetSaid begins a new account of what a handler says of one call.
func (h *Host) forgetSaid() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.override, h.claimed = "", nil
}

// hostOf is the host of one resource's runs.
type hostOf struct {
	*Host
	id   resource.ID
	over atomic.Bool // the call has ended
}

// late notes that a context was used after its call.
func (h *hostOf) late(what string) {
	if h.over.Load() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.kept = what
	}
}

// Log implements provider.Host.
func (h *hostOf) Log(line provider.Line) {
	h.late("logs through")
	h.Host.Log(line)
}

// Changed implements provider.Host.
func (h *hostOf) Changed(attribute string, d diff.Diff) {
	h.late("reports a change through")
	h.Host.Changed(attribute, d)
}

// Transport implements provider.Host.
func (h *hostOf) Transport() any {
	h.late("reaches the target through")
	return h.Host.Transport()
}

// Fact implements provider.Host.
func (h *hostOf) Fact(name, value string) {
	h.late("reports a fact through")
	h.Host.Fact(name, value)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known[h.id] == nil {
		h.known[h.id] = map[string]string{}
	}
	h.known[h.id][name] = value
}

// memory is the files of a host.
type memory struct{ host *Host }

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
		m.host.opened += n
	}
	count(1)
	return opened{bytes.NewReader(data), sync.OnceFunc(func() { count(-1) })}, nil
}
