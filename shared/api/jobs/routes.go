package jobs

import (
	"context"
	"net/http"

	"southbound/shared/api/comparisons"
	"southbound/shared/api/exports"
	"southbound/shared/api/problem"
	"southbound/shared/api/results"
	"southbound/shared/api/server"
)

// jobAsked is the request of a job: one of these.
type jobAsked struct {
	DryRun   *dryRunAsked          `json:"dry_run,omitempty" doc:"compare a version with the machines"`
	Plan     *planRead             `json:"plan,omitempty" doc:"preview an export of uploaded chunks, and compare with the machines"`
	Discover *comparisons.Discover `json:"discover,omitempty" doc:"describe the things of a type on an agent"`
}

// planRead requests a plan that is compared with reality.
type planRead struct {
	exports.Bundle
	Whole bool `json:"whole,omitempty" doc:"whole values"`
}

// job returns the request; false if it is not exactly one.
func (a *jobAsked) job(env string) (comparisons.ReadJob, bool) {
	out, n := comparisons.ReadJob{Environment: env}, 0
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
	server.InEnvironment
	Job string `path:"job" pattern:"^[0-9a-f]{32}$" doc:"id of the job: random, chosen by the client"`
}

// Routes serves jobs.
func Routes(r *server.Router, s *Service) {
	const path = server.EnvironmentPath + "/jobs/{job}"
	server.Register(
		r,
		http.MethodPut,
		path,
		"askJob",
		"Start a comparison with reality",
		func(ctx context.Context, i *struct {
			InJob
			Body jobAsked
		}) (*server.Out[JobState], error) {
			job, is := i.Body.job(i.Env)
			if !is {
				return nil, problem.WithStatus(
					http.StatusUnprocessableEntity,
					problem.Failure{
						Kind:     "invalid",
						Message:  "ask for one thing: dry_run, plan or discover",
						Problems: []problem.Wrong{},
					},
				)
			}
			return server.Answer(s.AskJob(ctx, i.Env, i.Job, job))
		},
		server.LargeBody,
	)
	server.Register(
		r,
		http.MethodGet,
		path,
		"job",
		"State of a job; a job that rests continues",
		func(ctx context.Context, i *InJob) (*server.Out[JobState], error) {
			return server.Answer(s.Job(ctx, i.Env, i.Job))
		},
	)
	server.Register(
		r,
		http.MethodDelete,
		path,
		"dropJob",
		"Cancel a job",
		func(ctx context.Context, i *InJob) (*server.Out[JobState], error) {
			return server.Answer(s.DropJob(ctx, i.Env, i.Job))
		},
	)
}

// WaitingRoutes serves comparisons for which a request waits.
func WaitingRoutes(r *server.Router, s *Service) {
	server.Register(r, http.MethodPost, server.EnvironmentPath+"/dryruns", "dryRun",
		"Compare a version with reality, and change nothing", func(ctx context.Context, i *struct {
			server.InEnvironment
			Body dryRunAsked
		}) (*server.Out[results.ReadDone], error) {
			return server.Answer(s.read(ctx, comparisons.ReadJob{Environment: i.Env, Version: i.Body.Version,
				Filter: i.Body.Filter, Whole: i.Body.Whole}))
		})
	server.Register(r, http.MethodPost, server.EnvironmentPath+"/discover", "discoverResources",
		"Describe the things of a type on an agent",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			Body comparisons.Discover
		}) (*server.Out[results.FoundDone], error) {
			done, err := s.read(ctx, comparisons.ReadJob{Environment: i.Env, Discover: &i.Body})
			if err != nil {
				return nil, problem.Of(err)
			}
			return server.Answer(*done.Found, nil)
		})
}

// PlanRoutes serves previews of exports.
func PlanRoutes(r *server.Router, s *Service) {
	server.Register(r, http.MethodPost, server.EnvironmentPath+"/plans", "plan",
		"Preview an uploaded export", func(ctx context.Context, i *struct {
			server.InEnvironment
			Body comparisons.PlanAsked
		}) (*server.Out[results.ReadDone], error) {
			if !i.Body.Read {
				return server.Answer(s.Comparisons.Planned(ctx, i.Env, i.Body))
			}
			return server.Answer(s.read(ctx, comparisons.ReadJob{Environment: i.Env, Bundle: &i.Body.Bundle,
				Whole: i.Body.Whole}))
		}, server.LargeBody)
}

type dryRunAsked struct {
	Version int      `json:"version,omitempty" minimum:"0" maximum:"2147483647" doc:"number of the version; 0: the released one"`
	Filter  []string `json:"filter,omitempty" maxItems:"20000" maxLength:"4096" doc:"only resources that match all terms, of several agent= any; other keys and an id at most once"`
	Whole   bool     `json:"whole,omitempty" doc:"whole values"`
}
