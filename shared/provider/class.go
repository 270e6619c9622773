package provider

import (
	"errors"
	"fmt"
)

// Class defines how the engine continues after a handler's error.
type Class string

// The classes. An error without one is Retryable.
const (
	Retryable Class = "retryable" // may be temporary: retried with backoff
	// is permanent: waits for a new intent or a person
	Terminal    Class = "terminal"
	NeedsChange Class = "needs_change" // the desired state is invalid: waits for a new intent
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

// ClassOf returns the class of err, Retryable if it has none.
func ClassOf(err error) Class {
	var c *classified
	if errors.As(err, &c) {
		return c.class
	}
	return Retryable
}

// ErrSkip, wrapped in a handler's error, makes the run end as skipped instead of failed.
var ErrSkip = errors.New("skipped by its handler")

// ErrUnavailable, wrapped in a handler's error, reports that a requirement of the handler is
// missing here, such as a program. The run ends as unavailable and is retried.
var ErrUnavailable = errors.New("its handler cannot be run here")

// ErrNothingMade, wrapped in the error of a Create, reports that certainly nothing was created: the
// target has refused, or was never reached. No lookup is needed then.
var ErrNothingMade = errors.New("nothing was made")

// ErrUndecided, wrapped in the error of a Finder, reports that the result of a create cannot be
// determined: a person decides.
var ErrUndecided = errors.New("the result of a create cannot be determined")

// With returns err as an error that also is mark, such as ErrNothingMade. The class and the text of
// err are kept.
func With(err, mark error) error {
	if err == nil {
		return nil
	}
	return &marked{err, mark}
}

type marked struct{ err, mark error }

func (e *marked) Error() string   { return e.err.Error() }
func (e *marked) Unwrap() []error { return []error{e.err, e.mark} }
