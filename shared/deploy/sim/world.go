package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"southbound/shared/provider"
	"southbound/shared/resource"
)

// world is what handlers manage: a thing for each resource, and for types whose identity the world
// chooses as many as were created.
type world struct {
	things map[resource.ID]*thing
}

// thing is what is there for one resource.
type thing struct {
	parts
	exists bool
	made   []*copyOf // of types whose identity the world chooses
	// A long operation that is under way.
	pending   *parts
	busyUntil time.Duration
	// What is wrong with it.
	broken  provider.Class // changing it fails so; "" is well
	skips   bool           // with ErrSkip
	unread  bool           // reading it fails, too
	forGood bool           // stays broken when the world heals
	// drifted: somebody other than a live holder changed it, so that only a check can put it right.
	drifted bool
	// rekeyed: such a one wrote the key, which no check can see.
	rekeyed bool
}

// parts are the attributes of a thing.
type parts struct {
	v     int64
	text  string
	fixed int64
	// serial tells copies of types that stand beside each other apart; 0: there is none.
	serial int64
	// key is written and never read; 0: none is wanted.
	key int64
}

// copyOf is one thing that a create made, of a type whose identity the world chooses.
type copyOf struct {
	parts
	token string
	at    time.Duration
	// seen: its identity is known to whoever reads. What a create made whose answer was lost is
	// not, until it is looked up.
	seen bool
	late bool // by a holder that had lost its lane
}

func (w *world) thing(id resource.ID) *thing {
	id = thingOf(id)
	t := w.things[id]
	if t == nil {
		t = &thing{}
		w.things[id] = t
	}
	return t
}

// complete ends a long operation whose time has come.
func (t *thing) complete(now time.Duration) {
	if t.pending != nil && now >= t.busyUntil {
		t.parts, t.exists, t.pending = *t.pending, true, nil
	}
}

// observe returns what reading shows.
func (t *thing) observe(now time.Duration) (parts, bool) {
	t.complete(now)
	if t.pending != nil {
		p := t.parts
		p.v = -1 // on its way to something else
		if !t.exists {
			p.fixed = t.pending.fixed // what only a create can set, it has set
		}
		return p, true
	}
	for _, c := range slices.Backward(t.made) {
		if c.seen {
			return c.parts, true
		}
	}
	return t.parts, t.exists
}

// disclose makes what holds a secret hold another one, which nobody has been told.
func (t *thing) disclose() { t.instead(marker + "-by-hand") }

// leave makes what holds a secret hold none: it was let go of, so that nobody knows any more which
// of its attributes held one, and whoever finds it later finds what anybody may have put there. Nor
// can what a create led to be looked up any more.
func (t *thing) leave() {
	t.instead("left")
	for _, m := range t.made {
		m.late = m.late || !m.seen
	}
}

// instead replaces what holds a secret.
func (t *thing) instead(text string) {
	all := []*parts{&t.parts}
	for _, m := range t.made {
		all = append(all, &m.parts)
	}
	if t.pending != nil {
		all = append(all, t.pending)
	}
	for _, p := range all {
		if strings.Contains(p.text, marker) {
			p.text = text
		}
	}
}

// wipe removes the thing and what is known of it.
func (t *thing) wipe() {
	t.parts, t.exists, t.pending, t.made = parts{}, false, nil, nil
}

// partsOf returns the attributes of a desired resource.
func partsOf(attributes map[string]any) parts {
	var p parts
	p.v, _ = attributes["v"].(int64)
	p.text, _ = attributes["text"].(string)
	p.fixed, _ = attributes["fixed"].(int64)
	p.key, _ = attributes["key"].(int64)
	return p
}

// attributes returns what a handler reports.
func (p parts) attributes() map[string]any {
	m := map[string]any{"v": p.v}
	if p.text != "" {
		m["text"] = p.text
	}
	if p.fixed != 0 {
		m["fixed"] = p.fixed
	}
	if p.serial != 0 {
		m["serial"] = p.serial
	}
	return m
}

// fail returns what is wrong with changing a thing, or with reading it.
func (t *thing) fail(reading bool) error {
	switch {
	case reading && !t.unread:
	case t.skips:
		return fmt.Errorf("not now: %w", provider.ErrSkip)
	case t.broken != "":
		return provider.Errorf(t.broken, "the thing is broken (%s)", t.broken)
	}
	return nil
}

// secretOf returns the value of a reference to a secret and its version. The value holds a marker
// that may be stored nowhere.
func secretOf(r *run, ref resource.Secret) (value, version string) {
	version = ref.Version
	if version == "" {
		version = r.secretVersion
	}
	return marker + "-" + ref.Source + "-" + version, version
}

// marker is in every secret of a simulation and nowhere else.
const marker = "OPEN-SESAME"
