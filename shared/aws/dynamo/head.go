package dynamo

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// head is the state of an environment as a whole. Each write of the head ends the quiet time.
type head struct {
	env string // its name
	seq int64  // number of writes; 0: there is no item
	headRecord
}

// headRecord is the stored content of a head.
type headRecord struct {
	Env       json.RawMessage `json:"e,omitempty"` // state.Env
	Rev       int64           `json:"r,omitempty"` // of Env, see state.Env
	Plan      int64           `json:"p,omitempty"` // grows with each change of what may start
	Halted    bool            `json:"h,omitempty"`
	Paused    []string        `json:"a,omitempty"` // agents, sorted
	QuietTo   time.Time       `json:"q,omitzero"`  // when work is due; zero: not known
	Tentative bool            `json:"t,omitempty"` // QuietTo is not valid yet: MarkQuiet is checking it
	Horizon   time.Time       `json:"o,omitzero"`  // actions that finished earlier are removed
	IdleEpoch int64           `json:"i,omitempty"` // see State.IdleEpoch
}

// headOf decodes the item of a head, or returns an empty head if there is none.
func (s *store) headOf(env string, i item) (*head, error) {
	h := &head{env: env, seq: seqOf(i)}
	if err := s.readJSON(i, &h.headRecord); err != nil {
		return nil, err
	}
	s.sawIdleEpoch(h)
	return h, nil
}

func (s *store) readHead(ctx context.Context, env string) (*head, error) {
	got, err := s.get(ctx, headKey(env))
	if err != nil {
		return nil, err
	}
	return s.headOf(env, got[headKey(env)])
}

// record decodes the record of the environment.
func (h *head) record() (state.Env, error) {
	out := state.Env{}
	if len(h.Env) > 0 {
		if err := json.Unmarshal(h.Env, &out); err != nil {
			return out, damaged("environment %q does not decode: %v", h.env, err)
		}
	}
	out.Name, out.Rev, out.PlanSeq, out.Halted = h.env, h.Rev, h.Plan, h.Halted
	return out, nil
}

// replace replaces the record by e if e.Rev is the revision of h.
func (h *head) replace(e *state.Env) error {
	if e.Rev != h.Rev {
		return fault.New(fault.Conflict, "write environment", "it was changed by another process")
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return fault.Wrap(fault.Internal, "encode environment", err)
	}
	h.Env = raw
	h.Rev++
	return nil
}

// stopped reports whether claims of an agent are stopped.
func (h *head) stopped(agent string) bool {
	_, paused := slices.BinarySearch(h.Paused, agent)
	return h.Halted || paused
}

// planned reports whether two reads of a head show the same schedule.
func (h *head) planned(o *head) bool { return h.seq == o.seq }

// put returns the write of h, on the condition that the stored head is the one that was read.
func (h *head) put(s *store) (op, error) {
	i, err := s.setJSON(headKey(h.env).item(), &h.headRecord)
	return put(headKey(h.env), h.seq, i), err
}

// writeHead writes a head that was read.
func (s *store) writeHead(ctx context.Context, h *head) error {
	o, err := h.put(s)
	if err != nil {
		return err
	}
	if err := s.write(ctx, o); err != nil {
		return err
	}
	h.seq++
	s.sawIdleEpoch(h)
	return nil
}

// changeHead changes the head by f, which may be called again, and returns the head that it wrote.
func (s *store) changeHead(
	ctx context.Context, env string, f func(h *head) error,
) (h *head, err error) {
	err = s.contend(ctx, func() error {
		if h, err = s.readHead(ctx, env); err != nil {
			return err
		}
		if err := f(h); err != nil {
			return err
		}
		h.QuietTo, h.Tentative = time.Time{}, false
		return s.writeHead(ctx, h)
	})
	return h, err
}

// wake ends the quiet time of an environment, and makes the head if there is none.
func (s *store) wake(ctx context.Context, env string) error {
	_, err := s.changeHead(ctx, env, func(h *head) error {
		if h.QuietTo.IsZero() && h.seq != 0 {
			return errNothing
		}
		return nil
	})
	if err == errNothing {
		return nil
	}
	return err
}

// idleEpoch is the idle epoch of a head with a number of writes.
type idleEpoch struct{ seq, number int64 }

// sawIdleEpoch keeps the idle epoch of a head.
func (s *store) sawIdleEpoch(h *head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.seq >= s.idleEpochs[h.env].seq {
		s.idleEpochs[h.env] = idleEpoch{seq: h.seq, number: h.IdleEpoch}
	}
}

// envName returns the name of the environment of a head's item.
func envName(i item) string { return strings.TrimPrefix(keyOf(i).sort, headPrefix) }
