package dynamo

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/deploy/state"
)

// actions finds and removes actions that the log does not have yet, and returns them for the log.
type actions struct {
	*store
	log Log // Config.Log
}

// acted is the content of an item of actions: those of one transaction, with its changes of
// parameters and facts.
type acted struct {
	Actions    []state.Action    `json:"a,omitempty"`
	Parameters []ParameterChange `json:"p,omitempty"`
}

// ParameterChange is a parameter or fact that was written or, if Gone is set, removed at Updated.
type ParameterChange = state.ParameterChange

// maxAction is the size in bytes of the largest stored action, as JSON.
const maxAction = 2 << 20

// fitted returns an action that fits in a transaction. A larger action loses its changes, and then
// its last messages.
func fitted(a *state.Action) *state.Action {
	out := *a
	for sizeOf(&out) > maxAction {
		if out.Changes == nil && len(out.Messages) == 0 {
			out.Reason = strings.ToValidUTF8(out.Reason[:min(len(out.Reason), maxAction/2)], "")
			break
		}
		if out.Changes == nil {
			out.Messages = out.Messages[:len(out.Messages)/2]
		}
		out.Changes = nil
	}
	return &out
}

func sizeOf(a *state.Action) int {
	size := len(a.Reason)
	for i := range a.Messages {
		size += len(a.Messages[i].Msg)
	}
	if size < maxAction/2 && len(a.Changes) == 0 { // most actions
		return size
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return 0 // the write returns the error
	}
	return len(raw)
}

// committed reads the items of actions of some guards, or of all if none is given, and calls f for
// each, in order of their writes under each guard, until f returns false.
func (s *actions) committed(
	ctx context.Context, env string, guards []string, f func(i item, a *acted) bool,
) error {
	const few = 3 // more are read with all
	begins := guards
	if len(guards) == 0 || len(guards) > few {
		begins = []string{""}
	}
	wanted := func(sort string) bool {
		at := strings.LastIndexByte(sort, '/')
		for _, g := range guards {
			if at >= 0 && sort[:at] == g {
				return true
			}
		}
		return len(guards) == 0
	}
	for _, begin := range begins {
		if begin != "" {
			begin += "/"
		}
		list, err := s.list(ctx, actionPart(env), begin)
		if err != nil {
			return err
		}
		for _, i := range list {
			if !wanted(keyOf(i).sort) {
				continue
			}
			a := &acted{}
			if err := s.readJSON(i, a); err != nil {
				return err
			}
			if !f(i, a) {
				return nil
			}
		}
	}
	return nil
}

// Actions implements state.State. It reads the committed actions before the log. In this order an
// action that is moved to the log concurrently is found in the log.
func (s *actions) Actions(
	ctx context.Context, env string, q state.ActionQuery,
) ([]state.Action, error) {
	h, err := s.readHead(ctx, env)
	if err != nil {
		return nil, err
	}
	found := state.ActionSet{}
	if err := s.committed(ctx, env, nil, func(_ item, c *acted) bool {
		for i := range c.Actions {
			if a := &c.Actions[i]; !a.Finished.Before(h.Horizon) && q.Selects(a) {
				found.Take(a)
			}
		}
		return true
	}); err != nil {
		return nil, err
	}
	if s.log != nil {
		logged, err := s.log.Actions(ctx, env, q, h.Horizon)
		if err != nil {
			return nil, err
		}
		for i := range logged {
			found.Take(&logged[i])
		}
	}
	return found.Newest(q.Limit), nil
}

// DropActions implements state.State. It raises the horizon, which hides all actions that finished
// earlier. Without a log it also removes the items that hold only such actions. Logged actions
// expire in the log.
func (s *actions) DropActions(ctx context.Context, env string, before time.Time) (int, error) {
	was, err := s.readHead(ctx, env)
	if err != nil || was.seq == 0 && before.IsZero() || !before.After(was.Horizon) {
		return 0, err
	}
	ids := map[string]bool{}
	var gone []key
	if err := s.committed(ctx, env, nil, func(i item, c *acted) bool {
		old := s.log == nil
		for n := range c.Actions {
			switch a := &c.Actions[n]; {
			case !a.Finished.Before(before):
				old = false
			case !a.Finished.Before(was.Horizon):
				ids[a.ID] = true
			}
		}
		if old {
			gone = append(append(gone, keyOf(i)), parts(i)...)
		}
		return true
	}); err != nil {
		return 0, err
	}
	if s.log != nil {
		logged, err := s.log.Ended(ctx, env, was.Horizon, before)
		if err != nil {
			return 0, err
		}
		for id := range logged {
			ids[id] = true
		}
	}
	if len(ids) > 0 {
		if _, err := s.changeHead(ctx, env, func(h *head) error {
			if before.After(h.Horizon) {
				h.Horizon = before
			}
			return nil
		}); err != nil {
			return 0, err
		}
	}
	if s.log != nil {
		if err := s.log.Expire(ctx, env); err != nil {
			return 0, err
		}
	}
	return len(ids), s.deleteMany(ctx, gone)
}

// Unlogged holds committed actions and parameters that are not in the log.
type Unlogged struct {
	Env        string
	Keep       time.Duration // how long actions are retained in this environment
	Actions    []state.Action
	Parameters []ParameterChange
	// Name identifies the commits: it is the same for the same commits.
	Name string
	// More is set if there is more than the limit allowed.
	More  bool
	items []item
}

// maxBytes limits the compressed bytes of one call of Unlogged, approximately. Log lines take some
// ten times that space in memory.
const maxBytes = 8 << 20

// Unlogged returns the committed actions of agents, and the changes of parameters and facts there and
// by planners, that are not in the log. It returns about limit actions, the oldest of each agent
// first. Without agents it covers the whole environment.
func (s *actions) Unlogged(
	ctx context.Context, env string, agents []string, limit int,
) (*Unlogged, error) {
	out := &Unlogged{Env: env}
	guards := agents
	if len(agents) > 0 {
		guards = append([]string{state.PlanKey}, agents...)
	}
	at, bytes := map[string]int{}, 0
	if err := s.committed(ctx, env, guards, func(i item, c *acted) bool {
		if n := len(out.Actions) + len(out.Parameters); n > 0 && (n >= limit || bytes > maxBytes) {
			out.More = true
			return false
		}
		out.items = append(out.items, i)
		out.Name += keyOf(i).sort + "\n"
		bytes += len(attributevalue.BytesOf(i, attrBody))
		out.Parameters = append(out.Parameters, c.Parameters...)
		for _, a := range c.Actions {
			n, have := at[a.ID]
			switch {
			case !have:
				at[a.ID] = len(out.Actions)
				out.Actions = append(out.Actions, a)
			case !out.Actions[n].Stale: // the later one is more complete
				out.Actions[n] = a
			}
		}
		return true
	}); err != nil || len(out.items) == 0 {
		return out, err
	}
	h, err := s.readHead(ctx, env)
	if err != nil {
		return nil, err
	}
	e, err := h.record()
	out.Keep = e.Settings.ActionsKept()
	return out, err
}

// Logged records that all of u is in the log.
func (s *actions) Logged(ctx context.Context, u *Unlogged) error {
	var keys, more []key
	for _, i := range u.items {
		keys, more = append(keys, keyOf(i)), append(more, parts(i)...)
	}
	// The parts go last: without them, an item cannot be read.
	return s.deleteMany(ctx, append(keys, more...))
}

// Empty reports whether there is nothing to log.
func (u *Unlogged) Empty() bool { return len(u.items) == 0 }

// Commits returns the number of commits in u.
func (u *Unlogged) Commits() int { return len(u.items) }
