package local

import (
	"encoding/json"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// encodeActions encodes the actions of one commit.
func encodeActions(actions []state.Action) ([]byte, error) {
	raw, err := json.Marshal(actions)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "encode actions", err)
	}
	return packer().EncodeAll(raw, nil), nil
}

// decodeActions is the inverse of encodeActions. Actions that do not decode are Damaged.
func decodeActions(stored []byte) ([]state.Action, error) {
	raw, err := unpacker().DecodeAll(stored, nil)
	var out []state.Action
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return nil, &fault.Error{Kind: fault.Damaged, Op: "read actions", Err: err,
			Hint: historyHint}
	}
	return out, nil
}
