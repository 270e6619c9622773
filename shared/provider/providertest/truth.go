package providertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// truthful holds what a call that went well has said of itself against what is there.
func truthful(e *env, c provider.BatchChange) error {
	e.host.mu.Lock()
	claimed, override := maps.Clone(e.host.claimed), e.host.override
	e.host.mu.Unlock()
	if len(claimed) == 0 && override != diff.NoChange {
		return nil
	}
	if e.ctx.Err() != nil || c.Change == diff.Purged && len(claimed) == 0 && e.typ.CreateFirst {
		return nil
	}
	obs, err := e.read(c.Resource, false)
	if err != nil {
		return err
	}
	if override == diff.NoChange && c.Changes != nil &&
		(obs.Exists != c.Observed.Exists || hasMoved(e, c.Observed, obs)) {
		return advise("call SetChange only with what the call has really done",
			"it says through SetChange that nothing was changed, and something was")
	}
	for _, name := range slices.Sorted(maps.Keys(claimed)) {
		a, declared := e.typ.Attribute(name)
		d := claimed[name]
		if !declared || !diff.Compared(&a.Attribute) || c.Change == diff.Purged ||
			c.Resource.Attributes[name] == nil || !obs.Exists {
			continue
		}
		if to, err := resource.FromGo(d.Desired); err != nil ||
			!resource.Equal(to, obs.Attributes[name]) &&
				!resource.Equal(to, c.Resource.Attributes[name]) {
			return advise(
				"call Changed with what was there and what is there now, and only for what this "+
					"call has changed",
				"it says through Changed that %s is another now, and that is not what is read then",
				name)
		}
		if from, err := resource.FromGo(d.Current); err == nil && resource.Equal(from, d.Desired) ||
			c.Observed.Exists && sameValue(name, c.Observed, obs) {
			return advise(
				"call Changed with what was there and what is there now, and only for what this "+
					"call has changed",
				"it says through Changed that %s was changed, and it is read as it was before",
				name)
		}
	}
	return nil
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
	for _, l := range e.host.Lines() {
		for key, v := range l.Kwargs {
			if why := unrecordable(reflect.ValueOf(v), 0); why != "" {
				return advise(
					"log texts, numbers and booleans, and lists and maps of them; say in words "+
						"what is not a number",
					"%s of the log line %q cannot be recorded: it is %s", key, l.Msg, why)
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
		"the handler %s a context that it has kept from another call", e.host.kept)
}
