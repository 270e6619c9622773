package jobs

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"southbound/shared/api/chunk"
	"southbound/shared/api/comparisons"
	"southbound/shared/api/results"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Agents that only runners reach are compared by runners, in one part of the job for each agent: see
// docs/design/jobs.md.

const (
	partOfferFor = 30 * time.Second // a notified runner must take the part within this time
	runnerWithin = 2 * time.Minute  // after this time without a runner the part fails
	recordBytes  = 90_000           // of a record, whose limit is a little larger
	maxPages     = 1000             // records with the findings of one slice
	partsAtOnce  = 8                // parts that are written concurrently
	maxPartName  = 100              // bytes of the name of an agent in the id of a record
)

// partState holds the fields that only the record of a part has. A runner has no permission to write
// files, so its findings are in records.
type partState struct {
	Agent string    `json:"agent"`
	Since time.Time `json:"since,omitzero"` // until a runner takes it: the time of the first offer
	Pages []pages   `json:"pages,omitempty"`
	Ended *jobEnd   `json:"ended,omitempty"`
}

// pages name the records with the findings of a slice.
type pages struct {
	Set string `json:"set"`
	N   int    `json:"n"`
}

// partAsked is the request of a part: one of these.
type partAsked struct {
	Errand   *deploy.Errand        `json:"errand,omitempty"`
	Discover *comparisons.Discover `json:"discover,omitempty"`
}

// partID returns the id of the part of an agent.
func partID(job, agent string) string {
	name := url.PathEscape(agent)
	if len(name) > maxPartName {
		sum := sha256.Sum256([]byte(agent))
		name = hex.EncodeToString(sum[:])
	}
	return job + "/" + name
}

// Offered returns the sorted ids of the parts of jobs that are offered to runners of an agent. A
// runner receives notices of them once the agent has a queue.
func (s *Service) Offered(ctx context.Context, env, agent string) ([]string, error) {
	all, err := s.Jobs.Jobs(ctx, env, jobKey(""), s.Env.Engine.Clock.Now())
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read jobs", err)
	}
	var ids []string
	for _, job := range all {
		var rec jobRecord
		if err := wire.Decode(job.Body, &rec); err != nil {
			return nil, err
		}
		if rec.Part != nil && rec.Part.Agent == agent && rec.Worker == "" && !rec.hasEnded() &&
			rec.Alive.After(s.Env.Engine.Clock.Now()) {
			ids = append(ids, strings.TrimPrefix(job.ID, jobKey("")))
		}
	}
	return ids, nil
}

// unfinished returns the parts that have not ended.
func unfinished(parts []*storedJob) []*storedJob {
	return slices.DeleteFunc(slices.Clone(parts), func(p *storedJob) bool { return p.rec.hasEnded() })
}

// continueParts continues parts. It notifies runners again of parts that no runner has taken. A
// part whose runner sends no heartbeat is offered to another runner. A part that no runner takes is
// ended.
func (s *Service) continueParts(ctx context.Context, parts []*storedJob) error {
	now := s.Env.Engine.Clock.Now()
	for _, p := range unfinished(parts) {
		r := &p.rec
		if r.Part == nil || r.Alive.After(now) {
			continue
		}
		if r.Worker != "" {
			r.Starts++
		}
		var err error
		switch since := r.Part.Since; {
		case !since.IsZero() && !now.Before(since.Add(runnerWithin)):
			err = p.end(ctx, jobEnd{}, fault.New(
				fault.Unavailable,
				"",
				"no runner took it up within %s; `southbound agent run %s` serves it, in this "+
					"version "+
					"or a newer one",
				runnerWithin,
				r.Part.Agent,
			))
		case r.Starts >= maxStarts:
			err = p.end(
				ctx,
				jobEnd{},
				fault.New(fault.Unavailable, "", "its runner started %d times "+
					"and sent no result; see the log of the runner", maxStarts),
			)
		default:
			err = s.offer(ctx, p)
		}
		if err != nil && !fault.Is(err, fault.Conflict) { // a concurrent poll does the same
			return err
		}
	}
	return nil
}

// offer offers a part to runners of its agent: first in its record, as a runner takes only offered
// parts. If the notice is lost, a later poll sends another one.
func (s *Service) offer(ctx context.Context, p *storedJob) error {
	now := s.Env.Engine.Clock.Now()
	p.rec.Worker, p.rec.Alive = "", now.Add(partOfferFor)
	if p.rec.Part.Since.IsZero() {
		p.rec.Part.Since = now
	}
	if err := p.write(ctx); err != nil {
		return err
	}
	_ = s.NotifyRunner(ctx, p.env, p.rec.Part.Agent, p.id)
	return nil
}

// dropParts ends the parts of a cancelled job, so that their runners stop. A part that cannot be
// ended here ends with its slice.
func (s *Service) dropParts(ctx context.Context, parts []*storedJob) {
	for _, p := range unfinished(parts) {
		for err := error(nil); ; {
			if err = p.end(ctx, jobEnd{},
				fault.New(fault.Canceled, "", "it was canceled")); err == nil {
				break
			}
			if p, err = s.load(ctx, p.env, p.id); err != nil || p.rec.hasEnded() {
				break
			}
		}
	}
}

// delegate makes parts for the errands of agents that only runners reach, and returns the findings
// of parts that have ended.
func (w *worker) delegate(ctx context.Context,
	errands []deploy.Errand) ([]deploy.Elsewhere, error) {
	have, err := w.parts(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]deploy.Elsewhere, len(errands))
	var g errgroup.Group
	g.SetLimit(partsAtOnce)
	for i := range errands {
		e := &errands[i]
		if !w.s.ByRunner(e.Agent) {
			continue
		}
		g.Go(func() (err error) {
			out[i], err = w.errand(ctx, have[partID(w.id, e.Agent.Name)], e)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i := range errands {
		if out[i].Taken && !out[i].Whole {
			w.pendingAgents = append(w.pendingAgents, errands[i].Agent.Name)
		}
	}
	return out, nil
}

// parts returns the parts of the job by their ids.
func (w *worker) parts(ctx context.Context) (map[string]*storedJob, error) {
	_, list, err := w.s.loadWithParts(ctx, w.env, w.id)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*storedJob, len(list))
	for _, p := range list {
		out[p.id] = p
	}
	return out, nil
}

// errand returns the progress of the part for an errand, which it makes if there is none. If the part
// has failed, so have all of its resources.
func (w *worker) errand(ctx context.Context, have *storedJob,
	e *deploy.Errand) (out deploy.Elsewhere, err error) {
	p, err := w.part(ctx, have, e.Agent.Name, partAsked{Errand: e})
	if err != nil || p == nil || !p.rec.hasEnded() {
		return deploy.Elsewhere{Taken: true}, err
	}
	out = deploy.Elsewhere{Taken: true, Whole: true}
	if failure := p.rec.Part.Ended.Error; failure != nil {
		for i := range e.Wanted {
			out.Found = append(
				out.Found,
				deploy.PlannedChange{ID: e.Wanted[i].ID, Action: "none", Failed: true,
					Reason: fmt.Sprintf("agent %s: %s", e.Agent.Name, failure.Message)},
			)
		}
		return out, nil
	}
	out.Found, err = p.found(ctx)
	return out, err
}

// part returns the part of an agent, and makes it if there is none with the same request; nil: a
// concurrent worker makes it.
func (w *worker) part(ctx context.Context, have *storedJob, agent string,
	request partAsked) (*storedJob, error) {
	text, err := wire.Encode(request)
	if err != nil {
		return nil, err
	}
	b := chunk.Blob(wire.Gzip(text))
	if have != nil && have.rec.Asked == b.Hash {
		return have, nil
	}
	// The errand before the record that names it: a crash in between leaves a file that nothing
	// names, and the next slice stores the same.
	if err := w.s.Env.Engine.Files.Put(ctx, []state.Blob{b}); err != nil {
		return nil, fault.Wrap(fault.Unknown, "store job", err)
	}
	id := partID(w.id, agent)
	p := &storedJob{s: w.s, env: w.env, id: id,
		job: state.Job{ID: jobKey(id), Expires: w.job.Expires},
		rec: jobRecord{Asked: b.Hash, Part: &partState{Agent: agent}}}
	if have != nil { // its request was another one
		p.job.Rev = have.job.Rev
	}
	if err := w.s.offer(ctx, p); err != nil {
		if fault.Is(err, fault.Conflict) {
			return nil, nil
		}
		return nil, err
	}
	return p, nil
}

// discover lists existing things, in this process or by a runner.
func (w *worker) discover(
	ctx context.Context, job comparisons.ReadJob,
) (deploy.DryRun, *results.ReadDone, error) {
	agents, err := w.s.Env.Engine.State.Agents(ctx, w.env)
	if err != nil {
		return deploy.DryRun{}, nil, fault.Wrap(fault.Unknown, "read agents", err)
	}
	of := agents[job.Discover.Agent]
	if of.Transport == "" || w.s.ByRunner == nil || !w.s.ByRunner(of.Agent) {
		found, err := w.s.Comparisons.FoundHere(ctx, w.env, *job.Discover)
		return deploy.DryRun{}, &results.ReadDone{
			Items: []results.PlannedChange{},
			Parts: []string{},
			Found: &found,
		}, err
	}
	have, err := w.parts(ctx)
	if err != nil {
		return deploy.DryRun{}, nil, err
	}
	p, err := w.part(ctx, have[partID(w.id, of.Name)], of.Name, partAsked{Discover: job.Discover})
	switch {
	case err != nil:
		return deploy.DryRun{}, nil, err
	case p == nil || !p.rec.hasEnded():
		w.pendingAgents = []string{of.Name}
		return deploy.DryRun{Unread: w.pendingAgents}, nil, nil
	case p.rec.Part.Ended.Error != nil:
		failure := p.rec.Part.Ended.Error
		return deploy.DryRun{}, nil, &fault.Error{Kind: failure.Kind,
			Message: fmt.Sprintf("agent %s: %s", of.Name, failure.Message), Hint: failure.Hint}
	}
	var found results.FoundDone
	if err := p.page(ctx, 0, &found); err != nil {
		return deploy.DryRun{}, nil, err
	}
	found.Items, found.Parts, err = results.InParts(ctx, w.s.Env.Engine.Files, found.Items)
	return deploy.DryRun{}, &results.ReadDone{
		Items: []results.PlannedChange{},
		Parts: []string{},
		Found: &found,
	}, err
}

// partSlice works on a part until a time, for the runner that has taken it.
func (w *worker) partSlice(ctx context.Context, until time.Time) (d deploy.DryRun, done *results.ReadDone,
	err error) {
	texts, err := w.s.Env.Engine.Files.Get(ctx, []string{w.rec.Asked})
	if err != nil {
		return d, nil, fault.Wrap(fault.Unknown, "read job", err)
	}
	var request partAsked
	if err := unzip(texts[0], &request); err != nil {
		return d, nil, err
	}
	switch {
	case request.Discover != nil:
		found, err := w.s.Comparisons.Describe(ctx, w.env, *request.Discover)
		return d, &results.ReadDone{Found: &found}, err
	case request.Errand == nil:
		return d, nil, fault.New(
			fault.Foreign,
			"read job",
			"its request is unknown to this program",
		)
	}
	known, err := w.found(ctx)
	if err != nil {
		return d, nil, err
	}
	d, err = w.s.Env.Engine.ReadRemote(ctx, w.env, *request.Errand, deploy.Reading{Until: until,
		Known: known, Progress: func(agents []string) { w.left(ctx, agents) }})
	if err != nil || len(d.Unread) > 0 {
		return d, nil, err
	}
	return d, &results.ReadDone{}, nil
}

// endPart ends a part, with the findings of its last slice or with an error.
func (w *worker) endPart(
	ctx context.Context, d deploy.DryRun, done *results.ReadDone, err error,
) error {
	if err == nil {
		if done.Found != nil {
			err = w.keepPages(ctx, done.Found)
		} else {
			err = w.keepFound(ctx, d)
		}
		if err != nil && !fault.Is(err, fault.Unsupported) {
			return err // another runner starts again
		}
	}
	return w.end(ctx, jobEnd{}, err)
}

// found returns the findings of a part so far.
func (h *storedJob) found(ctx context.Context) ([]deploy.PlannedChange, error) {
	var out []deploy.PlannedChange
	for i := range h.rec.Part.Pages {
		var some []results.PlannedChange
		if err := h.page(ctx, i, &some); err != nil {
			return nil, err
		}
		for _, one := range some {
			out = append(out, deploy.PlannedChange(one))
		}
	}
	return out, nil
}

func pageKey(set string) string { return "found/" + set + "/" }

// keepPages stores findings as records, which the next write of the part's record names. A crash in
// between leaves unnamed records that expire; the next runner writes a new set.
func (w *worker) keepPages(ctx context.Context, found any) error {
	text, err := wire.Encode(found)
	if err != nil {
		return err
	}
	set := pages{Set: w.s.Env.Engine.NewID()}
	for part := range slices.Chunk(wire.Gzip(text), recordBytes) {
		if set.N == maxPages {
			return fault.New(fault.Unsupported, "store findings", "it is larger than %d MB",
				maxPages*recordBytes/1_000_000).WithHint("compare less with a FILTER")
		}
		_, err := w.s.Jobs.PutJob(
			ctx,
			w.env,
			state.Job{ID: fmt.Sprintf("%s%05d", pageKey(set.Set), set.N),
				Expires: w.job.Expires, Body: part},
			w.s.Env.Engine.Clock.Now(),
		)
		if err != nil {
			return fault.Wrap(fault.Unknown, "store findings", err)
		}
		set.N++
	}
	w.rec.Part.Pages = append(w.rec.Part.Pages, set)
	return nil
}

// page reads the findings of one slice.
func (h *storedJob) page(ctx context.Context, i int, v any) error {
	if i >= len(h.rec.Part.Pages) {
		return fault.New(
			fault.Damaged,
			"read job",
			"%s has ended without findings",
			h.id,
		)
	}
	set := h.rec.Part.Pages[i]
	records, err := h.s.Jobs.Jobs(ctx, h.env, pageKey(set.Set), h.s.Env.Engine.Clock.Now())
	if err != nil {
		return fault.Wrap(fault.Unknown, "read job", err)
	}
	if len(records) != set.N {
		return fault.New(fault.Damaged, "read job", "%d of %d records of findings exist",
			len(records), set.N).WithHint("ask again")
	}
	var packed []byte
	for i := range records {
		packed = append(packed, records[i].Body...)
	}
	return unzip(packed, v)
}

// unzip reads JSON that was packed.
func unzip(packed []byte, v any) error {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fault.Wrap(fault.Damaged, "read job", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, chunk.MaxUnpacked))
	if err != nil {
		return fault.Wrap(fault.Damaged, "read job", err)
	}
	return wire.Decode(text, v)
}
