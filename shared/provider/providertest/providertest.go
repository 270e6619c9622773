package providertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/provider"
)

// Subject is a type with its handler, and how to test it.
type Subject struct {
	Definition provider.Definition
	// New describes a test in a place of its own, in which nothing exists yet. dir is an empty
	// directory to use as one likes; host offers files to the handler. It is called at least once
	// for each check.
	New func(dir string, host *Host) (Case, error)
	// Transport is what the handler finds in its context.
	Transport any

	// Alone says to Verify that nothing else runs in the process meanwhile; Run finds out by
	// itself. Then it is looked at what calls leave in the directory for temporary files, and for
	// secrets on standard error, of which a process has one each.
	Alone bool

	grace time.Duration // how long a call may go on after its caller has given up; 0: grace
	sofar *sofar        // what its checks have come to; nil: there is but one
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
	// Stall lets the target accept the n-th (from 0) call to it from now on, and all after it, and
	// answer none, as one that hangs. began is closed when one waits; restore, which may be called
	// twice, ends that: those that wait fail then and have no effect. nil: whether calls end with
	// their context while the target hangs is not checked.
	Stall func(n int) (began <-chan struct{}, restore func())
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
	// OneWay are attributes, each with the reason, for which the handler is content with more than
	// what is wanted ("at least these"): for them, InSync need not be symmetrical.
	OneWay map[string]string
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

// limit bounds the time in which no call of a check begins or ends. It is long, since it is for
// what hangs; a check may have hundreds of calls, and takes what the machine takes.
const limit = 3 * time.Minute

// Run runs every check as a subtest. One that needs a member that the case does not have is
// skipped, and names it.
func Run(t *testing.T, s Subject) {
	t.Helper()
	s.sofar = &sofar{}
	for _, c := range checks() {
		begun := true
		t.Run(c.name, func(t *testing.T) {
			s := s
			s.Alone = s.Alone || alone(t)
			err := c.run(t.Context(), s, func() (string, error) { return t.TempDir(), nil })
			if why := skipped(err); why != "" {
				t.Skip(why)
			}
			if err != nil {
				t.Errorf("%s: %v\n  to do: %s", c.meaning, err, c.fixOf(err))
				begun = !ends(err)
			}
		})
		if !begun {
			return
		}
	}
}

// ends reports whether a failure is the last one that is looked for: nothing can be said of a
// handler without a case, and one that hangs may do so in each of its checks.
func ends(err error) bool {
	return errors.As(err, new(*caseError)) || errors.As(err, new(*hangError))
}

// alone reports whether no other test can run in the process meanwhile: package testing lets
// parallel ones wait for one that is not, and refuses to set the environment of the process for one
// that is, or is part of one.
func alone(t *testing.T) (yes bool) {
	t.Helper()
	defer func() { yes = recover() == nil }()
	t.Setenv(tempVar, os.TempDir())
	return true
}

// Verify runs every check without package testing and returns those that failed. newDir returns
// empty directories.
func Verify(ctx context.Context, s Subject, newDir func() (string, error)) []Failure {
	var out []Failure
	s.sofar = &sofar{}
	for _, c := range checks() {
		if err := c.run(ctx, s, newDir); err != nil && skipped(err) == "" {
			out = append(out, Failure{Check: c.name, Err: err, Fix: c.fixOf(err)})
		}
		if len(out) > 0 && ends(out[len(out)-1].Err) {
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

// run carries a check out; a handler that panics or hangs fails it.
func (c check) run(ctx context.Context, s Subject, newDir func() (string, error)) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("not begun: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done, calls := make(chan error, 1), &underWay{moved: make(chan struct{}, 1)}
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- panicked("", p)
			}
		}()
		done <- c.inEnv(context.WithValue(ctx, underWayKey{}, calls), s, newDir)
	}()
	return calls.wait(ctx, done)
}

func (c check) inEnv(ctx context.Context, s Subject, newDir func() (string, error)) error {
	if s.sofar == nil {
		s.sofar = &sofar{}
	}
	w := watch()
	err := c.inPlace(ctx, s, newDir)
	// To look after each call what is there takes long, so it is done where something was.
	for u := (*untracedError)(nil); errors.As(err, &u) && s.sofar.trace(u.open); {
		err = cmp.Or(c.inPlace(ctx, s, newDir), err)
	}
	if what, fix := w.restore(); what != "" { // between calls: by what goes on after them
		return advise(fix, "the handler has %s", what)
	}
	return err
}

func (c check) inPlace(ctx context.Context, s Subject, newDir func() (string, error)) error {
	e, err := newEnv(ctx, s, newDir)
	if err != nil {
		return &caseError{err}
	}
	if err = c.f(e); errors.Is(err, errNotApplicable) {
		err = nil
	}
	if left := checkTidy(e); skipped(err) == "" || left != nil {
		if skipped(err) != "" {
			err = nil
		}
		err = errors.Join(err, left)
	}
	return err
}

// errNotApplicable ends a check that a case has nothing for.
var errNotApplicable = errors.New("not applicable")

// caseError is a type or a case that nothing can be checked with.
type caseError struct{ error }

// Unwrap returns what is wrong.
func (e *caseError) Unwrap() error { return e.error }

// untracedError is what a call has left, when it is not known which.
type untracedError struct {
	error
	open bool // it is a file that is open
}

// Unwrap returns what is wrong.
func (e *untracedError) Unwrap() error { return e.error }

// hangError says which call does not end.
type hangError struct{ error }

// Unwrap returns what is wrong.
func (e *hangError) Unwrap() error { return e.error }

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
		if e.call != "" && !strings.HasPrefix(e.call, "Generate ") { // it has reasons of its own
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
