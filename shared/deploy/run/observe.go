package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// maxOdd bounds how many attributes that contradict the declaration are logged.
const maxOdd = 10

// observe stores the reading of a handler, as values that can be compared, stored and shown.
func (x reader) observe(r *Run, reading provider.Reading) {
	r.seen = seen(reading.Observation)
	if reading.Err != nil {
		x.fail(r, reading.Err)
	}
}

// seen returns the observation of a handler, as values that can be compared, stored and shown.
func seen(o provider.Observation) provider.Observation {
	return provider.Observation{Exists: o.Exists, Attributes: provider.ObservedAll(o.Attributes),
		Mark: o.Mark, Carried: o.Carried}
}

// Destroys returns a digest of the observed values that the decided change destroys. For a thing
// that is deleted or replaced, these are all observed values; otherwise the attributes that change.
// The digest includes the mark of the handler. It is empty if nothing is destroyed. Attributes that
// hold secrets are left out.
func Destroys(r *Run) string {
	if !r.seen.Exists || r.act != diff.Purged && r.act != diff.Updated {
		return ""
	}
	found := map[string]any{"": r.seen.Mark}
	for i := range r.typ.Attributes {
		a := &r.typ.Attributes[i]
		_, changes := r.diff[a.Name]
		whole := r.act == diff.Purged || r.replaces
		if v := r.seen.Attributes[a.Name]; v != nil && !r.host.hidden[a.Name] &&
			(changes || whole && a.Behaviour != schema.ReadOnly) {
			found[a.Name] = v
		}
	}
	text, err := json.Marshal(found)
	if err != nil {
		return "" // such values are compared in the form in which they are shown
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// declared reports read attributes that contradict the declared type, as the setting strict
// requires: a value that can never be as wanted would make every run a repair. odd are the
// contradictions. The run may have failed afterwards. The secrets in the read attributes have to be
// registered before.
func (x comparer) declared(r *Run, odd []diag.Problem) {
	for i, p := range odd {
		kw := map[string]any{"attribute": p.Attribute}
		if a, declared := r.typ.Attribute(p.Attribute); declared {
			kw["type"] = a.Type
			of := map[string]diff.Diff{p.Attribute: {Current: r.seen.Attributes[p.Attribute]}}
			kw["value"] = r.host.Diffs(of, nil, false)[p.Attribute].Current
		}
		text := fmt.Sprintf(
			"the handler reports attributes that its type does not declare: %s: %s",
			p.Attribute,
			p.Message,
		)
		if x.Strict == provider.StrictError {
			r.End(state.StatusFailed, provider.Terminal, text)
			return
		}
		if i == maxOdd {
			text, kw = fmt.Sprintf(
				"the handler reports %d attributes that are not as its type declares them",
				len(odd),
			), nil
		}
		r.host.Log(
			provider.Line{
				At:     x.Runner.Clock.Now(),
				Level:  provider.LevelWarning,
				Msg:    text,
				Kwargs: kw,
			},
		)
		if i == maxOdd {
			break
		}
	}
}

// observedDiffs converts the differences that a handler has found to a form that can be stored and
// shown.
func observedDiffs(diffs map[string]diff.Diff) map[string]diff.Diff {
	if len(diffs) == 0 {
		return nil
	}
	out := make(map[string]diff.Diff, len(diffs))
	for name, d := range diffs {
		d.Current, d.Desired = provider.Observed(d.Current), provider.Observed(d.Desired)
		out[name] = d
	}
	return out
}
