package run

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"sync"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

const (
	redacted  = diff.Redacted
	maxLines  = 1000     // log lines kept of one run
	maxText   = 16 << 10 // bytes kept of one text in a log line
	maxValue  = 512      // bytes kept of one value in changes
	maxFacts  = 1000
	maxLine   = 64 << 10 // bytes kept of the values of one log line
	maxLogged = 4 << 20  // bytes kept of all lines of one run
	maxState  = 4 << 10  // bytes of state for the next call of a handler, see provider.Again

	maxUnified = 16 << 10 // bytes kept of one unified diff in changes
	maxWhole   = 1 << 20  // bytes kept of each value or diff if changes are shown at full length
)

// host is the API of a handler during one run, which it reaches through its Context. It keeps the
// reports of the handler, without secrets.
type host struct {
	origin
	*Redactor
	state []byte // the state that the handler asked to get back
	need  Need
	local map[string]state.Blob // files that are not stored yet, for a preview
	whole bool                  // changes are shown with values at full length
	dry   bool
	typ   *schema.Compiled
	want  map[string]any // attributes as the resource has them
	cache *provider.Cache
	// keeping is the kept state; nil: the handler keeps none. earlier are the earlier ids of the
	// thing, under which its state may still be stored.
	keeping *keeping
	earlier []resource.ID

	mu sync.Mutex // guards said: a call that was left behind may still write
	said
}

// origin describes the source of a run.
type origin struct {
	runner  *Runner
	env     string
	session *Session
	lists   *Lists // of the session
	id      resource.ID
}

// said is the data that a handler has reported.
type said struct {
	lines   []provider.Line
	dropped int
	logged  int  // bytes
	late    bool // a secret became known after lines were logged, which may hold it
	changed map[string]diff.Diff
	facts   map[string]resource.Data
	// The handler's own report about the run.
	provider, providerWhy string
	override              diff.Change
	overrides             int // how often override was set to another value
}

// detach returns a copy of the host that a call which was left behind with the old host cannot
// reach.
func (h *host) detach() *host {
	h.mu.Lock()
	defer h.mu.Unlock()
	return &host{origin: h.origin, Redactor: h.Redactor.clone(), state: h.state, need: h.need,
		local: h.local, whole: h.whole, dry: h.dry, typ: h.typ, want: h.want, cache: h.cache,
		keeping: h.keeping.follow(), earlier: h.earlier,
		said: said{lines: slices.Clone(h.lines), logged: h.logged, late: h.late,
			changed: maps.Clone(h.changed), facts: maps.Clone(h.facts),
			provider: h.provider, providerWhy: h.providerWhy}}
}

// Log implements provider.Host.
func (h *host) Log(line provider.Line) {
	line.Msg = h.redact(line.Msg)
	size := len(line.Msg)
	if len(line.Kwargs) > 0 {
		kw, _ := h.redactAny(provider.Plain(line.Kwargs)).(map[string]any)
		if size += sizeOf(kw); size > maxLine {
			kw = map[string]any{"left_out": fmt.Sprintf("%d bytes of values", size)}
			size = len(line.Msg)
		}
		line.Kwargs = kw
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logged += size
	switch {
	case len(h.lines) < maxLines && h.logged <= maxLogged:
		h.lines = append(h.lines, line)
	case h.dropped == 0:
		h.dropped++
		h.lines = append(h.lines, provider.Line{At: line.At, Level: provider.LevelWarning,
			Msg: fmt.Sprintf(
				"more than %d log lines, or %d bytes; the rest is left out",
				maxLines,
				maxLogged,
			)})
	}
}

// sizeOf estimates the size in bytes of a value made by provider.Plain.
func sizeOf(v any) int {
	switch v := v.(type) {
	case string:
		return len(v) + 2
	case []any:
		n := 2
		for _, e := range v {
			n += sizeOf(e) + 1
		}
		return n
	case map[string]any:
		n := 2
		for k, e := range v {
			n += len(k) + sizeOf(e) + 4
		}
		return n
	}
	return 8
}

// Now implements provider.Host.
func (h *host) Now() time.Time { return h.runner.Clock.Now() }

// Changed implements provider.Host.
func (h *host) Changed(attribute string, d diff.Diff) {
	d.Current, d.Desired = provider.Plain(d.Current), provider.Plain(d.Desired)
	if h.unmanaged(attribute) {
		shown := h.Diffs(map[string]diff.Diff{attribute: d}, nil, false)[attribute]
		h.Log(provider.Line{At: h.Now(), Level: provider.LevelWarning,
			Msg: "drift of an attribute that the resource does not set; " +
				"it is not a change of this run",
			Kwargs: map[string]any{
				"attribute": attribute,
				"current":   shown.Current,
				"desired":   shown.Desired,
			}})
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed == nil {
		h.changed = map[string]diff.Diff{}
	}
	h.changed[attribute] = d
}

// Fact implements provider.Host.
func (h *host) Fact(name string, value resource.Data) {
	clean, err := h.cleanData(value)
	if err == nil {
		err = provider.CheckFact(name, clean) // it may be longer without its secrets
	}
	if err != nil {
		h.Log(provider.Line{At: h.Now(), Level: provider.LevelError,
			Msg: fmt.Sprintf("fact %q of %s is refused: %v", shorten(name, maxValue), h.id, err)})
		return
	}
	value = clean
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.facts == nil {
		h.facts = map[string]resource.Data{}
	}
	if len(h.facts) < maxFacts {
		h.facts[name] = value
	}
}

// fact returns a reported fact.
func (h *host) fact(name string) (value resource.Data, is bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	value, is = h.facts[name]
	return value, is
}

// Files implements provider.Host.
func (h *host) Files() provider.Files { return FilesOf(h.runner.Files, h.local) }

// FilesOf returns the stored files and, for a preview, files that are not stored yet.
func FilesOf(stored state.Files, local map[string]state.Blob) provider.Files {
	return files{stored, local}
}

// files implements provider.Files.
type files struct {
	f     state.Files
	local map[string]state.Blob
}

// Open implements provider.Files.
func (f files) Open(ctx context.Context, hash string) (io.ReadCloser, error) {
	if b, ok := f.local[hash]; ok {
		if b.Open != nil {
			return b.Open()
		}
		return io.NopCloser(bytes.NewReader(b.Data)), nil
	}
	return f.f.Open(ctx, hash)
}

// unmanaged reports whether the resource could set an attribute and does not.
func (h *host) unmanaged(attribute string) bool {
	if h.typ == nil {
		return false
	}
	a, ok := h.typ.Attribute(attribute)
	return ok && a.Behaviour != schema.ReadOnly && h.want[attribute] == nil
}

// Provider implements provider.Host.
func (h *host) Provider(name, why string) {
	why = h.redact(why)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.provider, h.providerWhy = name, why
}

// Override implements provider.Host.
func (h *host) Override(change diff.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.overrides == 0 || h.override != change {
		h.overrides++
	}
	h.override = change
}

// Cache implements provider.Host.
func (h *host) Cache() *provider.Cache { return h.cache }

// Transport implements provider.Host.
func (h *host) Transport() any {
	if r, ok := h.session.transport.(provider.ReadOnly); ok && h.dry {
		return r.ReadOnly()
	}
	return h.session.transport
}

// Secret implements provider.Host.
func (h *host) Secret(value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.late = h.late || len(h.lines) > 0
	h.add(value)
}

// secretsIn registers every text and number in v as a secret.
func (h *host) secretsIn(v any) {
	switch v := v.(type) {
	case string:
		h.Secret(v)
	case int64, float64, *big.Int:
		h.Secret(fmt.Sprint(v))
	case []any:
		for _, e := range v {
			h.secretsIn(e)
		}
	case map[string]any:
		for _, e := range v {
			h.secretsIn(e)
		}
	}
}

// redactLines removes secrets from log lines that were logged before these secrets were known.
func (h *host) redactLines() {
	if len(h.hidden) == 0 && !h.late {
		return
	}
	h.late = false
	for i := range h.lines {
		h.lines[i].Msg = h.redact(h.lines[i].Msg)
		for k, v := range h.lines[i].Kwargs {
			h.lines[i].Kwargs[k] = h.redactAny(v)
		}
	}
}
