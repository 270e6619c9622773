package api

import (
	"context"
	"io"
	"slices"

	"southbound/shared/api/chunk"
	"southbound/shared/api/problem"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// PlannedChange is the change that a deploy would make to one resource.
type PlannedChange struct {
	ID      resource.ID          `json:"id"`
	Action  string               `json:"action"`
	Changes map[string]diff.Diff `json:"changes,omitempty"`
	Reason  string               `json:"reason,omitempty"`
	Failed  bool                 `json:"failed,omitempty" doc:"reading the thing failed"`
	Replace bool                 `json:"replace,omitempty" doc:"the update would replace the thing"`
	Deletes bool                 `json:"deletes,omitempty" doc:"for undefined: the thing is deleted or replaced once the value is known"`
	// ReloadFor are the changed resources of which it would be notified.
	ReloadFor []resource.ID `json:"reload_for,omitempty" doc:"changed resources for which it reloads"`
	MovedFrom resource.ID   `json:"moved_from,omitempty" doc:"earlier id of the thing"`
	// Rechecked reports that only the address of the agent changes.
	Rechecked   bool          `json:"rechecked,omitempty" doc:"unchanged, but checked again because its agent is reached in another way"`
	After       []resource.ID `json:"after,omitempty" doc:"the first changes that are required to read its thing"`
	Unavailable bool          `json:"unavailable,omitempty" doc:"reading failed because the target, or a program on it, does not exist"`
	Seen        string        `json:"seen,omitempty" doc:"digest of the found things that would be deleted, replaced or changed"`
}

// PlannedAgent is an agent that is new in a plan, or whose address changes.
type PlannedAgent struct {
	Name      string `json:"name"`
	Place     string `json:"place" doc:"description of its place, for people"`
	New       bool   `json:"new,omitempty"`
	How       string `json:"how,omitempty" doc:"difference in how it is reached"`
	Rotated   bool   `json:"rotated,omitempty" doc:"only secrets differ; the place is the same"`
	Rechecked int    `json:"rechecked,omitempty" doc:"number of unchanged resources that are checked again"`
}

// PlannedAgentsOf returns the agents of a plan.
func PlannedAgentsOf(agents []deploy.AgentChange) []PlannedAgent {
	var out []PlannedAgent
	for _, a := range agents {
		out = append(out, PlannedAgent(a))
	}
	return out
}

// ReadJob is a comparison: of a stored version, or of an export, with reality.
type ReadJob struct {
	Environment string `json:"environment"`
	Version     int    `json:"version,omitempty"` // 0: the released one, unless there is a bundle
	// Filter, if not empty, selects the resources of the version that are compared.
	Filter []string `json:"filter,omitempty"`
	Bundle *Bundle  `json:"bundle,omitempty"`
	Whole  bool     `json:"whole,omitempty"` // values are not truncated
	// Discover, if not nil, requests a discovery instead of a comparison.
	Discover *Discover `json:"discover,omitempty"`
}

// ReadDone is the response to a comparison. Changes that do not fit into Items are in stored files,
// in order.
type ReadDone struct {
	Version int             `json:"version"`
	State   string          `json:"state,omitempty" doc:"for a plan: value of expect for an export that does exactly this"`
	Covered int             `json:"covered" doc:"number of resources that were compared with their things"`
	Total   int             `json:"total"`
	Items   []PlannedChange `json:"items"`
	Parts   []string        `json:"parts" doc:"hashes of results"`
	// Agents are the agents of a plan that are new or whose address changes.
	Agents []PlannedAgent `json:"agents,omitempty"`
	// Refused is the error of a release of this version; nil if it would succeed or is in force.
	Refused *problem.Failure `json:"refused,omitempty"`
	// Found is the result of a discovery.
	Found *FoundDone `json:"found,omitempty"`
}

// ResultPart is a stored part of a long answer.
type ResultPart[T any] struct {
	Result int `json:"southbound_result"`
	Items  []T `json:"items"`
}

const (
	resultMark = `{"southbound_result":1,"items":[`
	maxInline  = 256 << 10
	partBytes  = 2 << 20
)

// DryRun implements Home.
func (s *comparisonService) DryRun(ctx context.Context, env string, version int, filter []string,
	whole bool) (deploy.DryRun, error) {
	return s.compare(ctx, ReadJob{Environment: env, Version: version, Filter: filter, Whole: whole},
		deploy.Reading{})
}

// Plan implements Home.
func (s *comparisonService) Plan(
	ctx context.Context, env string, x deploy.Export, opts deploy.CompareOptions,
) (deploy.DryRun, error) {
	return s.Env.Engine.Preview(ctx, env, x, opts)
}

func resultPart[T any](
	ctx context.Context, s *resultStore, hash string,
) (part ResultPart[T], err error) {
	b, err := s.Result(ctx, hash)
	if err == nil {
		err = wire.Decode(b, &part)
	}
	return part, err
}

// planned returns the plan of an export of uploaded documents, without reading reality.
func (s *comparisonService) planned(ctx context.Context, env string, asked planAsked) (ReadDone, error) {
	x, err := s.ExportService.unpack(ctx, asked.Bundle)
	if err != nil {
		return ReadDone{}, err
	}
	d, err := s.Env.Engine.Preview(ctx, env, x, deploy.CompareOptions{Whole: asked.Whole})
	if err != nil {
		return ReadDone{}, err
	}
	return s.Results.keep(ctx, d)
}

// keep makes an answer of bounded size.
func (s *resultStore) keep(ctx context.Context, d deploy.DryRun) (ReadDone, error) {
	all := make([]PlannedChange, len(d.Planned))
	for i := range d.Planned {
		all[i] = PlannedChange(d.Planned[i])
	}
	items, parts, err := inParts(ctx, s.Files, all)
	done := ReadDone{Version: d.Version, State: d.State, Covered: d.Covered, Total: len(all),
		Items: items, Parts: parts, Agents: PlannedAgentsOf(d.Agents)}
	if d.Refused != nil {
		f := problem.FailureOf(d.Refused)
		done.Refused = &f
	}
	return done, err
}

// inParts bounds the size of an answer: it returns the first items, and the hashes under which the
// others are stored.
func inParts[T any](
	ctx context.Context, files state.Files, all []T,
) (items []T, parts []string, err error) {
	return divide(ctx, files, all, maxInline)
}

// divide is inParts with at most so many bytes of first items.
func divide[T any](
	ctx context.Context, files state.Files, all []T, inline int,
) (items []T, parts []string, err error) {
	items, parts = []T{}, []string{}
	var blobs []state.Blob
	var text []byte
	flush := func() {
		if len(text) > 0 {
			blobs = append(blobs, chunk.Blob(append(text, "]}"...)))
			parts = append(parts, blobs[len(blobs)-1].Hash)
			text = nil
		}
	}
	size := 0
	for i := range all {
		line, err := wire.Encode(all[i])
		if err != nil {
			return nil, nil, err
		}
		if size += len(line); size <= inline {
			items = append(items, all[i])
			continue
		}
		if len(text)+len(line) > partBytes {
			flush()
		}
		if text == nil {
			text = append(make([]byte, 0, partBytes), resultMark...)
		} else {
			text = append(text, ',')
		}
		text = append(text, line...)
	}
	flush()
	if len(blobs) > 0 {
		if err := files.Put(ctx, blobs); err != nil {
			return nil, nil, fault.Wrap(fault.Unknown, "store result", err)
		}
	}
	return items, parts, nil
}

// Result returns a stored part of the answer to a comparison; other files are NotFound.
func (s *resultStore) Result(ctx context.Context, hash string) ([]byte, error) {
	gone := fault.New(fault.NotFound, "read result", "there is no such result").
		WithHint("results are kept for a day; ask again")
	if !wire.ValidHash(hash) {
		return nil, gone
	}
	f, err := s.Files.Open(ctx, hash)
	if fault.Is(err, fault.NotFound) {
		return nil, gone
	}
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read result", err)
	}
	defer func() { _ = f.Close() }()
	start := make([]byte, len(resultMark))
	if _, err := io.ReadFull(f, start); err != nil || string(start) != resultMark {
		return nil, gone
	}
	rest, err := io.ReadAll(io.LimitReader(f, 64<<20))
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "read result", err)
	}
	return slices.Concat(start, rest), nil
}

// gather combines an answer with its parts, which it reads with get.
func gather(
	done ReadDone,
	get func(hash string) (ResultPart[PlannedChange], error),
) (deploy.DryRun, error) {
	d := deploy.DryRun{Version: done.Version, State: done.State, Covered: done.Covered,
		Planned: make([]deploy.PlannedChange, 0, done.Total)}
	for _, a := range done.Agents {
		d.Agents = append(d.Agents, deploy.AgentChange(a))
	}
	if done.Refused != nil {
		d.Refused = done.Refused.AsError(nil)
	}
	items := done.Items
	for n := 0; ; n++ {
		for _, w := range items {
			d.Planned = append(d.Planned, deploy.PlannedChange(w))
		}
		if n == len(done.Parts) {
			return d, nil
		}
		part, err := get(done.Parts[n])
		if err != nil {
			return d, err
		}
		items = part.Items
	}
}

// Changed is a changed resource.
type Changed struct {
	ID         resource.ID `json:"id"`
	Change     diff.Change `json:"change"`
	Attributes []string    `json:"attributes"`
	Replaced   bool        `json:"replaced,omitempty"` // the thing was deleted and created again
}

// maxReported is how many changes a report has.
const maxReported = 1000

// Tell records changes in a report.
func (r *Report) Tell(changes []Changed) {
	n := min(len(changes), maxReported)
	r.Changes, r.More = wire.OrEmpty(changes[:n]), len(changes)-n
}

// Moves are the things whose id has changed.
type Moves struct {
	Moved int           `json:"moved,omitempty"`
	Moves []deploy.Move `json:"moves,omitempty"` // the first of them
}

// Gate is why a gate between waves is closed.
type Gate struct {
	AfterWave int            `json:"after_wave"`
	Resources []GateResource `json:"resources"` // the resources of the gate that are not deployed
}

// GateResource is a resource that keeps a gate closed: it is not deployed, or was not checked.
type GateResource struct {
	ID     resource.ID  `json:"id"`
	Status state.Status `json:"status"`
	Reason string       `json:"reason"`
	Waits  string       `json:"waits,omitempty"` // why it was not checked
}

// Report is the result of an export, as the command line and the export function return it.
//
// Large: it is one JSON object, with a field for each member.
type Report struct {
	Environment string `json:"environment"`
	Version     int    `json:"version"`
	Origin
	Resources int `json:"resources"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	Removed   int `json:"removed"`
	Moves
	Repaired int `json:"repaired"`
	// Recovered counts the unchanged resources that were failed, skipped, blocked, undefined or
	// unavailable before, and are deployed now.
	Recovered     int `json:"recovered"`
	FilesUploaded int `json:"files_uploaded"`
	// Gate is the gate that has ended the command between waves; nil: no gate has.
	Gate *Gate `json:"gate,omitempty"`
	// the first changes
	Changes    []Changed            `json:"changes"`
	More       int                  `json:"more,omitempty"` // the number of further changes
	Counts     map[state.Status]int `json:"counts"`
	DurationMS int64                `json:"duration_ms"`
	// Superseded is the version that was released during the wait for this one; 0: none.
	Superseded int `json:"superseded_by,omitempty"`
}
