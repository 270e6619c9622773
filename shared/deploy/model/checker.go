package model

import (
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Checker checks and completes models by the types and handlers of a program.
type Checker struct {
	types    *schema.Registry
	handlers map[string]provider.Handler // by type
}

// NewChecker returns a checker of models by these types and handlers.
func NewChecker(types *schema.Registry, handlers map[string]provider.Handler) *Checker {
	return &Checker{types: types, handlers: handlers}
}
