package fulfil

import (
	"context"
	"errors"
	"slices"
	"time"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/lifecycle"
)

// batches does the compiles of many jobs together.
type batches struct {
	defs    *definitions
	results *results
}

// group is what is compiled with one model.
type group struct {
	digest string
	jobs   []job
}

// byModel groups jobs by the models that they are compiled with, what has waited longest first.
func (b batches) byModel(
	ctx context.Context, jobs []job, set func(job) lifecycle.Set,
) ([]group, error) {
	var out []group
	var all error
	for _, j := range jobs {
		bundle, err := b.defs.bundle(ctx, j.rec, set(j))
		if err != nil {
			all = errors.Join(all, b.results.postpone(j.rec, err))
			continue
		}
		at := slices.IndexFunc(out, func(g group) bool { return g.digest == bundle })
		if at < 0 {
			at, out = len(out), append(out, group{digest: bundle})
		}
		out[at].jobs = append(out[at].jobs, j)
	}
	return out, all
}

// halves does something for jobs together. If that fails because of one of them, it does it for the
// first half, and so on, so that one that is wrong harms no other, and for the first one at once if
// it takes too long; alone gets the job that is wrong, and why. What comes after a half waits for
// the next round.
func (b batches) halves(
	ctx context.Context, jobs []job, together func([]job) error, alone func(job, error) error,
) error {
	var other *elsewhere
	var late *tooLong
	for {
		err := together(jobs)
		switch {
		case err == nil:
			return nil
		case errors.As(err, &other):
			return b.results.leave(ctx, jobs, other.problems)
		case outside(ctx, err):
			return b.results.wait(ctx, jobs, err)
		case len(jobs) == 1:
			return alone(jobs[0], err)
		case errors.As(err, &late):
			jobs = jobs[:1] // for each half it would take as long again
		default:
			jobs = jobs[:len(jobs)/2]
		}
	}
}

// elsewhere says that a model is not compiled here.
type elsewhere struct{ problems []diag.Problem }

// Error implements error.
func (e *elsewhere) Error() string { return e.problems[0].Message }

// elsewhereAgain is when it is looked again whether a model can be compiled here.
const elsewhereAgain = 5 * time.Minute

// tooLong says that a compile took longer than it may.
type tooLong struct{ problems diag.Problems }

// Error implements error.
func (e *tooLong) Error() string { return e.problems.Error() }

// Unwrap returns the problems.
func (e *tooLong) Unwrap() error { return e.problems }

// outside reports whether an error is not about the model or the order, but about what surrounds
// them, so that the same may go well later.
func outside(ctx context.Context, err error) bool {
	if ctx.Err() != nil { // then a model that was not done in time is nobody's fault
		return true
	}
	if problems, _ := diag.Of(err); len(problems) > 0 {
		return false
	}
	switch fault.KindOf(err) { // all others are about what was asked for
	case fault.Invalid, fault.Refused, fault.Unsupported, fault.Internal, fault.Timeout:
		return false
	}
	return true
}
