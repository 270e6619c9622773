package provider

import (
	"errors"
	"fmt"
)

// Class says what follows from a handler's error.
type Class string

// The classes. An error without one is Retryable.
const (
	Retryable   Class = "retryable"    // may pass by itself: retried with backoff
	Terminal    Class = "terminal"     // will not pass by itself: waits for a new intent or a person
	NeedsChange Class = "needs_change" // the desired state itself is wrong: waits for a new intent
)

type classified struct {
	class Class
	err   error
}

func (e *classified) Error() string { return e.err.Error() }
func (e *classified) Unwrap() error { return e.err }

// Errorf returns an error of a class; it formats like fmt.Errorf, %w included.
func Errorf(class Class, format string, args ...any) error {
	return &classified{class, fmt.Errorf(format, args...)}
}

// ClassOf returns the class of err, Retryable when it has none.
func ClassOf(err error) Class {
	var c *classified
	if errors.As(err, &c) {
		return c.class
	}
	return Retryable
}

// ErrSkip, wrapped in a handler's error, makes the run end as skipped instead of failed.
var ErrSkip = errors.New("skipped by its handler")
