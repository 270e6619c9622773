package provider

import (
	"fmt"
	"reflect"
	"strings"
)

// capabilities are the optional interfaces of handlers.
func capabilities() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[BatchApplier](), reflect.TypeFor[BatchReader](),
		reflect.TypeFor[Canonicaliser](), reflect.TypeFor[Differ](), reflect.TypeFor[FactReader](),
		reflect.TypeFor[Finder](), reflect.TypeFor[Flusher](), reflect.TypeFor[Generator](),
		reflect.TypeFor[Importer](), reflect.TypeFor[InSyncer](),
		reflect.TypeFor[Keeper](), reflect.TypeFor[KeptShower](), reflect.TypeFor[Lister](),
		reflect.TypeFor[Nooper](), reflect.TypeFor[Partial](), reflect.TypeFor[Reloader](),
		reflect.TypeFor[Rememberer](), reflect.TypeFor[Selective](), reflect.TypeFor[Timeouter](),
	}
}

// A Mismatch is a method of a handler that has the name of a method of an optional interface and
// does not implement it: the engine never calls it.
type Mismatch struct{ Message, Hint string }

// Mismatches returns the methods of a handler that the engine ignores because of their signatures.
func Mismatches(h Handler) []Mismatch {
	t := reflect.TypeOf(h)
	if t == nil {
		return nil
	}
	var out []Mismatch
	for _, c := range capabilities() {
		if t.Implements(c) {
			continue
		}
		want := c.Method(0) // each has one method
		if m, is := t.MethodByName(want.Name); is {
			out = append(out, Mismatch{
				Message: fmt.Sprintf("the handler's method %s is %s, which is no provider.%s: it is "+
					"never called", want.Name, signature(reflect.Zero(t).Method(m.Index).Type()), c.Name()),
				Hint: "change its signature to " + signature(want.Type),
			})
		} else if _, is := reflect.PointerTo(t).MethodByName(want.Name); is && t.Kind() == reflect.Struct {
			out = append(out, Mismatch{
				Message: fmt.Sprintf("the method %s has a pointer receiver, and the handler is a value: "+
					"it is never called", want.Name),
				Hint: "give the definition a pointer to the handler"})
		}
	}
	return out
}

// signature returns the text of the type of a method, as people write it.
func signature(t reflect.Type) string { return strings.ReplaceAll(t.String(), "interface {}", "any") }
