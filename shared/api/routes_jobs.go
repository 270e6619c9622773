package api

import (
	"context"
	"net/http"
)

// jobAsked is the request of a job: one of these.
type jobAsked struct {
	DryRun   *dryRunAsked `json:"dry_run,omitempty" doc:"compare a version with the machines"`
	Plan     *planRead    `json:"plan,omitempty" doc:"preview an export of uploaded chunks, and compare with the machines"`
	Discover *Discover    `json:"discover,omitempty" doc:"describe the things of a type on an agent"`
}

// planRead requests a plan that is compared with reality.
type planRead struct {
	Bundle
	Whole bool `json:"whole,omitempty" doc:"whole values"`
}

// job returns the request; false if it is not exactly one.
func (a *jobAsked) job(env string) (ReadJob, bool) {
	out, n := ReadJob{Environment: env}, 0
	if a.DryRun != nil {
		out.Version, out.Filter, out.Whole = a.DryRun.Version, a.DryRun.Filter, a.DryRun.Whole
		n++
	}
	if a.Plan != nil {
		out.Bundle, out.Whole = &a.Plan.Bundle, a.Plan.Whole
		n++
	}
	if a.Discover != nil {
		out.Discover = a.Discover
		n++
	}
	return out, n == 1
}

// InJob holds the path of a request about a job.
type InJob struct {
	InEnvironment
	Job string `path:"job" pattern:"^[0-9a-f]{32}$" doc:"id of the job: random, chosen by the client"`
}

func (r *routes) jobs() {
	const path = inEnv + "/jobs/{job}"
	serve(
		r,
		http.MethodPut,
		path,
		"askJob",
		"Start a comparison with reality",
		func(ctx context.Context, i *struct {
			InJob
			Body jobAsked
		}) (*out[JobState], error) {
			job, is := i.Body.job(i.Env)
			if !is {
				return nil, problemWith(
					http.StatusUnprocessableEntity,
					Failure{
						Kind:     "invalid",
						Message:  "ask for one thing: dry_run, plan or discover",
						Problems: []Wrong{},
					},
				)
			}
			return answer(r.s.AskJob(ctx, i.Env, i.Job, job))
		},
		large,
	)
	serve(
		r,
		http.MethodGet,
		path,
		"job",
		"State of a job; a job that rests continues",
		func(ctx context.Context, i *InJob) (*out[JobState], error) {
			return answer(r.s.Job(ctx, i.Env, i.Job))
		},
	)
	serve(
		r,
		http.MethodDelete,
		path,
		"dropJob",
		"Cancel a job",
		func(ctx context.Context, i *InJob) (*out[JobState], error) {
			return answer(r.s.DropJob(ctx, i.Env, i.Job))
		},
	)
}
