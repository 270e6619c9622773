// Package results holds the results of comparisons. A result that is too long for one answer is
// stored in parts, which clients read one by one.
package results

import (
	"context"
	"net/http"

	"southbound/shared/api/client"
	"southbound/shared/api/problem"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/diff"
	"southbound/shared/resource"
)

// Fetch is gather with the parts of a server.
func Fetch(
	ctx context.Context, c *client.Conn, env string, done ReadDone,
) (deploy.DryRun, error) {
	return Gather(done, func(hash string) (ResultPart[PlannedChange], error) {
		return client.Ask[ResultPart[PlannedChange]](
			ctx,
			c,
			http.MethodGet,
			wire.EnvironmentPath(env, "results/"+hash),
			nil,
		)
	})
}

// Found is one existing thing.
type Found struct {
	ID         resource.ID    `json:"id"`
	Attributes map[string]any `json:"attributes,omitempty" doc:"in the form of documents"`
	Why        string         `json:"why,omitempty" doc:"reason why no resource can describe it"`
	Note       string         `json:"note,omitempty" doc:"attributes to add before the resource can be applied"`
}

// FoundDone is the response to a discovery. Things that do not fit into Items are in stored files, in
// order.
type FoundDone struct {
	Agent map[string]any `json:"agent,omitempty" doc:"description of the agent, if its name alone means another agent"`
	Total int            `json:"total"`
	Items []Found        `json:"items"`
	Parts []string       `json:"parts" doc:"hashes of results"`
}

// Discovered is the result of a discovery.
type Discovered struct {
	// Agent is the agent in the form of documents; nil if its name alone is enough.
	Agent map[string]any
	// Resources describe existing things. Left are the things without a describing resource.
	Resources, Left []Found
}

// GatherFound combines an answer with its parts, which it reads with get.
func GatherFound(
	done FoundDone, get func(hash string) (ResultPart[Found], error),
) (Discovered, error) {
	out := Discovered{Agent: done.Agent}
	items := done.Items
	for n := 0; ; n++ {
		for _, f := range items {
			if f.Why != "" {
				out.Left = append(out.Left, f)
			} else {
				out.Resources = append(out.Resources, f)
			}
		}
		if n == len(done.Parts) {
			return out, nil
		}
		part, err := get(done.Parts[n])
		if err != nil {
			return out, err
		}
		items = part.Items
	}
}

// PlannedChange is the change that a deploy would make to one resource.
type PlannedChange struct {
	ID      resource.ID          `json:"id"`
	Action  string               `json:"action"`
	Changes map[string]diff.Diff `json:"changes,omitempty"`
	Reason  string               `json:"reason,omitempty"`
	Failed  bool                 `json:"failed,omitempty" doc:"reading the thing failed"`
	Replace bool                 `json:"replace,omitempty" doc:"the update would replace the thing"`
	// CreateFirst reports the order of a replacement.
	CreateFirst bool `json:"create_before_destroy,omitempty" doc:"the replacement creates the new thing before it deletes the old one"`

	Deletes bool `json:"deletes,omitempty" doc:"for undefined: the thing is deleted or replaced once the value is known"`
	// ReloadFor are the changed resources of which it would be notified.
	ReloadFor []resource.ID `json:"reload_for,omitempty" doc:"changed resources for which it reloads"`
	MovedFrom resource.ID   `json:"moved_from,omitempty" doc:"earlier id of the thing"`
	// Rechecked reports that only the address of the agent changes.
	Rechecked   bool          `json:"rechecked,omitempty" doc:"unchanged, but checked again because its agent is reached in another way"`
	After       []resource.ID `json:"after,omitempty" doc:"the first changes that are required to read its thing"`
	Unavailable bool          `json:"unavailable,omitempty" doc:"reading failed because the target, or a program on it, does not exist"`
	// KnownAfter are facts that the apply learns, and that attributes depend on.
	KnownAfter []deploy.AwaitedFact `json:"known_after_apply,omitempty" doc:"facts that the apply learns, on which attributes depend"`
	Seen       string               `json:"seen,omitempty" doc:"digest of the found things that would be deleted, replaced or changed"`
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

// Gather combines an answer with its parts, which it reads with get.
func Gather(
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
