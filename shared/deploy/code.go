package deploy

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Attributes of resources whose handlers come with them. Names like these no other attribute has.
const (
	CodeAttribute  = "_code"    // the code: a resource.File
	FilesAttribute = "_files"   // files that handlers ask for by other names: a map
	SeenAttribute  = "_changes" // of observations: what a handler has found to differ, with both values
)

// CodeTimeout bounds a call of a handler that comes with its resource. Whoever runs it ends it
// before.
const CodeTimeout = 10*time.Minute + 10*time.Second

// Code runs handlers that come with resources.
type Code interface {
	// Handler returns the handler of the resources at an agent that have this code. An error says
	// why
	// there is none.
	Handler(env, agent string, code resource.File) (provider.Handler, error)
}

// codeOf returns the code that a resource comes with.
func codeOf(r *resource.Resource) (resource.File, bool) {
	f, ok := r.Attributes[CodeAttribute].(resource.File)
	return f, ok
}

// OpenType returns the type of resources that come with their handlers, from what names them and
// their attributes.
func OpenType(typ, key string, attributes []string) *schema.Compiled {
	own := func(name string) bool { return strings.HasPrefix(name, "_") }
	return schema.Open(typ, key, slices.DeleteFunc(slices.Clone(attributes), own),
		[]string{CodeAttribute, FilesAttribute, SeenAttribute}, CodeTimeout)
}

// typeOf returns the type of a resource: one that comes with its handler declares itself.
func (e *Engine) typeOf(r *resource.Resource) (*schema.Compiled, bool) {
	if _, is := codeOf(r); !is {
		return e.Types.Type(r.Type)
	}
	parts, err := resource.ParseID(string(r.ID))
	if err != nil || len(parts.Keys) != 1 {
		return nil, false
	}
	names := make([]string, 0, len(r.Attributes))
	for name := range r.Attributes {
		names = append(names, name)
	}
	return OpenType(r.Type, parts.Keys[0].Name, names), true
}

// handlerOf returns the handler of a resource; nil if there is none, and why if that is known.
func (e *Engine) handlerOf(env string, r *resource.Resource) (h provider.Handler, why error) {
	code, is := codeOf(r)
	if !is {
		return e.Handlers[r.Type], nil
	}
	if e.Code == nil {
		return nil, errNoCode
	}
	return e.Code.Handler(env, r.Agent, code)
}

var errNoCode = errors.New("its handler is Python code, which this program does not run")

// coded reports whether a row is of a resource that comes with its handler, without decoding it:
// in texts, quotation marks would be escaped.
func coded(row *state.Row) bool {
	return bytes.Contains(row.Body, []byte(`"`+CodeAttribute+`":{"file":"`))
}

// ownHandler returns the handler of this program for a row; nil for one that comes with its
// handler.
func (e *Engine) ownHandler(row *state.Row) provider.Handler {
	typ := row.ID.Type()
	if h := e.Handlers[typ]; h == nil || !coded(row) {
		return h
	}
	return nil
}

// reportsFacts reports whether the handler of a row can be asked for facts.
func (e *Engine) reportsFacts(row *state.Row) bool {
	_, facts := provider.As[provider.FactReader](e.ownHandler(row))
	return facts || coded(row)
}
