package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"southbound/shared/provider"
	"southbound/shared/resource"
)

// world holds the objects that handlers manage: one for each resource. For types whose identity the
// world chooses, there is one for each create.
type world struct {
	things map[resource.ID]*thing
}

// thing holds the objects of one resource.
type thing struct {
	parts
	exists bool
	made   []*copyOf // for types whose identity the world chooses
	// A long operation in progress.
	pending   *parts
	busyUntil time.Duration
	// The failures of the object.
	broken  provider.Class // class of failed changes; "": no failure
	skips   bool           // changes fail with ErrSkip
	unread  bool           // reads fail, too
	forGood bool           // permanent: it outlasts the end of the faults
	// drifted: changed by a caller other than a live holder, so that only a check can correct it.
	drifted bool
	// rekeyed: such a caller wrote the key, which no check can read.
	rekeyed bool
}

// parts are the attributes of an object.
type parts struct {
	v     int64
	text  string
	fixed int64
	// serial distinguishes coexisting copies of a replaced type; 0: none.
	serial int64
	// key is written and never read; 0: no key is desired.
	key int64
}

// copyOf is an object created for a type whose identity the world chooses.
type copyOf struct {
	parts
	token string
	at    time.Duration
	// seen: reads find its identity. An object whose create lost its answer is not found until it
	// is looked up.
	seen bool
	late bool // created by a holder that had lost its lane
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

// complete finishes a long operation whose time has passed.
func (t *thing) complete(now time.Duration) {
	if t.pending != nil && now >= t.busyUntil {
		t.parts, t.exists, t.pending = *t.pending, true, nil
	}
}

// observe returns the result of a read.
func (t *thing) observe(now time.Duration) (parts, bool) {
	t.complete(now)
	if t.pending != nil {
		p := t.parts
		p.v = -1 // in transition
		if !t.exists {
			p.fixed = t.pending.fixed // the create has already set this part
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

// disclose replaces the secret of an object by one that the engine does not know.
func (t *thing) disclose() { t.instead(marker + "-by-hand") }

// leave replaces the secret of an object whose resource was forgotten. The engine no longer knows
// which of its attributes held a secret, so a later discovery may find an arbitrary value there.
// The results of its creates can no longer be looked up.
func (t *thing) leave() {
	t.instead("left")
	for _, m := range t.made {
		m.late = m.late || !m.seen
	}
}

// instead replaces the secrets of an object.
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

// wipe removes the object and all records of it.
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

// attributes returns the attributes that a handler reports.
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

// fail returns the error of changing an object, or of reading it.
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

// secretOf returns the value and the version of a secret. The value contains a marker that must not
// be stored anywhere.
func secretOf(r *run, ref resource.Secret) (value, version string) {
	version = ref.Version
	if version == "" {
		version = r.secretVersion
	}
	return marker + "-" + ref.Source + "-" + version, version
}

// marker is contained in every secret of a simulation and in no other text.
const marker = "OPEN-SESAME"
