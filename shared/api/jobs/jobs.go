package jobs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"southbound/shared/api/chunk"
	"southbound/shared/api/client"
	"southbound/shared/api/comparisons"
	"southbound/shared/api/problem"
	"southbound/shared/api/results"
	"southbound/shared/api/wire"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/patience"
)

// Jobs are comparisons with reality that may take longer than a request: see docs/design/jobs.md.
// This file serves clients. The worker's side is in work.go, the runner's side in parts.go.

const (
	jobKept  = 24 * time.Hour
	startFor = time.Minute // a started worker must accept the job within this time
	// a worker without a heartbeat for this time is considered dead
	aliveFor    = 30 * time.Second
	beatEvery   = 10 * time.Second
	defaultWork = 50 * time.Second
	// A job fails after maxStarts workers that vanished, maxIdle slices that found nothing, or
	// maxMoved changes of its plan.
	maxStarts = 5
	maxIdle   = 30
	maxMoved  = 10
	// maxJobs is the number of concurrent jobs of an environment; an idle job counts for a minute.
	maxJobs = 8
	restFor = time.Minute
	// maxNamedLeft is the number of agents in a record that are not compared yet.
	maxNamedLeft = 50
	// quickFor is the time that a request waits for a short job.
	quickFor = 500 * time.Millisecond
	// answerIn is the time that a request keeps for its answer.
	answerIn = 2 * time.Second
)

// JobState is the state of a job, as the API returns it.
type JobState struct {
	ID    string            `json:"id"`
	State string            `json:"state" enum:"running,done,failed"`
	Found int               `json:"found" doc:"number of resources compared already"`
	Left  []string          `json:"left" doc:"some of the agents whose comparison is not complete"`
	Done  *results.ReadDone `json:"done,omitempty"`
	Error *problem.Failure  `json:"error,omitempty"`
}

// The states of a job.
const (
	JobRunning = "running"
	JobDone    = "done"
	JobFailed  = "failed"
)

// jobRecord is the body of the record of a job.
type jobRecord struct {
	Asked  string `json:"asked"`            // hash of the request
	Worker string `json:"worker,omitempty"` // id of its worker, or "": it was offered, or is idle
	// the end of the time that its worker, or a start, has for the next sign of life
	Alive   time.Time `json:"alive"`
	Starts  int       `json:"starts"`         // that have not ended in order
	Idle    int       `json:"idle,omitempty"` // slices that found nothing
	Version int       `json:"version,omitempty"`
	State   string    `json:"state,omitempty"` // of a plan
	Moved   int       `json:"moved,omitempty"` // how often the plan became another
	Found   []string  `json:"found,omitempty"` // hashes of the findings
	Count   int       `json:"count,omitempty"` // of findings
	Left    []string  `json:"left,omitempty"`
	Outcome string    `json:"outcome,omitempty"` // hash of the end
	// Waits: the job is idle, and only findings of its parts are missing.
	Waits bool       `json:"waits,omitempty"`
	Part  *partState `json:"part,omitempty"` // of a part
}

// hasEnded reports whether a job, or a part of one, has ended.
func (r *jobRecord) hasEnded() bool {
	return r.Outcome != "" || r.Part != nil && r.Part.Ended != nil
}

// jobKey returns the beginning of the ids of the records of a job and its parts.
func jobKey(id string) string { return "job/" + id }

// jobEnd is how a job has ended, as a file keeps it.
type jobEnd struct {
	Done  *results.ReadDone `json:"done,omitempty"`
	Error *problem.Failure  `json:"error,omitempty"`
}

func errNoJob() error {
	return fault.New(fault.NotFound, "", "there is no such job").
		WithHint("start another job; jobs are kept for a day")
}

// AskJob starts a comparison under an id that the caller has made up; a repeated request is the same
// job. It returns the state of the job, after a moment in which a short one is done.
func (s *Service) AskJob(
	ctx context.Context, env, id string, job comparisons.ReadJob,
) (JobState, error) {
	filter, err := state.ParseFilter(job.Filter)
	if err == nil {
		err = filter.Stored()
	}
	if err != nil {
		return JobState{}, err
	}
	// The file with the request is stored before the record that names it, and the record before
	// the start. A crash leaves an unused file, which the collection removes, or an offer that no
	// worker takes, which a poll repeats after a minute. No record names a missing file.
	request, err := s.storeJSON(ctx, job)
	if err != nil {
		return JobState{}, err
	}
	now := s.Env.Engine.Clock.Now()
	h := &storedJob{s: s, env: env, id: id,
		job: state.Job{ID: jobKey(id), Expires: now.Add(jobKept)},
		rec: jobRecord{Asked: request, Starts: 1, Alive: now.Add(startFor)}}
	switch err := h.write(ctx); {
	case fault.Is(err, fault.Conflict):
		have, err := s.load(ctx, env, id)
		if err == nil && have.rec.Asked != request {
			err = fault.New(fault.Conflict, "", "another request has this id").
				WithHint("send the request with a new id")
		}
		if err != nil {
			return JobState{}, err
		}
		return s.Job(ctx, env, id)
	case err != nil:
		return JobState{}, err
	}
	if err := s.enforceLimit(ctx, h); err != nil {
		return JobState{}, err
	}
	if err := s.Start(ctx, env, id); err != nil {
		return JobState{}, err
	}
	return s.waitBriefly(ctx, env, id)
}

// enforceLimit removes a new job if there are too many. The job is written before the jobs are counted,
// since two concurrent requests would both find room otherwise. A crash before the removal leaves an
// extra job. It continues if it is polled, and stops counting after two minutes otherwise.
func (s *Service) enforceLimit(ctx context.Context, h *storedJob) error {
	now := s.Env.Engine.Clock.Now()
	all, err := s.Jobs.Jobs(ctx, h.env, jobKey(""), now)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read jobs", err)
	}
	over, busy := map[string]bool{}, map[string]bool{} // by job
	for i := range all {
		var rec jobRecord
		job, _, part := strings.Cut(strings.TrimPrefix(all[i].ID, jobKey("")), "/")
		if wire.Decode(all[i].Body, &rec) != nil {
			continue
		}
		over[job] = over[job] || !part && rec.hasEnded()
		busy[job] = busy[job] || !rec.hasEnded() && now.Before(rec.Alive.Add(restFor))
	}
	maps.DeleteFunc(busy, func(job string, is bool) bool { return over[job] || !is })
	if len(busy) <= maxJobs {
		return nil
	}
	h.job.Expires = now
	if err := h.write(ctx); err != nil && !fault.Is(err, fault.Conflict) {
		return err
	}
	return fault.New(fault.Busy, "",
		"%d comparisons of this environment are running, which is the limit", maxJobs).
		WithHint("retry when one of them has ended")
}

// waitBriefly waits up to quickFor for the end of a job.
func (s *Service) waitBriefly(ctx context.Context, env, id string) (JobState, error) {
	pause := 5 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		state, err := s.Job(ctx, env, id)
		if err != nil || state.State != JobRunning || waited >= quickFor {
			return state, err
		}
		pause *= 2
		if s.Env.Engine.Clock.Sleep(ctx, pause) != nil {
			return state, nil
		}
	}
}

// read makes a comparison as a job, and waits for its result as long as the request may take.
func (s *Service) read(ctx context.Context, job comparisons.ReadJob) (results.ReadDone, error) {
	if s.Jobs == nil {
		return results.ReadDone{}, fault.New(fault.Unsupported, "compare with reality",
			"this server makes no comparisons").WithHint("send the request to the function of the API")
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // it never fails
	env, name := job.Environment, hex.EncodeToString(id)
	now, err := s.AskJob(ctx, env, name, job)
	for pause := client.FirstPause; err == nil && now.State == JobRunning; pause = min(2*pause, longAsk) {
		left, limited := patience.Left(ctx)
		late := limited && left < pause+answerIn
		if late || s.Env.Engine.Clock.Sleep(ctx, pause) != nil {
			_, _ = s.DropJob(context.WithoutCancel(ctx), env, name)
			return results.ReadDone{}, fault.New(fault.Timeout, "compare with reality",
				"it takes longer than a request may take").
				WithHint("start a job instead: PUT /v1/environments/%s/jobs/ID", env)
		}
		now, err = s.Job(ctx, env, name)
	}
	switch {
	case err != nil:
		return results.ReadDone{}, err
	case now.Error != nil:
		return results.ReadDone{}, now.Error.AsError(nil)
	}
	return *now.Done, nil
}

// Job returns the state of a job. An idle job is started again.
func (s *Service) Job(ctx context.Context, env, id string) (JobState, error) {
	for {
		h, parts, err := s.loadWithParts(ctx, env, id)
		if err == nil && !h.rec.hasEnded() {
			err = s.continueParts(ctx, parts)
		}
		now := s.Env.Engine.Clock.Now()
		switch {
		case err != nil:
			return JobState{}, err
		case h.rec.hasEnded() || h.rec.Alive.After(now) || h.rec.Waits && len(unfinished(parts)) > 0:
			return s.stateOf(ctx, h, parts)
		case h.rec.Starts >= maxStarts:
			err = h.end(ctx, jobEnd{}, fault.New(fault.Unavailable, "compare with reality",
				"its worker started %d times and sent no result", maxStarts).
				WithHint("read the log of `southbound run`, or of the handler function"),
			)
		default:
			// The offer is written before the start, since a worker takes only offered jobs. After
			// a crash in between, a poll offers the job again when its minute is over.
			h.rec.Worker, h.rec.Starts, h.rec.Alive = "", h.rec.Starts+1, now.Add(startFor)
			if err = h.write(ctx); err == nil {
				err = s.Start(ctx, env, id)
			}
		}
		if err != nil && !fault.Is(err, fault.Conflict) {
			return JobState{}, err
		}
	}
}

// DropJob cancels a job; its worker stops at the next heartbeat. It returns the state of the job
// before, or the result if it has ended.
func (s *Service) DropJob(ctx context.Context, env, id string) (JobState, error) {
	for {
		h, parts, err := s.loadWithParts(ctx, env, id)
		switch {
		case err != nil:
			return JobState{ID: id, State: JobFailed, Left: []string{}}, err
		case h.rec.hasEnded():
			return s.stateOf(ctx, h, parts)
		}
		err = h.end(
			ctx,
			jobEnd{},
			fault.New(fault.Canceled, "compare with reality", "it was canceled"),
		)
		if !fault.Is(err, fault.Conflict) {
			out := JobState{ID: id, State: JobFailed}
			out.Found, out.Left = h.progress(parts)
			// The parts end after the job, since the worker of a running job makes new parts. Parts
			// that a crash leaves end with their slices, as polls do not drive parts of an ended job.
			s.dropParts(ctx, parts)
			return out, err
		}
	}
}

// progress returns the number of findings, and the agents that are not compared yet.
func (h *storedJob) progress(parts []*storedJob) (found int, left []string) {
	found, left = h.rec.Count, slices.Clone(wire.OrEmpty(h.rec.Left))
	for _, p := range parts {
		found += p.rec.Count
		if p.rec.hasEnded() {
			left = slices.DeleteFunc(left, func(a string) bool { return a == p.rec.Part.Agent })
		}
	}
	return found, left
}

// stateOf returns the state of a job.
func (s *Service) stateOf(ctx context.Context, h *storedJob, parts []*storedJob) (JobState, error) {
	out := JobState{ID: h.id, State: JobRunning}
	out.Found, out.Left = h.progress(parts)
	if h.rec.Outcome == "" {
		return out, nil
	}
	var end jobEnd
	if err := s.readJSON(ctx, h.rec.Outcome, &end); err != nil {
		return out, err
	}
	out.Done, out.Error, out.State = end.Done, end.Error, JobDone
	if end.Error != nil {
		out.State = JobFailed
	} else {
		out.Left = []string{}
	}
	return out, nil
}

// storedJob is a job that was read, to be changed.
type storedJob struct {
	s   *Service
	env string
	id  string // of a part: of its job, a slash, and the agent
	job state.Job
	rec jobRecord
}

// load reads a job, or a part of one.
func (s *Service) load(ctx context.Context, env, id string) (*storedJob, error) {
	h, _, err := s.loadWithParts(ctx, env, id)
	return h, err
}

// loadWithParts reads a job and its parts.
func (s *Service) loadWithParts(ctx context.Context, env, id string) (h *storedJob, parts []*storedJob,
	err error) {
	all, err := s.Jobs.Jobs(ctx, env, jobKey(id), s.Env.Engine.Clock.Now())
	if err != nil {
		return nil, nil, fault.Wrap(fault.Unknown, "read job", err)
	}
	for i := range all {
		one := &storedJob{s: s, env: env, id: strings.TrimPrefix(all[i].ID, jobKey("")), job: all[i]}
		if one.id != id && !strings.HasPrefix(one.id, id+"/") {
			continue
		}
		if err := wire.Decode(one.job.Body, &one.rec); err != nil {
			return nil, nil, err
		}
		if one.id == id {
			h = one
		} else {
			parts = append(parts, one)
		}
	}
	if h == nil {
		return nil, nil, errNoJob()
	}
	return h, parts, nil
}

// write stores the record. It returns Conflict if the record has changed since it was read.
func (h *storedJob) write(ctx context.Context) error {
	var err error
	if h.job.Body, err = wire.Encode(h.rec); err != nil {
		return err
	}
	rev, err := h.s.Jobs.PutJob(ctx, h.env, h.job, h.s.Env.Engine.Clock.Now())
	if err == nil {
		h.job.Rev = rev
	}
	return fault.Wrap(fault.Unknown, "write job", err)
}

// end ends the job, with its result or with an error.
func (h *storedJob) end(ctx context.Context, e jobEnd, why error) error {
	if why != nil {
		failure := problem.FailureOf(why)
		e = jobEnd{Error: &failure}
	}
	h.rec.Worker = ""
	if h.rec.Part != nil {
		if e.Error != nil { // the size of a record is limited
			e.Error.Problems = []problem.Wrong{}
			e.Error.Message = fmt.Sprintf("%.2000s", e.Error.Message)
			e.Error.Hint = fmt.Sprintf("%.2000s", e.Error.Hint)
		}
		h.rec.Part.Ended = &e
		return h.write(ctx)
	}
	// The file comes before the record that names it. After a crash in between, the job is not
	// over, and the next worker does the last slice again.
	var err error
	if h.rec.Outcome, err = h.s.storeJSON(ctx, e); err != nil {
		return err
	}
	return h.write(ctx)
}

// storeJSON stores a value as a file and returns its hash.
func (s *Service) storeJSON(ctx context.Context, v any) (string, error) {
	text, err := wire.Encode(v)
	if err != nil {
		return "", err
	}
	b := chunk.Blob(text)
	return b.Hash, fault.Wrap(fault.Unknown, "store job", s.Env.Engine.Files.Put(ctx, []state.Blob{b}))
}

// readJSON reads a value from a file.
func (s *Service) readJSON(ctx context.Context, hash string, v any) error {
	texts, err := s.Env.Engine.Files.Get(ctx, []string{hash})
	if err != nil {
		return fault.Wrap(fault.Unknown, "read job", err)
	}
	return wire.Decode(texts[0], v)
}
