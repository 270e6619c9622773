package providertest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"time"

	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Host is a provider.Host that records a handler's output unchanged. It is safe for concurrent use.
type Host struct {
	account   // the handler's output
	files     map[string][]byte
	transport any

	// These are guarded by account.mu.
	cache *provider.Cache
	known map[resource.ID]map[string]string // facts by resource, as the engine keeps them
}

// NewHost returns a host; AddFile adds files to it. Context.Transport returns transport.
func NewHost(transport any) *Host {
	return &Host{
		account: account{changed: map[string]diff.Diff{}, facts: map[string]any{},
			recent: map[string]diff.Diff{}},
		files: map[string][]byte{}, transport: transport,
		known: map[resource.ID]map[string]string{}, cache: provider.NewCache(time.Now),
	}
}

// AddFile makes bytes available to handlers and returns the reference to them. It must not be
// called while a handler runs.
func (h *Host) AddFile(data []byte) resource.File {
	sum := sha256.Sum256(data)
	f := resource.File{Hash: hex.EncodeToString(sum[:]), Size: int64(len(data))}
	h.files[f.Hash] = data
	return f
}

// Now implements provider.Host.
func (h *Host) Now() time.Time { return time.Now() }

// Files implements provider.Host.
func (h *Host) Files() provider.Files { return memory(h.files) }

// Transport implements provider.Host.
func (h *Host) Transport() any { return h.transport }

// Cache implements provider.Host: each host has one.
func (h *Host) Cache() *provider.Cache {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cache
}

// expire expires all cached values.
func (h *Host) expire() {
	h.Cache().Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cache = provider.NewCache(time.Now)
}

// Context returns a context for one run of a handler for a resource. It has the facts that earlier
// runs of the same resource have reported.
func (h *Host) Context(ctx context.Context, opts provider.Options) *provider.Context {
	return h.of(ctx, "", opts)
}

// Lose removes the facts of a resource, as if a run was interrupted before they were stored.
func (h *Host) Lose(id resource.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.known, id)
}

// of returns a context for the call with a name.
func (h *Host) of(ctx context.Context, call string, opts provider.Options) *provider.Context {
	h.mu.Lock()
	if opts.Known == nil {
		opts.Known = maps.Clone(h.known[opts.ID])
	}
	if opts.Kept == nil {
		opts.Kept = h.kept[opts.ID]
	}
	h.mu.Unlock()
	return provider.NewContext(ctx, &hostOf{Host: h, id: opts.ID, call: call, dry: opts.DryRun}, opts)
}

// Keep implements provider.Host.
func (h *Host) Keep(_ context.Context, state []byte, outputs map[string]any) error {
	return keepState(&h.account, "", state, outputs)
}

// hostOf is the host of one call for a resource.
type hostOf struct {
	*Host
	id   resource.ID
	call string // its name, "" if it is unknown
	dry  bool
}

// Log implements provider.Host.
func (h *hostOf) Log(line provider.Line) { h.log(line, h.call) }

// Changed implements provider.Host.
func (h *hostOf) Changed(attribute string, d diff.Diff) { h.change(attribute, d, h.call) }

// Provider implements provider.Host.
func (h *hostOf) Provider(name, why string) { h.choose(name, why, h.call) }

// Fact implements provider.Host.
func (h *hostOf) Fact(name string, value resource.Data) {
	h.fact(name, value, h.call)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known[h.id] == nil {
		h.known[h.id] = map[string]string{}
	}
	h.known[h.id][name] = value.Text()
}

// Keep implements provider.Host.
func (h *hostOf) Keep(_ context.Context, state []byte, outputs map[string]any) error {
	if h.dry {
		return advise("keep state only where ctx.DryRun() is false", "a dry run keeps no state")
	}
	return keepState(&h.account, h.id, state, outputs)
}

// memory is the files of a host, by hash.
type memory map[string][]byte

// Open implements provider.Files.
func (m memory) Open(_ context.Context, hash string) (io.ReadCloser, error) {
	data, ok := m[hash]
	if !ok {
		return nil, fault.New(fault.NotFound, "open file", "there is no file %s", hash)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}
