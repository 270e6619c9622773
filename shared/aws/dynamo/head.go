package dynamo

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/binform"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// head is what is known of an environment as a whole.
type head struct {
	name       string
	seq        int64 // of changes; 0: there is no item
	nonce      uint64
	rev        int64
	plan       int64
	halted     bool
	paused     []string // agents, sorted
	tx         int64    // rolled-forward commits so far
	pending    bool     // the last of these is not finished
	quietUntil time.Time
	tentative  bool      // quietUntil does not count yet: MarkQuiet is checking it
	horizon    time.Time // actions that were finished before are forgotten
	record     []byte    // deploy.Env
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
	if h.idleEpoch != 0 { // heads of environments where no agent ever slept stay as they always were
		e.Int(h.idleEpoch)
	}
	return e.B
}

// What is under way in an environment: one thing at most, as who begins a commit ends the quiet.
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
	if len(d.B) > 0 {
		h.idleEpoch = d.Int()
	}
	if !d.Done() {
		return nil, damaged("environment %q does not decode", env)
	}
	return h, nil
}

// env returns the record of the environment.
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

// replace takes e as the record when its Rev is that of h.
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

// stopped reports whether claims of an agent are stopped.
func (h *head) stopped(agent string) bool {
	_, paused := slices.BinarySearch(h.paused, agent)
	return h.halted || paused
}

// put makes the write of h, which was read at seq, as changed. Every change ends the quiet of the
// environment.
func (h *head) put(nonce uint64) put {
	i := keyItem(headPart, headPrefix+h.name)
	h.nonce = nonce
	i[attrSeq], i[attrBody] = attributevalue.Number(h.seq+1), attributevalue.Blob(h.encode())
	return put{part: headPart, sort: headPrefix + h.name, seq: h.seq, item: i}
}

// readHead reads the head of an environment, strongly. A commit that is being rolled forward is
// finished first.
func (s *State) readHead(ctx context.Context, env string) (*head, error) {
	for try := 0; ; try++ {
		if try == maxRolls {
			return nil, damaged("a commit of environment %q that was begun cannot be finished", env)
		}
		i, err := s.get(ctx, headPart, headPrefix+env)
		if err != nil {
			return nil, err
		}
		h, err := headOf(env, i)
		if err != nil || !h.pending {
			s.sawIdleEpoch(env, h)
			return h, err
		}
		if err := s.finishPending(ctx, env); err != nil {
			return nil, err
		}
	}
}

// changeHead changes the head by f until nobody else was faster, and returns it as it was written.
func (s *State) changeHead(ctx context.Context, env string, f func(h *head) error) (*head, error) {
	var out *head
	err := s.contend(ctx, func() error {
		h, err := s.readHead(ctx, env)
		if err != nil {
			return err
		}
		if err := f(h); err != nil {
			return err
		}
		h.quietUntil, h.tentative = time.Time{}, false
		p := h.put(s.Host.Random())
		now, err := s.putOne(ctx, p)
		if err == errLost && now != nil { // it is never wrapped
			if is, e := headOf(env, now); e == nil && is.nonce == h.nonce {
				err = nil // our own write, repeated by the SDK
			}
		}
		h.seq++
		out = h
		return err
	})
	return out, err
}

// Env implements deploy.State.
func (s *State) Env(ctx context.Context, env string) (state.Env, error) {
	h, err := s.readHead(ctx, env)
	if err != nil {
		return state.Env{Name: env}, err
	}
	return h.env()
}

// Envs implements deploy.State.
func (s *State) Envs(ctx context.Context) ([]string, error) {
	var out []string
	err := s.query(ctx, partition(headPart, headPrefix, true), func(i item) (bool, error) {
		out = append(out, strings.TrimPrefix(attributevalue.TextOf(i, attrSort), headPrefix))
		return true, nil
	})
	slices.Sort(out)
	return out, err
}

// Halt implements deploy.State.
func (s *State) Halt(ctx context.Context, env string, halted bool) error {
	_, err := s.changeHead(ctx, env, func(h *head) error {
		h.halted = halted
		h.plan++
		return nil
	})
	return err
}

// Pause implements deploy.State.
func (s *State) Pause(ctx context.Context, env string, paused bool, agents ...string) error {
	_, err := s.changeHead(ctx, env, func(h *head) error {
		for _, a := range agents {
			i, have := slices.BinarySearch(h.paused, a)
			switch {
			case paused && !have:
				h.paused = slices.Insert(h.paused, i, a)
			case !paused && have:
				h.paused = slices.Delete(h.paused, i, i+1)
			}
		}
		h.plan++
		return nil
	})
	return err
}
