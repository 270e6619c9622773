package local

import (
	"encoding/json"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/internal/cborform"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// storedAction is an action as it is stored. The numbers of its fields are part of the layout.
type storedAction struct {
	ID       string           `cbor:"1,keyasint"`
	Resource resource.ID      `cbor:"2,keyasint"`
	Version  int              `cbor:"3,keyasint,omitempty"`
	Action   state.ActionKind `cbor:"4,keyasint,omitempty"`
	Outcome  state.Status     `cbor:"5,keyasint,omitempty"`
	Change   diff.Change      `cbor:"6,keyasint,omitempty"`
	Started  int64            `cbor:"7,keyasint,omitempty"`
	Finished int64            `cbor:"8,keyasint,omitempty"`
	Pack     string           `cbor:"9,keyasint,omitempty"`
	Rest     []byte           `cbor:"10,keyasint,omitempty"` // restOfAction in JSON
}

// restOfAction holds the fields that most actions do not set. They are encoded as JSON, since
// attributes and lines hold values of any type, for which a JSON form exists.
type restOfAction struct {
	Changes     map[string]diff.Diff `json:"changes,omitempty"`
	Messages    []provider.Line      `json:"messages,omitempty"`
	Reason      string               `json:"reason,omitempty"`
	Replaced    bool                 `json:"replaced,omitempty"`
	Stale       bool                 `json:"stale,omitempty"`
	Provider    string               `json:"provider,omitempty"`
	ProviderWhy string               `json:"provider_why,omitempty"`
}

func newStoredAction(a *state.Action) (storedAction, error) {
	out := storedAction{ID: a.ID, Resource: a.Resource, Version: a.Version, Action: a.Action,
		Outcome: a.Outcome, Change: a.Change, Started: nanos(a.Started),
		Finished: nanos(a.Finished), Pack: a.Pack}
	if len(a.Changes) == 0 && len(a.Messages) == 0 && a.Reason == "" && !a.Replaced && !a.Stale &&
		a.Provider == "" && a.ProviderWhy == "" {
		return out, nil
	}
	var err error
	out.Rest, err = json.Marshal(restOfAction{a.Changes, a.Messages, a.Reason, a.Replaced, a.Stale,
		a.Provider, a.ProviderWhy})
	return out, fault.Wrap(fault.Internal, "encode actions", err)
}

func (s *storedAction) action() (state.Action, error) {
	var rest restOfAction
	if len(s.Rest) > 0 {
		if err := json.Unmarshal(s.Rest, &rest); err != nil {
			return state.Action{}, err
		}
	}
	return state.Action{ID: s.ID, Resource: s.Resource, Version: s.Version, Action: s.Action,
		Outcome: s.Outcome, Change: s.Change, Started: timeOf(s.Started),
		Finished: timeOf(s.Finished), Changes: rest.Changes, Messages: rest.Messages,
		Reason: rest.Reason, Replaced: rest.Replaced, Stale: rest.Stale, Pack: s.Pack,
		Provider: rest.Provider, ProviderWhy: rest.ProviderWhy}, nil
}

// encodeActions encodes the actions of one commit.
func encodeActions(actions []state.Action) ([]byte, error) {
	list := make([]storedAction, len(actions))
	for i := range actions {
		var err error
		if list[i], err = newStoredAction(&actions[i]); err != nil {
			return nil, err
		}
	}
	return packer().EncodeAll(cborform.Encode(list), nil), nil
}

// decodeActions is the inverse of encodeActions. Actions that do not decode are Damaged.
func decodeActions(stored []byte) ([]state.Action, error) {
	raw, err := unpacker().DecodeAll(stored, nil)
	var list []storedAction
	if err == nil {
		err = cborform.Decode(raw, &list)
	}
	out := make([]state.Action, len(list))
	for i := 0; i < len(list) && err == nil; i++ {
		out[i], err = list[i].action()
	}
	if err != nil {
		return nil, &fault.Error{Kind: fault.Damaged, Op: "read actions", Err: err,
			Hint: historyHint}
	}
	return out, nil
}
