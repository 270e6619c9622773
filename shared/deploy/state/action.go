package state

import (
	"slices"
	"strings"
	"time"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// ActionKind is the purpose of an action.
type ActionKind string

// The kinds of actions.
const (
	ActionDeploy ActionKind = "deploy"
	ActionRepair ActionKind = "repair"
	ActionDryRun ActionKind = "dryrun"
)

// Action is one run of a handler for one resource.
//
// Large: it is a stored record. Its fields are those of the log.
type Action struct {
	ID       string               `json:"id"` // unique; ids grow with time, and order actions
	Resource resource.ID          `json:"resource"`
	Version  int                  `json:"version"` // that brought the intent
	Action   ActionKind           `json:"action"`
	Outcome  Status               `json:"outcome"` // of the run, even if the result is stale
	Change   diff.Change          `json:"change"`  // made, or in a dry run planned
	Started  time.Time            `json:"started"` // after the runs that it waited for in its batch
	Finished time.Time            `json:"finished"`
	Changes  map[string]diff.Diff `json:"changes,omitempty"`  // by attribute; no secrets, long values are truncated
	Messages []provider.Line      `json:"messages,omitempty"` // in the order of the run; no secrets
	Reason   string               `json:"reason,omitempty"`   // why it did not end well, for people; no secrets
	Replaced bool                 `json:"replaced,omitempty"` // the thing was deleted and created again
	Stale    bool                 `json:"stale,omitempty"`    // the intent was replaced, or another run recorded, while it ran
	Pack     string               `json:"pack"`               // the program that called the handler
	// Provider is the provider that served the run, when the type has several; ProviderWhy is the
	// reason for its choice.
	Provider    string `json:"provider,omitempty"`
	ProviderWhy string `json:"provider_why,omitempty"`
}

// ActionQuery selects actions; zero fields select all.
type ActionQuery struct {
	Resource resource.ID
	Agent    string               // only of resources of this agent
	Of       map[resource.ID]bool // only of these resources; nil: of all
	IDs      []string
	Version  int
	Action   ActionKind
	Outcome  Status
	After    string         // only actions with a greater id (ids grow with time)
	Before   string         // only actions with a smaller id
	Since    time.Time      // only actions that were finished then or later
	Until    time.Time      // only actions that were finished before
	Level    provider.Level // with a line at least this severe
	Text     string         // with a line that contains it
	Notable  bool           // only actions that changed a thing or did not end well
	Limit    int            // 0: all
}

// Notable reports whether an action changed a thing, or did not end well.
func (a *Action) Notable() bool {
	return a.Outcome != StatusDeployed || a.Change != diff.NoChange && a.Change != ""
}

// Selects reports whether an action matches. With both Level and Text one line must be as severe
// and contain the text.
func (q *ActionQuery) Selects(a *Action) bool {
	switch {
	case q.Resource != "" && a.Resource != q.Resource,
		q.Agent != "" && a.Resource.Agent() != q.Agent,
		q.Of != nil && !q.Of[a.Resource],
		len(q.IDs) > 0 && !slices.Contains(q.IDs, a.ID),
		q.Version != 0 &&
			a.Version != q.Version,
		q.Action != "" && a.Action != q.Action,
		q.Outcome != "" && a.Outcome != q.Outcome,
		q.After != "" && a.ID <= q.After,
		q.Before != "" && a.ID >= q.Before,
		q.Notable &&
			!a.Notable(),
		!q.Since.IsZero() && a.Finished.Before(q.Since),
		!q.Until.IsZero() && !a.Finished.Before(q.Until):
		return false
	}
	return q.Level == "" && q.Text == "" ||
		slices.ContainsFunc(a.Messages, func(l provider.Line) bool {
			return Severity(l.Level) >= Severity(q.Level) && strings.Contains(l.Msg, q.Text)
		})
}

// Severity orders levels: a worse level has a greater number; 0 is not a level.
func Severity(l provider.Level) int {
	return 1 + slices.Index(
		[]provider.Level{
			provider.LevelDebug,
			provider.LevelInfo,
			provider.LevelWarning,
			provider.LevelError,
		},
		l,
	)
}
