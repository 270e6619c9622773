// Package fault gives errors a kind, so that callers branch on the kind and never on the text.
package fault

import (
	"context"
	"errors"
	"fmt"
)

// Kind classifies an error. Kinds are only ever added.
type Kind string

// The kinds. Each comment names the required action, where there is one.
const (
	Unknown Kind = ""      // not from this program; treat as Internal
	Usage   Kind = "usage" // the command line was wrong; the caller corrects it
	// the input was wrong and nothing was stored; the author corrects it
	Invalid     Kind = "invalid"
	NotFound    Kind = "not_found"   // the named thing does not exist
	Conflict    Kind = "conflict"    // a conditional write lost; read again and decide again
	Fenced      Kind = "fenced"      // the lease was taken over; stop, another holder is working
	Busy        Kind = "busy"        // another process holds it now; try again later
	Unavailable Kind = "unavailable" // store, network or target cannot be reached now; retry
	Timeout     Kind = "timeout"     // the time limit expired
	Full        Kind = "full"        // no space left where data had to be stored
	Denied      Kind = "denied"      // no permission
	Damaged     Kind = "damaged"     // stored data is corrupt; a person must look
	// the data belongs to another program or a newer version; left alone
	Foreign     Kind = "foreign"
	Unsupported Kind = "unsupported" // a request that this build or home does not support
	Canceled    Kind = "canceled"    // the caller gave up
	Internal    Kind = "internal"    // a bug
	Refused     Kind = "refused"     // the effect would exceed or differ from the allowed one
)

// Error is an error with a kind, the failed operation and a hint.
type Error struct {
	Kind    Kind
	Op      string // the operation, a verb phrase: "open data directory"
	Message string // the problem; may be empty if Err describes it
	Hint    string // the action to take; may be empty
	Err     error  // the cause, may be nil
}

// New returns an error of a kind. Its message is made from format and args.
func New(kind Kind, op, format string, args ...any) *Error {
	return &Error{Kind: kind, Op: op, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns err with a kind and an operation, or nil when err is nil.
func Wrap(kind Kind, op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: kind, Op: op, Err: err}
}

// WithHint sets the hint for the user, and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Error returns "op: message: cause".
func (e *Error) Error() string {
	s := e.Op
	for _, part := range []string{e.Message, errText(e.Err)} {
		switch {
		case part == "":
		case s == "":
			s = part
		default:
			s += ": " + part
		}
	}
	if s == "" {
		return string(e.Kind)
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// KindOf returns the kind of the outermost Error in err's chain that has one, Canceled or Timeout
// for the context errors, and Unknown otherwise.
func KindOf(err error) Kind {
	for e := err; e != nil; {
		var fe *Error
		if !errors.As(e, &fe) {
			break
		}
		if fe.Kind != Unknown {
			return fe.Kind
		}
		e = fe.Err
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	}
	return Unknown
}

// Is reports whether err is of the kind.
func Is(err error, kind Kind) bool { return err != nil && KindOf(err) == kind }

// HintOf returns the first hint in err's chain, or "".
func HintOf(err error) string {
	for e := err; e != nil; {
		var fe *Error
		if !errors.As(e, &fe) {
			return ""
		}
		if fe.Hint != "" {
			return fe.Hint
		}
		e = fe.Err
	}
	return ""
}

// Ended returns the reason why a context is done, for people: the cause that the caller of cancel
// gave. For errors.Is, it also matches the error of the context.
func Ended(ctx context.Context) error {
	cause, err := context.Cause(ctx), ctx.Err()
	switch {
	case err == nil:
		return nil
	case cause == context.DeadlineExceeded: // no cause was given
		return &ended{errors.New("the time for it ran out"), err}
	}
	return &ended{cause, err}
}

type ended struct{ cause, err error }

// Error implements error.
func (e *ended) Error() string { return e.cause.Error() }

// Unwrap returns the cause and the error of the context.
func (e *ended) Unwrap() []error { return []error{e.cause, e.err} }
