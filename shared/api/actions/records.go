package actions

import (
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// actionOf returns an action with every member, also the empty ones.
func actionOf(x *state.Action) Action {
	a := Action{ID: x.ID, Resource: x.Resource, Version: x.Version, Action: x.Action,
		Outcome: x.Outcome, Change: x.Change, Started: x.Started.UTC(),
		Finished: x.Finished.UTC(), Reason: x.Reason, Replaced: x.Replaced, Stale: x.Stale,
		Pack: x.Pack, Provider: x.Provider, Why: x.ProviderWhy, Changes: x.Changes,
		Messages: make([]Message, 0, len(x.Messages))}
	if a.Changes == nil {
		a.Changes = map[string]diff.Diff{}
	}
	for _, l := range x.Messages {
		if l.Kwargs == nil {
			l.Kwargs = map[string]any{}
		}
		a.Messages = append(a.Messages, Message{l.At.UTC(), l.Level, l.Msg, l.Kwargs})
	}
	return a
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
	Set      string // actions of the resources that are in this set now
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
