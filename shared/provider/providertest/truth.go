package providertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// truthful holds what a call that went well has said of itself against what is there.
func truthful(e *env, c provider.BatchChange) error {
	e.host.mu.Lock()
	claimed, override := maps.Clone(e.host.claimed), e.host.override
	e.host.mu.Unlock()
	if len(claimed) == 0 && override == "" {
		return nil
	}
	if e.ctx.Err() != nil || c.Change == diff.Purged && len(claimed) == 0 && e.typ.CreateFirst {
		return nil
	}
	obs, err := e.read(c.Resource, false)
	if err != nil {
		return err
	}
	if err := checkOverride(e, c, obs); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(claimed)) {
		a, declared := e.typ.Attribute(name)
		d := claimed[name]
		if declared && a.Behaviour == schema.ReadOnly && obs.Attributes[name] != nil {
			if to, err := resource.FromGo(d.Desired); err != nil ||
				!resource.Equal(to, obs.Attributes[name]) {
				return claimsWrongly(
					"that %s, which is read-only, is another now, and that is not what is read then",
					name)
			}
		}
		if !declared || !diff.Compared(&a.Attribute) {
			continue
		}
		if c.Change == diff.Purged && !obs.Exists && d.Desired != nil {
			return claimsWrongly("that %s is another now, and the thing is gone", name)
		}
		if c.Change == diff.Purged || c.Resource.Attributes[name] == nil || !obs.Exists {
			continue
		}
		if to, err := resource.FromGo(d.Desired); err != nil ||
			!resource.Equal(to, obs.Attributes[name]) &&
				!resource.Equal(to, c.Resource.Attributes[name]) {
			return claimsWrongly(
				"that %s is another now, and that is not what is read then", name)
		}
		from, err := resource.FromGo(d.Current)
		if err == nil && resource.Equal(from, d.Desired) ||
			c.Observed.Exists && sameValue(name, c.Observed, obs) {
			return claimsWrongly("that %s was changed, and it is read as it was before", name)
		}
		if c.Observed.Exists && (err != nil || !resource.Equal(from, c.Observed.Attributes[name])) {
			return claimsWrongly("that %s was another before than what was read then", name)
		}
	}
	return nil
}

// settle holds what calls that have failed said against what is there, as soon as that can be read.
func settle(e *env) {
	due := e.traces.due()
	if len(due) == 0 || e.ctx.Err() != nil {
		return
	}
	for _, claim := range due {
		c := claim.call
		obs, err := e.read(c.Resource, false)
		if err != nil {
			return // the target is cut off; it is looked at later
		}
		for _, name := range slices.Sorted(maps.Keys(claim.changed)) {
			a, declared := e.typ.Attribute(name)
			if !declared || !diff.Compared(&a.Attribute) || c.Resource.Attributes[name] == nil {
				continue
			}
			to, err := resource.FromGo(claim.changed[name].Desired)
			if now := obs.Attributes[name]; err != nil || !resource.Equal(to, now) {
				e.traces.note("a claim", advise(
					"call Changed after what it tells of was done, and not before",
					"%s failed, and says through Changed that %s is another now, and that is not "+
						"what is read then", callOf(nameOfCall(c.Change), c.Resource), name))
			}
		}
	}
	e.traces.paid()
}

// claimsWrongly is the error for a call of Changed that is not true.
func claimsWrongly(format string, args ...any) error {
	return advise("call Changed with what was there and what is there now, and only for what this "+
		"call has changed", "it says through Changed "+format, args...)
}

// checkOverride holds what SetChange was called with against what was there before and after.
func checkOverride(e *env, c provider.BatchChange, now provider.Observation) error {
	e.host.mu.Lock()
	said, contradicts := e.host.override, e.host.contradicts
	e.host.mu.Unlock()
	was := c.Observed.Exists
	moved := now.Exists != was || c.Changes != nil && hasMoved(e, c.Observed, now)
	wrong := ""
	switch {
	case contradicts:
		wrong = "two different things in one call"
	case said == "":
	case said == diff.NoChange && moved:
		wrong = "that nothing was changed, and something was"
	case said == diff.Created && (was || !now.Exists):
		wrong = "that it was created, and it was there before, or is not there now"
	case said == diff.Updated && !now.Exists:
		wrong = "that it was updated, and it is not there"
	case said == diff.Purged && now.Exists:
		wrong = "that it was purged, and it is there"
	case !slices.Contains(
		[]diff.Change{diff.NoChange, diff.Created, diff.Updated, diff.Purged}, said):
		wrong = fmt.Sprintf("%q, which is none of %s, %s, %s and %s", said, diff.NoChange,
			diff.Created, diff.Updated, diff.Purged)
	}
	if wrong == "" {
		return nil
	}
	return advise("call SetChange only with what the call has really done",
		"it says through SetChange %s", wrong)
}

// hasMoved reports whether what is compared was read differently before and after.
func hasMoved(e *env, before, after provider.Observation) bool {
	return slices.ContainsFunc(comparedAttributes(e),
		func(name string) bool { return !sameValue(name, before, after) })
}

// sameValue reports whether an attribute was read as the same twice.
func sameValue(name string, a, b provider.Observation) bool {
	return reflect.DeepEqual(a.Attributes[name], b.Attributes[name])
}

// checkRecordable demands that log lines can be kept.
func checkRecordable(e *env) error {
	e.host.mu.Lock()
	lines, in := slices.Clone(e.host.lines), slices.Clone(e.host.in)
	e.host.mu.Unlock()
	for i, l := range lines {
		for key, v := range l.Kwargs {
			if why := unrecordable(reflect.ValueOf(v), 0); why != "" {
				return advise(
					"log texts, numbers and booleans, and lists and maps of them; say in words "+
						"what is not a number",
					"%s of the log line %q of %s cannot be recorded: it is %s", key, l.Msg,
					cmp.Or(in[i], "a call"), why)
			}
		}
	}
	return nil
}

// endless is what a value is that holds itself.
const endless = "nested without end"

// deepest is how deep a value in a log line may be nested.
const deepest = 50

// unrecordable says why a value has no form in JSON, "" if it has one.
func unrecordable(v reflect.Value, depth int) string {
	if depth > deepest {
		return endless
	}
	if v.IsValid() && v.CanInterface() {
		switch x := v.Interface().(type) {
		case error, fmt.Stringer, json.Marshaler:
			return ""
		case float64:
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Sprint(x)
			}
		}
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			return unrecordable(v.Elem(), depth+1)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if why := unrecordable(v.Index(i), depth+1); why != "" {
				return why
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if why := unrecordable(v.MapIndex(key), depth+1); why != "" {
				return why
			}
		}
	case reflect.Chan, reflect.Func:
		return "a " + v.Kind().String()
	}
	return ""
}

// checkKeeps demands that no context is used after its call.
func checkKeeps(e *env) error {
	e.host.mu.Lock()
	defer e.host.mu.Unlock()
	if e.host.kept == "" {
		return nil
	}
	return advise(
		"use the context that a call is given, and keep none: each belongs to one resource and "+
			"ends with its call",
		"the handler %s", e.host.kept)
}
