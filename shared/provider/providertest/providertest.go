package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"southbound/shared/provider"
)

// Subject is a type with its handler, and the description of its tests.
type Subject struct {
	Definition provider.Definition
	// New returns the case of a test in a place of its own, in which nothing exists yet. dir is an
	// empty directory for the test; host offers files to the handler. New is called at least once
	// for each check.
	New func(dir string, host *Host) (Case, error)
	// Transport is the connection in the handler's context.
	Transport any
}

// Case is one resource to test with. Values are as in documents, with references resolved.
//
// Large: it is a declaration, of which most tests set a few fields.
type Case struct {
	// Attributes of a resource that does not exist. Defaults are filled in.
	Attributes map[string]any
	// Updates are applied to Attributes one after the other; the handler has to make each change by
	// an update. nil removes an attribute.
	Updates []map[string]any
	// InitOnly are other values of attributes that can only be set at creation; later changes to
	// them must be rejected.
	InitOnly map[string]any
	// Replaces are other values of attributes that can only be changed by replacing the thing.
	Replaces map[string]any
	// Resets are attributes, each with the reason, that an update of another attribute resets if
	// the resource does not set them.
	Resets map[string]string
	// Others are attributes of more resources that do not exist and are independent of the first,
	// for batches and parallel calls.
	Others []map[string]any
	// World describes everything that the handler could have changed, as a text that does not
	// depend on the place. Equal states have equal texts. nil: the state cannot be described, and
	// the suite does not check the effects of reads and dry runs.
	World func() (string, error)
	// Vanish removes the thing without the handler. nil: Delete does it.
	Vanish func() error
	// Foreign adds a part to the thing that the type does not know, as another program would: a
	// member of its object, a label, a line. nil: the suite does not check whether updates preserve
	// such parts.
	Foreign func() error
	// Interrupt stops the handler before the n-th (from 0) call to its target from now on, and
	// before all later calls, as if its process had been killed there. Those calls fail and have no
	// effect. restore permits calls again and reports whether any was stopped. nil: interruptions
	// are not checked.
	Interrupt func(n int) (restore func() (stopped bool))
	// Secrets are parts of values above that must appear in no log line, change, fact or error.
	Secrets []string
	// Present declares that the thing always has its desired state, and can be neither created nor
	// removed, so that it is never missing.
	Present bool
	// Edges are the attributes for which the suite tries values at the edges of their types, "*"
	// for all but the naming ones. The handler applies each value, or rejects it without a change.
	// nil: none, for targets to which any value could do harm.
	Edges []string
	// Unfit are attributes for which made-up values, or none, prove nothing, each with the reason.
	Unfit map[string]string
	// Unlisted names the place that the handler lists if it differs from that of the case, such as
	// the whole machine. "": they are the same.
	Unlisted string
	// Like are attributes that select the things to list, for handlers that require a selection.
	Like map[string]any
	// Lasting declares that a created thing remains when the resource is purged.
	Lasting bool
}

// Failure is a check that did not pass.
type Failure struct {
	Check string
	Err   error
	Fix   string // what the author of the handler should check
}

// Run runs every check as a subtest. A check that needs a member which the case does not set is
// skipped, and names the member.
func Run(t *testing.T, s Subject) {
	t.Helper()
	for _, c := range checks() {
		usable := true
		t.Run(c.name, func(t *testing.T) {
			err := c.run(t.Context(), s, func() (string, error) { return t.TempDir(), nil })
			if why := skipped(err); why != "" {
				t.Skip(why)
			}
			if err != nil {
				t.Errorf("%s: %v\n  to do: %s", c.meaning, err, c.fixOf(err))
				usable = !errors.As(err, new(*caseError))
			}
		})
		if !usable {
			return // nothing can be checked without a case
		}
	}
}

// Verify runs every check without package testing and returns the failed ones. newDir returns empty
// directories.
func Verify(ctx context.Context, s Subject, newDir func() (string, error)) []Failure {
	var out []Failure
	for _, c := range checks() {
		err := c.run(ctx, s, newDir)
		if err == nil || skipped(err) != "" {
			continue
		}
		out = append(out, Failure{Check: c.name, Err: err, Fix: c.fixOf(err)})
		if errors.As(err, new(*caseError)) {
			break
		}
	}
	return out
}

// check is one requirement for every handler.
type check struct {
	name    string
	meaning string
	fix     string
	f       func(e *env) error
}

// run executes a check. A handler that panics fails it.
func (c check) run(
	ctx context.Context, s Subject, newDir func() (string, error),
) (err error) {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("not begun: %w", err)
	}
	defer func() {
		if p := recover(); p != nil {
			err = panicked("", p)
		}
	}()
	e, err := newEnv(ctx, s, newDir)
	if err != nil {
		return &caseError{err}
	}
	defer e.close()
	if err = c.f(e); errors.Is(err, errNotApplicable) {
		err = nil
	}
	leak := checkSecrets(e)
	if leak != nil && skipped(err) != "" {
		return leak
	}
	return errors.Join(err, leak)
}

// errNotApplicable ends a check that does not apply to the case.
var errNotApplicable = errors.New("not applicable")

// caseError is an error of a type or a case that makes all checks impossible.
type caseError struct{ error }

// Unwrap returns the underlying error.
func (e *caseError) Unwrap() error { return e.error }

// advice is an error whose fix is more specific than that of its check.
type advice struct {
	error
	fix string
}

// Unwrap returns the underlying error.
func (a *advice) Unwrap() error { return a.error }

// advise returns an error with its fix.
func advise(fix, format string, args ...any) error {
	return &advice{fmt.Errorf(format, args...), fix}
}

// either returns err, or otherwise if err is nil.
func either(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// doubt is an error that may also be the fault of the case, with the fix for that.
type doubt struct {
	error
	otherwise string
}

// Unwrap returns the underlying error.
func (d *doubt) Unwrap() error { return d.error }

// doubted returns an error with the fix for a wrong case, in addition to that for the handler.
func doubted(otherwise, format string, args ...any) error {
	return &doubt{fmt.Errorf(format, args...), otherwise}
}

// fixOf returns the fix for each error.
func (c check) fixOf(err error) string {
	var out []string
	for _, fix := range c.fixesOf(err) {
		if !slices.Contains(out, fix) {
			out = append(out, fix)
		}
	}
	return strings.Join(out, "; and: ")
}

func (c check) fixesOf(err error) []string {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var out []string
		for _, one := range several.Unwrap() {
			out = append(out, c.fixesOf(one)...)
		}
		return out
	}
	switch e := err.(type) { // examine each level
	case *caseError:
		return []string{"correct the declaration of the type, or the Case that New of the Subject " +
			"returns; later checks did not run"}
	case *advice:
		return []string{e.fix}
	case *panicError:
		if e.call != "" {
			return []string{"correct the panic at the first position of the stack: a call may pass " +
				"every value that the type allows, and omit optional attributes"}
		}
	case *doubt:
		out := c.fixesOf(e.error)
		for i := range out {
			out[i] += "; or, if it is the case: " + e.otherwise
		}
		return out
	}
	if inner := errors.Unwrap(err); inner != nil {
		return c.fixesOf(inner)
	}
	return []string{c.fix}
}
