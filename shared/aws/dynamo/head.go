package dynamo

import (
	"encoding/json"
	"slices"
	"time"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/binform"
)

// head is the state of an environment as a whole.
type head struct {
	name       string    // of the environment; part of the key
	seq        int64     // number of changes; 0: there is no item
	nonce      uint64    // of the last write: identifies our own write
	rev        int64     // of the record, see state.Env
	plan       int64     // grows with each change of what may start: planners' commits, pauses
	halted     bool      // nothing may start
	paused     []string  // agents, sorted
	tx         int64     // number of commits that were rolled forward
	pending    bool      // the last of these is not finished
	quietUntil time.Time // when work is due; zero: unknown. Every change clears it
	tentative  bool      // quietUntil is not valid yet: MarkQuiet is checking it
	horizon    time.Time // actions that finished earlier are removed
	record     []byte    // state.Env
	idleEpoch  int64     // see State.IdleEpoch
}

const headFormat = 1

func (h *head) encode() []byte {
	e := &enc{binform.Writer{B: []byte{headFormat}}}
	e.Uint(h.nonce)
	e.Int(h.rev)
	e.Int(h.plan)
	e.Bool(h.halted)
	e.Texts(h.paused)
	e.Int(h.tx)
	e.Byte(h.progress())
	e.Time(h.quietUntil)
	e.Time(h.horizon)
	e.Bytes(h.record)
	e.Int(h.idleEpoch)
	return e.B
}

// The operation that is in progress in an environment. There is at most one, because a commit that
// begins ends the quiet time.
const (
	idleHead = iota
	commitPending
	quietTentative
)

func (h *head) progress() byte {
	switch {
	case h.pending:
		return commitPending
	case h.tentative:
		return quietTentative
	}
	return idleHead
}

func headOf(env string, i item) (*head, error) {
	h := &head{name: env}
	if i == nil {
		return h, nil
	}
	d := decode(attributevalue.BytesOf(i, attrBody))
	if d.Byte() != headFormat {
		return nil, damaged("environment %q has another format", env)
	}
	h.seq = attributevalue.NumberOf(i, attrSeq)
	h.nonce, h.rev, h.plan, h.halted, h.paused = d.Uint(), d.Int(), d.Int(), d.Bool(), d.Texts()
	h.tx = d.Int()
	progress := d.Byte()
	h.pending, h.tentative = progress == commitPending, progress == quietTentative
	h.quietUntil, h.horizon, h.record = d.Time(), d.Time(), d.Bytes()
	h.idleEpoch = d.Int()
	if !d.Done() {
		return nil, damaged("environment %q does not decode", env)
	}
	return h, nil
}

// env decodes the record of the environment.
func (h *head) env() (state.Env, error) {
	out := state.Env{}
	if len(h.record) > 0 {
		if err := json.Unmarshal(h.record, &out); err != nil {
			return out, damaged("environment %q does not decode: %v", h.name, err)
		}
	}
	out.Name, out.Rev, out.PlanSeq, out.Halted = h.name, h.rev, h.plan, h.halted
	return out, nil
}

// replace replaces the record by e if e.Rev is the revision of h.
func (h *head) replace(e state.Env) error {
	if e.Rev != h.rev {
		return fault.New(fault.Conflict, "write environment", "it was changed by somebody else")
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return fault.Wrap(fault.Internal, "encode environment", err)
	}
	h.record = raw
	h.rev++
	return nil
}

// clone returns a copy of the head. Changes in place of one do not affect the other.
func (h *head) clone() *head {
	out := *h
	out.paused = slices.Clone(h.paused)
	return &out
}

// stopped reports whether claims of an agent are stopped.
func (h *head) stopped(agent string) bool {
	_, paused := slices.BinarySearch(h.paused, agent)
	return h.halted || paused
}

// put returns the write of h, on the condition that the head still has number h.seq. Every change
// ends the quiet time of the environment.
func (h *head) put(nonce uint64) put {
	i := keyItem(headPart, headPrefix+h.name)
	h.nonce = nonce
	i[attrSeq], i[attrBody] = attributevalue.Number(h.seq+1), attributevalue.Blob(h.encode())
	return put{part: headPart, sort: headPrefix + h.name, seq: h.seq, item: i}
}
