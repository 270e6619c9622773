package api

import (
	"encoding/json"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Progress is the progress of an environment: counters, never listings.
//
// Large: it is one record, as programs read it.
type Progress struct {
	Environment  string               `json:"environment"`
	Released     int                  `json:"released" doc:"the version in force; 0: none"`
	Last         int                  `json:"last" doc:"the highest stored version"`
	Releasing    int                  `json:"releasing" doc:"the version whose release is incomplete; 0: none"`
	Halted       bool                 `json:"halted"`
	Counts       map[state.Status]int `json:"counts" doc:"number of resources by status"`
	Scheduled    int                  `json:"scheduled"`
	Left         map[string]int       `json:"left,omitempty" doc:"number of scheduled resources by agent"`
	Running      []resource.ID        `json:"running" doc:"the first running resources"`
	RunningCount int                  `json:"running_count"`
	Interrupted  []resource.ID        `json:"interrupted,omitempty" doc:"the first resources whose process ended during the run, and which no process has taken up yet"`
	Lanes        []string             `json:"lanes" doc:"lanes with work"`
	Held         []string             `json:"held" doc:"lanes that a process serves now"`
	Paused       []string             `json:"paused" doc:"paused agents"`
	// Waiting is why agents are waited for.
	Waiting map[string]string `json:"waiting,omitempty" doc:"reasons why agents are tried again, by name; only agents that this server serves"`
	Applied string            `json:"applied,omitempty" doc:"expect of the last export, if it had one"`
	Outbox  int               `json:"outbox" doc:"number of pending consequences of commits, up to a few"`
}

// maxRunning is how many of the running resources are named.
const maxRunning = 20

// Statuses returns all statuses, in their display order.
func Statuses() []state.Status {
	return []state.Status{state.StatusFailed, state.StatusUnavailable, state.StatusSkipped,
		state.StatusBlocked, state.StatusUndefined,
		state.StatusDeploying, state.StatusAvailable, state.StatusNonCompliant,
		state.StatusOrphaned, state.StatusDeployed}
}

// ByStatus returns the number of resources of every status, also of those that no resource has. A
// running resource counts as deploying, and not as available.
func (p *Progress) ByStatus() map[state.Status]int {
	out := make(map[state.Status]int, len(Statuses()))
	for _, s := range Statuses() {
		out[s] = p.Counts[s]
	}
	running := min(p.RunningCount, out[state.StatusAvailable])
	out[state.StatusDeploying] = running
	out[state.StatusAvailable] -= running
	return out
}

// Done reports whether nothing is scheduled or in progress.
func (p *Progress) Done() bool {
	return p.Scheduled == 0 && p.Outbox == 0 && len(p.Lanes) == 0 && p.Releasing == 0
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
	Requires   []resource.ID `json:"requires"`
	RequiredBy []resource.ID `json:"required_by"`
	Causes     []resource.ID `json:"causes" doc:"root causes of a skip"`
	NextAt     *time.Time    `json:"next_at" doc:"time of the next attempt by a timer"`
	Attempts   int           `json:"attempts" doc:"number of consecutive failures"`
	Waits      string        `json:"waits,omitempty" doc:"reason why it has not run yet, if it is scheduled"`
	Last       *Action       `json:"last"`
	// Desired are the attributes of the intent, in the form of documents.
	Desired map[string]any `json:"desired" doc:"desired attributes, in the form of documents"`
	// Seen are the attributes as the last run left or found them; unknown ones are omitted.
	Seen   map[string]any `json:"seen" doc:"attributes that the last run left or found, as far as known; null: the thing does not exist, or nothing is known"`
	SeenAt *time.Time     `json:"seen_at" doc:"time of that run; null: never"`
}

// Version is one stored version.
type Version struct {
	Version   int       `json:"version"`
	At        time.Time `json:"at"`
	Resources int       `json:"resources"`
	Released  bool      `json:"released"`
	Partial   bool      `json:"partial"`
	Pack      string    `json:"pack"`
	Digest    string    `json:"digest"`
	Origin
	InForce []InForce `json:"in_force" doc:"periods in which it was in force, oldest first"`
}

// InForce is a period in which a version was in force.
type InForce struct {
	From    time.Time  `json:"from"`
	To      *time.Time `json:"to" doc:"end of the period; null: still in force"`
	By      string     `json:"by" doc:"author of the release"`
	Message string     `json:"message" doc:"why"`
}

// Origin is where a version comes from, for people.
type Origin struct {
	Author  string `json:"author" maxLength:"1000" doc:"author of the version"`
	Message string `json:"message" maxLength:"10000" doc:"why"`
	Commit  string `json:"commit" maxLength:"1000" doc:"commit of the documents"`
}

// Agent is where resources are managed.
type Agent struct {
	Name      string `json:"name"`
	Transport string `json:"transport" doc:"empty if no version names the agent; it can be paused nevertheless"`
	Lanes     int    `json:"lanes"`
	Paused    bool   `json:"paused"`
	// UnservedMS is for how long the agent has had work that no process does.
	UnservedMS int64 `json:"unserved_ms,omitempty" doc:"time for which it has had work that no process takes up"`
}

// Action is one finished run of a handler for one resource. Every member is present, except reason,
// replaced and stale.
//
// Large: it is one record of the API, and each field is a member that its clients read.
type Action struct {
	ID       string               `json:"id"`
	Resource resource.ID          `json:"resource"`
	Version  int                  `json:"version"`
	Action   state.ActionKind     `json:"action"`
	Outcome  state.Status         `json:"outcome"`
	Change   diff.Change          `json:"change"`
	Started  time.Time            `json:"started"`
	Finished time.Time            `json:"finished"`
	Reason   string               `json:"reason,omitempty"`
	Replaced bool                 `json:"replaced,omitempty" doc:"the thing was deleted and created again"`
	Stale    bool                 `json:"stale,omitempty" doc:"the intent was replaced, or another run was recorded, during the run"`
	Pack     string               `json:"pack"`
	Provider string               `json:"provider,omitempty" doc:"provider of the run, if the type has several"`
	Why      string               `json:"provider_why,omitempty" doc:"reason for that choice"`
	Changes  map[string]diff.Diff `json:"changes"`
	Messages []Message            `json:"messages"`
}

// Message is a line that a handler wrote.
type Message struct {
	At     time.Time      `json:"at"`
	Level  provider.Level `json:"level"`
	Msg    string         `json:"msg"`
	Kwargs map[string]any `json:"kwargs"`
}

// ActionQuery selects actions; zero fields select all.
type ActionQuery struct {
	Resource resource.ID
	Agent    string
	Version  int
	Action   state.ActionKind
	Outcome  state.Status
	After    string // only actions with a greater id
	Before   string // only actions with a smaller id
	Since    time.Time
	Until    time.Time
	Level    provider.Level
	Text     string
	Notable  bool // only actions that made a change or failed
	Limit    int  // 0: all
}

// Health holds the unhealthy resources, causes first.
type Health struct {
	// Groups are grouped by reason, the largest first.
	Groups []Group `json:"groups"`
	// Single are the first unhealthy resources, one by one.
	Single []Problem `json:"single"`
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

// Type is a resource type.
type Type struct {
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Attributes  []Attribute `json:"attributes"`
	Features    []string    `json:"features"`
	// Transports are the transports that reach an agent of the type; "*" stands for all.
	Transports []string `json:"transports"`
	Providers  []string `json:"providers"`
	// Declaration is the declaration of the type, in the form that `southbound types --check`
	// reads.
	Declaration json.RawMessage `json:"declaration,omitempty"`
}

// Attribute is one attribute of a type.
type Attribute struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Behaviour   string `json:"behaviour"`
	Default     any    `json:"default"`
	Description string `json:"description"`
	Sensitive   bool   `json:"sensitive"`
}

// Upload is a request that stores one file: it must be sent with exactly these headers. A URL
// without a host is relative to the API.
type Upload struct {
	Hash   string            `json:"hash"`
	Method string            `json:"method"`
	URL    string            `json:"url"`
	Header map[string]string `json:"header"`
}
