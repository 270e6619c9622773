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

// batches compiles many jobs together.
type batches struct {
	defs    *definitions
	results *results
}

// group holds the jobs for one model.
type group struct {
	digest string
	jobs   []job
}

// byModel groups jobs by the models that compile them. The group of the job that has waited longest
// comes first.
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

// halves calls together for all jobs. If that fails because of a job, halves retries with the first
// half, and so on. So a bad job does not affect the others. If the compile takes too long, halves
// retries with the first job only. It calls alone with a job that fails on its own, and with the
// error. The jobs after a half wait for the next round.
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
			jobs = jobs[:1] // each half would take as long again
		default:
			jobs = jobs[:len(jobs)/2]
		}
	}
}

// elsewhere is the error of a model that cannot be compiled here.
type elsewhere struct{ problems []diag.Problem }

// Error implements error.
func (e *elsewhere) Error() string { return e.problems[0].Message }

// elsewhereAgain is the delay until the worker checks again whether it can compile a model.
const elsewhereAgain = 5 * time.Minute

// tooLong is the error of a compile that exceeded its time limit.
type tooLong struct{ problems diag.Problems }

// Error implements error.
func (e *tooLong) Error() string { return e.problems.Error() }

// Unwrap returns the problems.
func (e *tooLong) Unwrap() error { return e.problems }

// outside reports whether an error has its cause outside of the model and the order, so that a
// retry may succeed.
func outside(ctx context.Context, err error) bool {
	if ctx.Err() != nil { // a compile that was canceled is not the fault of the model
		return true
	}
	if problems, _ := diag.Of(err); len(problems) > 0 {
		return false
	}
	switch fault.KindOf(err) { // all other kinds are caused by the order or the model
	case fault.Invalid, fault.Refused, fault.Unsupported, fault.Internal, fault.Timeout:
		return false
	}
	return true
}
