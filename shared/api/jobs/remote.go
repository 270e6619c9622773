// Package jobs runs comparisons that may take longer than a request, in slices and in parts for
// runners. See docs/design/jobs.md.
package jobs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"time"

	"southbound/shared/api/chunk"
	"southbound/shared/api/client"
	"southbound/shared/api/comparisons"
	"southbound/shared/api/exports"
	"southbound/shared/api/files"
	"southbound/shared/api/results"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/patience"
)

type Remote struct{ *client.Conn }

// Plan implements Home. It sends files only if the plan is compared with reality, apart
// from the declarations of types.
func (c Remote) Plan(
	ctx context.Context, env string, x deploy.Export, opts deploy.CompareOptions,
) (deploy.DryRun, error) {
	p, err := chunk.Pack(x.Model)
	if err != nil {
		return deploy.DryRun{}, err
	}
	p.Places = nil // a plan is not stored
	var done results.ReadDone
	var left []string
	err = files.Commit(ctx, c.Conn, env, x.Model, p, opts.Read, nil, func(int) error {
		request := comparisons.PlanAsked{Bundle: exports.BundleOf(x, p), Read: opts.Read, Whole: opts.Whole}
		if opts.Read {
			job := jobAsked{Plan: &planRead{request.Bundle, opts.Whole}}
			done, left, err = runJob(ctx, c.Conn, env, job)
			return err
		}
		return c.CallExport(ctx, http.MethodPost,
			wire.EnvironmentPath(env, "plans"), request, &done)
	})
	if err != nil {
		return deploy.DryRun{Unread: left}, err
	}
	out, err := results.Fetch(ctx, c.Conn, env, done)
	if err == nil && !opts.Read {
		c.texts(ctx, env, x.Model, opts, out.Planned)
	}
	return out, err
}

const (
	longAsk  = 2 * time.Second // between two polls of a job
	dropTime = 2 * time.Second // to cancel a job
	// awayFor is the time that a polled server may be unreachable, such as during a restart.
	awayFor = 2 * time.Minute
)

// runJob starts a job and waits for it. With an error, it also returns the agents that were not
// compared, as far as they are known.
func runJob(
	ctx context.Context, c *client.Conn, env string, request jobAsked,
) (results.ReadDone, []string, error) {
	about, err := c.About(ctx)
	if err != nil {
		return results.ReadDone{}, nil, err
	}
	if !about.Jobs {
		return results.ReadDone{}, nil, fault.New(fault.Unsupported, "ask "+c.Base.Host,
			"the server makes no comparisons with reality").
			WithHint("send the request to the server of the API, not to the server of exports")
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // it never fails
	path := wire.EnvironmentPath(env, "jobs/"+hex.EncodeToString(id))
	state, err := client.Ask[JobState](ctx, c, http.MethodPut, path, request)
	away := time.Duration(0) // time since the last answer
	for pause := client.FirstPause; err == nil && state.State == JobRunning; pause = min(pause*3/2,
		longAsk) {
		if c.Clock.Sleep(ctx, pause) != nil {
			break
		}
		away += pause
		var now JobState
		now, err = client.Ask[JobState](ctx, c, http.MethodGet, path, nil)
		switch {
		case err == nil:
			state, away = now, 0
		case client.Passes(err) && away < awayFor:
			err = nil
		}
	}
	switch {
	case ctx.Err() != nil:
		late, cancel := patience.WithTimeout(context.WithoutCancel(ctx), dropTime)
		defer cancel()
		if dropped, err := client.Ask[JobState](late, c, http.MethodDelete, path,
			nil); err == nil {
			state = dropped
		}
		cause := context.Cause(ctx)
		return results.ReadDone{}, state.Left, fault.Wrap(fault.KindOf(cause), "", cause)
	case err != nil:
		return results.ReadDone{}, state.Left, err
	case state.Error != nil:
		return results.ReadDone{}, state.Left, client.ServerError{Failure: *state.Error}
	case state.Done == nil:
		return results.ReadDone{}, nil, fault.New(
			fault.Foreign,
			"ask "+c.Base.Host,
			"the server reports the job as done, without a result",
		)
	}
	return *state.Done, nil, nil
}

// DryRun implements Home.
func (c Remote) DryRun(ctx context.Context, env string, version int, filter []string,
	whole bool) (deploy.DryRun, error) {
	request := dryRunAsked{version, filter, whole}
	done, left, err := runJob(ctx, c.Conn, env, jobAsked{DryRun: &request})
	if err != nil {
		return deploy.DryRun{Unread: left}, err
	}
	return results.Fetch(ctx, c.Conn, env, done)
}

// Discover implements Home.
func (c Remote) Discover(
	ctx context.Context, env string, d comparisons.Discover,
) (results.Discovered, error) {
	all, _, err := runJob(ctx, c.Conn, env, jobAsked{Discover: &d})
	if d.Declared != nil && fault.Is(err, fault.NotFound) { // it may be the declaration
		file := model.DeclarationFile(d.Declared)
		m := &model.Model{Files: map[string]state.Blob{file.Hash: file}}
		up := &files.Uploader{C: c.Conn, Env: env, Model: m}
		if err := up.Store(ctx, []state.Blob{file}); err != nil {
			return results.Discovered{}, err
		}
		all, _, err = runJob(ctx, c.Conn, env, jobAsked{Discover: &d})
	}
	if err == nil && all.Found == nil {
		err = fault.New(fault.Foreign, "ask "+c.Base.Host, "the server reports no findings")
	}
	if err != nil {
		return results.Discovered{}, err
	}
	return results.GatherFound(*all.Found, func(hash string) (results.ResultPart[results.Found], error) {
		return client.Ask[results.ResultPart[results.Found]](ctx, c.Conn, http.MethodGet,
			wire.EnvironmentPath(env, "results/"+hash), nil)
	})
}
