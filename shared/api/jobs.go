package api

import (
	"context"
	"slices"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/fault"
)

// Jobs are comparisons with reality that may take longer than a request; docs/design/jobs.md says
// how
// they go. This is the part of whoever asks; that of the worker is in work.go.

const (
	jobKept   = 24 * time.Hour
	startFor  = time.Minute      // a worker that was called is waited for so long
	aliveFor  = 30 * time.Second // a worker that gives no sign of life is taken for dead after that
	beatEvery = 10 * time.Second
	usualWork = 50 * time.Second
	// mostStarts may end without a word, mostIdle in order, before a job has failed; a plan may
	// become another mostMoved times.
	mostStarts = 5
	mostIdle   = 30
	mostMoved  = 10
	// mostJobs of an environment are under way at once; one that rests counts for a minute.
	mostJobs = 8
	restFor  = time.Minute
	// mostNamedLeft is how many agents a record names that are not compared yet.
	mostNamedLeft = 50
	// quickFor is how long a request waits for a job that may be done at once.
	quickFor = 500 * time.Millisecond
)

// JobState says how a job is.
type JobState struct {
	ID    string    `json:"id"`
	State string    `json:"state" enum:"running,done,failed"`
	Found int       `json:"found" doc:"how many things were compared so far"`
	Left  []string  `json:"left" doc:"agents of which not all is compared yet; a few of them"`
	Done  *ReadDone `json:"done,omitempty"`
	Error *Failure  `json:"error,omitempty"`
}

// The states of a job.
const (
	JobRunning = "running"
	JobDone    = "done"
	JobFailed  = "failed"
)

// jobRecord is the body of the record of a job.
type jobRecord struct {
	Asked   string    `json:"asked"`            // hash of what is asked for
	Worker  string    `json:"worker,omitempty"` // who works on it, or "": it was offered, or rests
	Alive   time.Time `json:"alive"`            // until when somebody is thought to be at it, or to come
	Starts  int       `json:"starts"`           // that have not ended in order
	Idle    int       `json:"idle,omitempty"`   // slices that found nothing
	Version int       `json:"version,omitempty"`
	State   string    `json:"state,omitempty"` // of a plan
	Moved   int       `json:"moved,omitempty"` // how often the plan became another
	Found   []string  `json:"found,omitempty"` // hashes of what was found
	Count   int       `json:"count,omitempty"` // how much that is
	Left    []string  `json:"left,omitempty"`
	Outcome string    `json:"outcome,omitempty"` // hash of the end
}

// jobEnd is how a job has ended, as a file keeps it.
type jobEnd struct {
	Done  *ReadDone `json:"done,omitempty"`
	Error *Failure  `json:"error,omitempty"`
}

func noJob() error {
	return fault.New(fault.NotFound, "", "there is no such job").
		WithHint("jobs are kept for a day; ask for another")
}

// AskJob asks for a comparison under an id that the caller has made up: asked twice it is the same
// job. It answers how the job is, after a moment in which it may be done.
func (s *Service) AskJob(ctx context.Context, env, id string, job ReadJob) (JobState, error) {
	if _, err := deploy.ParseFilter(job.Filter); err != nil {
		return JobState{}, err
	}
	asked, err := s.storeJSON(ctx, job)
	if err != nil {
		return JobState{}, err
	}
	now := s.Engine.Clock.Now()
	h := &heldJob{s: s, env: env, job: deploy.Job{ID: id, Expires: now.Add(jobKept)},
		rec: jobRecord{Asked: asked, Starts: 1, Alive: now.Add(startFor)}}
	switch err := h.write(ctx); {
	case fault.Is(err, fault.Conflict):
		have, err := s.held(ctx, env, id)
		if err == nil && have.rec.Asked != asked {
			err = fault.New(fault.Conflict, "", "something else was asked for under that id").
				WithHint("make up another")
		}
		if err != nil {
			return JobState{}, err
		}
		return s.Job(ctx, env, id)
	case err != nil:
		return JobState{}, err
	}
	if err := s.crowded(ctx, h); err != nil {
		return JobState{}, err
	}
	if err := s.Start(ctx, env, id); err != nil {
		return JobState{}, err
	}
	return s.soon(ctx, env, id)
}

// crowded takes a new job back when there are too many.
func (s *Service) crowded(ctx context.Context, h *heldJob) error {
	now, n := s.Engine.Clock.Now(), 0
	all, err := s.Jobs.Jobs(ctx, h.env, "", now)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read jobs", err)
	}
	for i := range all {
		var rec jobRecord
		if decode(all[i].Body, &rec) == nil && rec.Outcome == "" &&
			now.Before(rec.Alive.Add(restFor)) {
			n++
		}
	}
	if n <= mostJobs {
		return nil
	}
	h.job.Expires = now
	if err := h.write(ctx); err != nil && !fault.Is(err, fault.Conflict) {
		return err
	}
	return fault.New(fault.Busy, "", "%d comparisons of this environment are under way, and no more may be", mostJobs).
		WithHint("ask again when one of them has ended")
}

// soon waits for a job that may be done in a moment.
func (s *Service) soon(ctx context.Context, env, id string) (JobState, error) {
	pause := 5 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		state, err := s.Job(ctx, env, id)
		if err != nil || state.State != JobRunning || waited >= quickFor {
			return state, err
		}
		pause *= 2
		if s.Engine.Clock.Sleep(ctx, pause) != nil {
			return state, nil
		}
	}
}

// Job says how a job is. One that rests is started again.
func (s *Service) Job(ctx context.Context, env, id string) (JobState, error) {
	for {
		h, err := s.held(ctx, env, id)
		now := s.Engine.Clock.Now()
		switch {
		case err != nil:
			return JobState{}, err
		case h.rec.Outcome != "" || h.rec.Alive.After(now):
			return s.stateOf(ctx, h)
		case h.rec.Starts >= mostStarts:
			err = h.end(ctx, jobEnd{}, fault.New(fault.Unavailable, "compare with reality",
				"it was begun %d times, and ended each time without a word", mostStarts).
				WithHint("the log of who runs the handlers says more: of `southbound run`, or of the handler function"),
			)
		default:
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

// DropJob gives a job up: its worker ends soon, if it has one. It answers how far the job was.
func (s *Service) DropJob(ctx context.Context, env, id string) (JobState, error) {
	for {
		h, err := s.held(ctx, env, id)
		if err != nil || h.rec.Outcome != "" {
			return JobState{ID: id, State: JobFailed, Left: []string{}}, err
		}
		err = h.end(
			ctx,
			jobEnd{},
			fault.New(fault.Canceled, "compare with reality", "it was given up"),
		)
		if !fault.Is(err, fault.Conflict) {
			return JobState{
				ID:    id,
				State: JobFailed,
				Found: h.rec.Count,
				Left:  orEmpty(h.rec.Left),
			}, err
		}
	}
}

// stateOf answers for a job.
func (s *Service) stateOf(ctx context.Context, h *heldJob) (JobState, error) {
	out := JobState{ID: h.job.ID, State: JobRunning, Found: h.rec.Count, Left: orEmpty(h.rec.Left)}
	if h.rec.Outcome == "" {
		return out, nil
	}
	var end jobEnd
	if err := s.readJSON(ctx, h.rec.Outcome, &end); err != nil {
		return out, err
	}
	out.Done, out.Error, out.State, out.Left = end.Done, end.Error, JobDone, []string{}
	if end.Error != nil {
		out.State, out.Left = JobFailed, orEmpty(h.rec.Left)
	}
	return out, nil
}

// heldJob is a job as it was read, to be changed.
type heldJob struct {
	s   *Service
	env string
	job deploy.Job
	rec jobRecord
}

// held reads a job.
func (s *Service) held(ctx context.Context, env, id string) (*heldJob, error) {
	jobs, err := s.Jobs.Jobs(ctx, env, id, s.Engine.Clock.Now())
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read job", err)
	}
	i := slices.IndexFunc(jobs, func(j deploy.Job) bool { return j.ID == id })
	if i < 0 {
		return nil, noJob()
	}
	h := &heldJob{s: s, env: env, job: jobs[i]}
	return h, decode(h.job.Body, &h.rec)
}

// write writes the job, if nobody else has; Conflict if somebody has.
func (h *heldJob) write(ctx context.Context) error {
	var err error
	if h.job.Body, err = encode(h.rec); err != nil {
		return err
	}
	rev, err := h.s.Jobs.PutJob(ctx, h.env, h.job, h.s.Engine.Clock.Now())
	if err == nil {
		h.job.Rev = rev
	}
	return fault.Wrap(fault.Unknown, "write job", err)
}

// end ends the job: with what was found, or with why it was not.
func (h *heldJob) end(ctx context.Context, e jobEnd, why error) error {
	if why != nil {
		failure := FailureOf(why)
		e = jobEnd{Error: &failure}
	}
	var err error
	if h.rec.Outcome, err = h.s.storeJSON(ctx, e); err != nil {
		return err
	}
	h.rec.Worker = ""
	return h.write(ctx)
}

// storeJSON stores a value as a file and returns its hash.
func (s *Service) storeJSON(ctx context.Context, v any) (string, error) {
	text, err := encode(v)
	if err != nil {
		return "", err
	}
	b := blobOf(text)
	return b.Hash, fault.Wrap(fault.Unknown, "store job", s.Engine.Files.Put(ctx, []deploy.Blob{b}))
}

// readJSON reads a value from a file.
func (s *Service) readJSON(ctx context.Context, hash string, v any) error {
	texts, err := s.Engine.Files.Get(ctx, []string{hash})
	if err != nil {
		return fault.Wrap(fault.Unknown, "read job", err)
	}
	return decode(texts[0], v)
}
