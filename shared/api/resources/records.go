package resources

import (
	"time"

	"southbound/shared/api/actions"
	"southbound/shared/api/document"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/resource"
)

// hasRead reports whether an action has read the thing.
func hasRead(a *actions.Action) bool {
	return a.Outcome == state.StatusDeployed || a.Outcome == state.StatusNonCompliant ||
		len(a.Changes) > 0
}

// attributes fills in the desired attributes, and the values that the last action which read the
// thing left or found. An action for another intent is used only for attributes that it changed or
// found to differ.
func (d *Detail) attributes(row *state.Row, last *actions.Action) {
	d.Desired = map[string]any{}
	res, err := resource.Decode(row.Body)
	if err != nil {
		return
	}
	d.Desired = document.Describe(res).Attributes
	if last == nil {
		return
	}
	done := last.Outcome == state.StatusDeployed && last.Action != state.ActionDryRun
	at := last.Finished
	d.SeenAt = &at
	if done && (res.Purged && last.Version == row.Version || last.Change == diff.Purged) {
		return
	}
	d.Seen = map[string]any{}
	for name, v := range d.Desired {
		switch c, differs := last.Changes[name]; {
		case last.Version == row.Version && (!differs || done):
			d.Seen[name] = v
		case differs && done && c.Desired != nil:
			d.Seen[name] = c.Desired
		case differs && !done && c.Current != nil:
			d.Seen[name] = c.Current
		}
	}
	if last.Change == diff.Created && !done {
		d.Seen = nil
	}
}

// Forgetting names what to forget: it sets one of the three members.
type Forgetting struct {
	ID     resource.ID `json:"id,omitempty" minLength:"1" maxLength:"4096" doc:"a resource that left the model"`
	Agent  string      `json:"agent,omitempty" minLength:"1" maxLength:"255" doc:"an agent without managed resources"`
	Filter []string    `json:"filter,omitempty" minItems:"1" maxItems:"1000" minLength:"1" doc:"the terms of a filter: the resources that match and left the model"`
}

// Forgotten counts and names the forgotten resources.
type Forgotten struct {
	Forgotten int           `json:"forgotten" doc:"number of resources"`
	IDs       []resource.ID `json:"ids" doc:"the first of them"`
}

// maxForgotten is how many of the forgotten resources are named.
const maxForgotten = 1000

// Work is a request to schedule work on the released version.
type Work struct {
	Filter      []string
	Repair      bool // check all matching resources against reality, not only unfinished ones
	RetryFailed bool
}

// Scheduled is the number of resources that a request has scheduled.
type Scheduled struct {
	Scheduled int `json:"scheduled"`
}

// Resource is the current state of one resource.
type Resource struct {
	ID         resource.ID      `json:"id"`
	Type       string           `json:"type"`
	Agent      string           `json:"agent"`
	Status     state.Status     `json:"status"`
	Compliance state.Compliance `json:"compliance"`
	LastRun    state.LastRun    `json:"last_run"`
	Blocked    state.Blocked    `json:"blocked"`
	Deploying  bool             `json:"deploying"`
	Version    int              `json:"version"`
	Hash       string           `json:"hash"`
	Set        string           `json:"set"`
	Reason     string           `json:"reason"`
	LastAction string           `json:"last_action"`
	// Interrupted is also set for an interrupted check of a deployed resource.
	Interrupted bool `json:"interrupted,omitempty" doc:"its process ended during the run, and no process has taken it up yet"`
	// Parameter is the parameter that Reason, a text for people, is about.
	Parameter string `json:"parameter,omitempty" doc:"the parameter to set, if a parameter is unknown"`
}

// Detail is a resource with its dependencies and its last action.
type Detail struct {
	Resource
	Requires   []resource.ID   `json:"requires"`
	RequiredBy []resource.ID   `json:"required_by"`
	Causes     []resource.ID   `json:"causes" doc:"root causes of a skip"`
	NextAt     *time.Time      `json:"next_at" doc:"time of the next attempt by a timer"`
	Attempts   int             `json:"attempts" doc:"number of consecutive failures"`
	Place      *diag.Pos       `json:"place,omitempty" doc:"place in the documents or the model of the version in force, as far as it is known"`
	Waits      string          `json:"waits,omitempty" doc:"reason why it has not run yet, if it is scheduled"`
	Last       *actions.Action `json:"last"`
	// Desired are the attributes of the intent, in the form of documents.
	Desired map[string]any `json:"desired" doc:"desired attributes, in the form of documents"`
	// Seen are the attributes as the last run left or found them; unknown ones are omitted.
	Seen   map[string]any `json:"seen" doc:"attributes that the last run left or found, as far as known; null: the thing does not exist, or nothing is known"`
	SeenAt *time.Time     `json:"seen_at" doc:"time of that run; null: never"`
}

// Health holds the unhealthy resources, causes first.
type Health struct {
	// Groups are grouped by reason, the largest first.
	Groups []Group `json:"groups"`
	// Single are the first unhealthy resources, one by one.
	Single []Problem `json:"single"`
	// Agents and Types are how the resources of each are doing, the worst first.
	Agents     []Standing `json:"agents" maxItems:"100" doc:"by agent, the worst first"`
	MoreAgents int        `json:"more_agents,omitempty" doc:"number of further agents"`
	Types      []Standing `json:"types" maxItems:"100" doc:"by type, the worst first"`
	MoreTypes  int        `json:"more_types,omitempty" doc:"number of further types"`
}

// Standing is how the resources of an agent or a type are doing. A running resource counts with the
// status that it had.
type Standing struct {
	Name   string               `json:"name"`
	Worst  state.Status         `json:"worst"`
	Count  int                  `json:"count" doc:"number of its resources"`
	Counts map[state.Status]int `json:"counts" doc:"number of its resources by status, without zeros"`
}

// Group is a number of resources that are unhealthy on their own, for one reason.
type Group struct {
	ID       resource.ID   `json:"id" doc:"one of them"`
	Status   state.Status  `json:"status"`
	Reason   string        `json:"reason"`
	NextAt   *time.Time    `json:"next_at"`
	Count    int           `json:"count"`
	NotDone  int           `json:"not_done" doc:"number of other resources that wait because of these"`
	FirstNot []resource.ID `json:"first_not_done"`
	// Agent and Since describe an unreachable agent.
	Agent string     `json:"agent,omitempty" doc:"the unreachable agent"`
	Since *time.Time `json:"since,omitempty" doc:"time at which it was last reached; absent: never"`
	// Parameter is the parameter that Reason, a text for people, is about.
	Parameter string `json:"parameter,omitempty" doc:"the parameter to set, if a parameter is unknown"`
}

// Problem is one resource that is unhealthy on its own, with the resources that it blocks.
type Problem struct {
	ID      resource.ID   `json:"id"`
	Status  state.Status  `json:"status"`
	Reason  string        `json:"reason"`
	NextAt  *time.Time    `json:"next_at"`
	Because []resource.ID `json:"not_done_because_of_it"`
}
