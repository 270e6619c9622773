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

// Subject is a type with its handler, and how to test it.
type Subject struct {
	Definition provider.Definition
	// New describes a test in a place of its own, in which nothing exists yet. dir is an empty
	// directory for the test; host offers files to the handler. It is called at least once for each
	// check.
	New func(dir string, host *Host) (Case, error)
	// Transport is what the handler finds in its context.
	Transport any
}

// Case is one resource to test with. Values are as in documents, with references resolved.
//
// Large: it is a declaration, of which most tests set a few fields.
type Case struct {
	// Attributes of a resource that does not exist. Defaults are filled in.
	Attributes map[string]any
	// Updates are laid over Attributes one after the other; the handler has to bring each about by
	// an update. nil takes an attribute away.
	Updates []map[string]any
	// InitOnly are other values of attributes that can only be set at creation, each to be refused
	// later.
	InitOnly map[string]any
	// Replaces are other values of attributes that can only be changed by replacing the thing.
	Replaces map[string]any
	// Resets are attributes, each with the reason, that an update of something else sets back when
	// the resource leaves them out.
	Resets map[string]string
	// Others are attributes of more resources that do not exist and are independent of the first,
	// for batches and parallel calls.
	Others []map[string]any
	// World describes all that the handler could have changed, as a text in which equal states are
	// equal whatever the place. nil: it cannot be described, and what reading and dry runs do is
	// not checked.
	World func() (string, error)
	// Vanish takes the thing away behind the handler's back. nil: Delete does it.
	Vanish func() error
	// Foreign gives the thing something that the type does not know of, as somebody else would: a
	// member of its object, a label, a line. nil: whether updates leave that alone is not checked.
	Foreign func() error
	// Interrupt stops the handler before the n-th (from 0) call to its target from now on, and
	// before all after it, as if its process had been killed there: those calls fail and have no
	// effect. restore lets calls through again and reports whether any was stopped. nil: being cut
	// off in the middle is not checked.
	Interrupt func(n int) (restore func() (stopped bool))
	// Secrets are parts of values above that must appear in no log line, change, fact or error.
	Secrets []string
	// Present says that the thing is always as wanted, can neither be made nor be removed, and so
	// is never missing.
	Present bool
	// Edges are the attributes for which values at the edges of their types are made up and tried,
	// "*" for all but the naming ones. The handler brings each about, or refuses it and changes
	// nothing. nil: none, for targets to which any value could do harm.
	Edges []string
	// Unfit are attributes for which made-up values, or none, say nothing, each with the reason.
	Unfit map[string]string
	// Unlisted says that what the handler lists is another place than that of the case, such as the
	// whole machine, and names it. "": it is that.
	Unlisted string
	// Like are attributes that say what is to be listed, for handlers that have to be told.
	Like map[string]any
	// Lasting says that what was made stays when the resource is purged.
	Lasting bool
}

// Failure is a check that did not pass.
type Failure struct {
	Check string
	Err   error
	Fix   string // what the author of the handler should look at
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

// Verify runs every check without package testing and returns those that failed. newDir returns
// empty directories.
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

// check is one thing that is demanded of every handler.
type check struct {
	name    string
	meaning string
	fix     string
	f       func(e *env) error
}

// run carries a check out. A handler that panics fails it.
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

// errNotApplicable ends a check that a case has nothing for.
var errNotApplicable = errors.New("not applicable")

// caseError is a type or a case that nothing can be checked with.
type caseError struct{ error }

// Unwrap returns what is wrong.
func (e *caseError) Unwrap() error { return e.error }

// advice is an error that knows better than its check what to do.
type advice struct {
	error
	fix string
}

// Unwrap returns what is wrong.
func (a *advice) Unwrap() error { return a.error }

// advise returns an error with what to do about it.
func advise(fix, format string, args ...any) error {
	return &advice{fmt.Errorf(format, args...), fix}
}

// either returns err, or what else is wrong when there is none.
func either(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// doubt is an error that may as well be the fault of the case, and what to do then.
type doubt struct {
	error
	otherwise string
}

// Unwrap returns what is wrong.
func (d *doubt) Unwrap() error { return d.error }

// doubted returns an error with what to do if the case is wrong, and not the handler.
func doubted(otherwise, format string, args ...any) error {
	return &doubt{fmt.Errorf(format, args...), otherwise}
}

// fixOf returns what the author should change, for each thing that is wrong.
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
	switch e := err.(type) { // each level is looked at
	case *caseError:
		return []string{"mend the declaration of the type, or what New of the Subject returns; " +
			"what follows was not checked"}
	case *advice:
		return []string{e.fix}
	case *panicError:
		if e.call != "" {
			return []string{"mend what panics, at the first place that is shown: a call gets all " +
				"that the type allows, and what is optional may be missing"}
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
