package local

import (
	"encoding/binary"
	"encoding/json"

	"southbound/shared/binform"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// actionsFormat is the first byte of encoded actions.
const actionsFormat = 1

// said is what an action has beside what every action has.
type said struct {
	N           int                  `json:"n"` // which action
	Changes     map[string]diff.Diff `json:"changes,omitempty"`
	Messages    []provider.Line      `json:"messages,omitempty"`
	Reason      string               `json:"reason,omitempty"`
	Replaced    bool                 `json:"replaced,omitempty"`
	Stale       bool                 `json:"stale,omitempty"`
	Provider    string               `json:"provider,omitempty"`
	ProviderWhy string               `json:"provider_why,omitempty"`
}

func saidOf(n int, a *state.Action) (said, bool) {
	s := said{n, a.Changes, a.Messages, a.Reason, a.Replaced, a.Stale, a.Provider, a.ProviderWhy}
	return s, len(a.Changes) > 0 || len(a.Messages) > 0 || a.Reason != "" || a.Replaced ||
		a.Stale ||
		a.Provider != "" || a.ProviderWhy != ""
}

// actionWords are the words of actions that are stored in one byte. Others may be added at the end.
func actionWords() []string {
	return append([]string{"", string(state.ActionDeploy), string(state.ActionRepair),
		string(state.ActionDryRun), string(diff.NoChange), string(diff.Created),
		string(diff.Updated), string(diff.Purged)}, statusWords()...)
}

// encodeActions encodes the actions of one commit: what every action has by its difference from the
// action before, and what the others have as compressed JSON.
func encodeActions(actions []state.Action) ([]byte, error) {
	w := &binform.Writer{B: make([]byte, 1+sumSize, 64+40*len(actions))}
	w.B[0] = actionsFormat
	w.Len(len(actions))
	words, rest := actionWords(), []said{}
	var before state.Action
	for i := range actions {
		a := &actions[i]
		putRest(w, before.ID, a.ID)
		putRest(w, string(before.Resource), string(a.Resource))
		putRest(w, before.Pack, a.Pack)
		w.Int(int64(a.Version))
		for _, s := range []string{string(a.Action), string(a.Outcome), string(a.Change)} {
			w.Word(s, words)
		}
		w.Int(binform.Nanos(a.Started) - binform.Nanos(before.Started))
		w.Int(binform.Nanos(a.Finished) - binform.Nanos(a.Started))
		if s, has := saidOf(i, a); has {
			rest = append(rest, s)
		}
		before = *a
	}
	if len(rest) > 0 {
		raw, err := json.Marshal(rest)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "encode actions", err)
		}
		w.B = packer().EncodeAll(raw, w.B)
	}
	binary.LittleEndian.PutUint32(w.B[1:], sumOf(w.B[1+sumSize:]))
	return w.B, nil
}

// putRest writes how much of before begins s as well, and what of s follows.
func putRest(w *binform.Writer, before, s string) {
	same := commonPrefix(before, s)
	w.Len(same)
	w.Text(s[same:])
}

// getRest is the inverse of putRest.
func getRest(d *binform.Reader, before string) string {
	same, rest := d.UintTo(uint64(len(before))), d.Bytes()
	if int(same) == len(before) && len(rest) == 0 { // bounded
		return before
	}
	return before[:same] + string(rest)
}

// decodeActions is the inverse of encodeActions; what does not decode, or is not as it was written,
// is Damaged.
func decodeActions(stored []byte) ([]state.Action, error) {
	damaged := fault.New(fault.Damaged, "read actions", "a record is not as it was written").
		WithHint(historyHint)
	if len(stored) < 1+sumSize || stored[0] != actionsFormat ||
		sumOf(stored[1+sumSize:]) != binary.LittleEndian.Uint32(stored[1:]) {
		return nil, damaged
	}
	d := &binform.Reader{B: stored[1+sumSize:]}
	out, words := make([]state.Action, d.Len()), actionWords()
	var before state.Action
	for i := range out {
		a := &out[i]
		a.ID = getRest(d, before.ID)
		a.Resource = resource.ID(getRest(d, string(before.Resource)))
		a.Pack = getRest(d, before.Pack)
		a.Version = int(d.Int())
		a.Action = state.ActionKind(d.Word(words))
		a.Outcome, a.Change = state.Status(d.Word(words)), diff.Change(d.Word(words))
		a.Started = binform.TimeOf(binform.Nanos(before.Started) + d.Int())
		a.Finished = binform.TimeOf(binform.Nanos(a.Started) + d.Int())
		before = *a
	}
	if d.Bad {
		return nil, damaged
	}
	return out, addSaid(out, d.B)
}

// addSaid adds to actions what stands in compressed JSON, if that is not empty.
func addSaid(actions []state.Action, packed []byte) error {
	if len(packed) == 0 {
		return nil
	}
	raw, err := unpacker().DecodeAll(packed, nil)
	var rest []said
	if err == nil {
		err = json.Unmarshal(raw, &rest)
	}
	if err != nil {
		return &fault.Error{Kind: fault.Damaged, Op: "read actions", Err: err, Hint: historyHint}
	}
	for _, s := range rest {
		if s.N < 0 || s.N >= len(actions) {
			return fault.New(fault.Damaged, "read actions", "there is no action %d", s.N).
				WithHint(historyHint)
		}
		a := &actions[s.N]
		a.Changes, a.Messages, a.Reason, a.Replaced = s.Changes, s.Messages, s.Reason, s.Replaced
		a.Stale, a.Provider, a.ProviderWhy = s.Stale, s.Provider, s.ProviderWhy
	}
	return nil
}

// shortHash is a short hash of an id, by which actions of a resource are looked for.
func shortHash(id resource.ID) []byte {
	return binary.LittleEndian.AppendUint32(nil, sumOf([]byte(id)))
}
