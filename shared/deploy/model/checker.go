package model

import (
	"context"
	"sync"

	"southbound/shared/internal/declared"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Checker checks and completes models by the types and handlers of a program, and by the declarations
// that resources name. It is safe for concurrent use.
//
// Large: it is the facade of the package: one method for each check of a model, and for each question
// about the type of a resource.
type Checker struct {
	types    *schema.Registry
	handlers map[string]provider.Handler // by type
	cache    *declared.Cache
	files    declared.Files
	*reading // of one operation; nil: the checker is not for one
}

// reading holds the declarations that one operation uses. The cache of the process may discard them.
type reading struct {
	ctx    context.Context // nil: no files are read
	mu     sync.Mutex
	loaded map[string]answer // by hash
	err    error             // the first error that may pass
}

// answer is a declaration, or why it cannot be used.
type answer struct {
	*schema.Declaration
	err error
}

// NewChecker returns a checker of models by these types and handlers. Declarations that are not in the
// cache are read from files by the checkers that In returns.
func NewChecker(
	types *schema.Registry, handlers map[string]provider.Handler, cache *declared.Cache,
	files declared.Files,
) *Checker {
	return &Checker{types: types, handlers: handlers, cache: cache, files: files}
}

// In returns a checker for one operation, which reads declarations within ctx. An operation asks
// for Err before it stores its result.
func (c *Checker) In(ctx context.Context) *Checker {
	if c.reading != nil {
		return c
	}
	out := *c
	out.reading = &reading{ctx: ctx, loaded: map[string]answer{}}
	return &out
}

// offline returns a checker for one operation that reads no files: it has only the declarations that
// the process has used before, and those that come with the model.
func (c *Checker) offline() *Checker {
	if c.reading != nil {
		return c
	}
	out := *c
	out.reading = &reading{loaded: map[string]answer{}}
	return &out
}

// Err returns why a declaration could not be read since In, if the reason may pass; nil: all could be
// read, or are lost. A resource of a version whose declaration is lost counts as one of an unknown
// type, as if the program lacked its type.
func (c *Checker) Err() error {
	if c.reading == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
