package dynamo

import (
	"context"
	"hash/crc32"
	"strconv"
	"strings"
	"sync"
	"time"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// feed reports what has changed in an environment. It compares numbers that the items count anyhow,
// so no write costs more. docs/design/changes.md explains the design.
type feed struct {
	*reader

	mu   sync.Mutex
	seen []*observed // behind the tokens that were returned last, the newest last; guarded by mu
}

// feedSeen is how many tokens a process knows the records of.
const feedSeen = 16

// The numbers of a token, in its order.
const (
	feedRev     = iota // revision of the environment's record
	feedHalted         // 1: halted
	feedPaused         // hash of the names of paused agents
	feedHorizon        // before it, actions were removed
	feedAgents         // number of the item of agents
	feedParams         // number of the record of parameters
	feedPlan           // number of the planner's record
	feedLanes          // sum of the numbers of the lanes' records
	feedMark           // hash of the marks of services
	feedNumbers
)

// feedKinds are the kinds that a change of a number means. Only records tell what a lane's number
// means.
func feedKinds() [feedNumbers]state.ChangeKind {
	return [feedNumbers]state.ChangeKind{
		feedRev: state.ChangedVersions | state.ChangedSettings, feedHalted: state.ChangedSettings,
		feedPaused: state.ChangedAgents, feedHorizon: state.ChangedActions,
		feedAgents: state.ChangedAgents, feedParams: state.ChangedParameters,
		feedPlan: state.ChangedVersions,
		feedMark: state.ChangedInstances | state.ChangedOrders,
	}
}

// observed is an environment as one call has read it.
type observed struct {
	env     string
	token   string
	numbers [feedNumbers]int64
	recs    map[string]*record // of the lanes and the planner, by key
}

// markPart returns the partition of the marks. The stores of services replace one of them with each
// write: its attribute markValue is another text each time.
func markPart(env string) string { return "Y/" + env }

const markValue = "v"

// Changes implements state.Feed. It does not wait: a waiting function costs money.
func (s *feed) Changes(
	ctx context.Context, env, after string, _ time.Duration,
) (state.Changes, error) {
	if ctx.Err() != nil {
		return state.Changes{}, ctx.Err()
	}
	now, err := s.observe(ctx, env)
	if err != nil || now.token == after {
		return state.Changes{Token: after}, err
	}
	before, known := feedToken(env, after)
	past := s.remember(now, after)
	if !known {
		return state.Everything(now.token), nil
	}
	out := state.Changes{Token: now.token}
	for i, kinds := range feedKinds() {
		if before[i] != now.numbers[i] {
			out.Kinds |= kinds
		}
	}
	if before[feedLanes] != now.numbers[feedLanes] || before[feedPlan] != now.numbers[feedPlan] {
		s.addLanes(&out, past, now)
	}
	return out, nil
}

// observe reads an environment. Records and agents are read with eventual consistency, which costs
// half: an answer may be late, and the next one reports the change.
func (s *feed) observe(ctx context.Context, env string) (*observed, error) {
	out := &observed{env: env, recs: map[string]*record{}}
	i, err := s.get(ctx, headPart, headPrefix+env)
	if err != nil {
		return nil, err
	}
	h, err := headOf(env, i)
	if err != nil {
		return nil, err
	}
	out.head(h)
	marks := ""
	if err := s.query(ctx, partition(markPart(env), "", false), func(i item) (bool, error) {
		marks += attributevalue.TextOf(i, markValue)
		return true, nil
	}); err != nil {
		return nil, err
	}
	if marks != "" {
		out.numbers[feedMark] = hashOf(marks)
	}
	err = s.query(ctx, partition(recordPart(env), "", false), func(i item) (bool, error) {
		key, n := attributevalue.TextOf(i, attrSort), attributevalue.NumberOf(i, attrSeq)
		switch key {
		case txSort: // the records change when it is rolled forward
		case agentsSort:
			out.numbers[feedAgents] = n
		case paramsKey:
			out.numbers[feedParams] = n
		default:
			if key == keyOf(state.PlanKey) {
				out.numbers[feedPlan] = n
			} else {
				out.numbers[feedLanes] += n
			}
			var err error
			out.recs[key], err = s.recordOf(env, key, i)
			return true, err
		}
		return true, nil
	})
	out.token = tokenOf(env, out.numbers)
	return out, err
}

func (o *observed) head(h *head) {
	o.numbers[feedRev] = h.rev
	if h.halted {
		o.numbers[feedHalted] = 1
	}
	if len(h.paused) > 0 {
		o.numbers[feedPaused] = hashOf(strings.Join(h.paused, "\x00"))
	}
	if !h.horizon.IsZero() {
		o.numbers[feedHorizon] = h.horizon.UnixMilli()
	}
}

// hashOf returns a hash that is not 0.
func hashOf(text string) int64 { return int64(crc32.ChecksumIEEE([]byte(text))) + 1 }

// tokenOf writes numbers as a token: in base 36, and with a checksum, so that a token of another
// environment or of another program is not mistaken for one.
func tokenOf(env string, numbers [feedNumbers]int64) string {
	if numbers == ([feedNumbers]int64{}) {
		return state.NothingYet
	}
	b := []byte{}
	for _, n := range numbers {
		b = append(strconv.AppendInt(b, n, 36), '.')
	}
	return string(strconv.AppendInt(b, hashOf(env+" "+string(b)), 36))
}

// feedToken is the inverse of tokenOf. It returns false for any other text.
func feedToken(env, token string) (numbers [feedNumbers]int64, ok bool) {
	if token == state.NothingYet {
		return numbers, true
	}
	parts := strings.Split(token, ".")
	if len(parts) != feedNumbers+1 {
		return numbers, false
	}
	for i := range numbers {
		numbers[i], _ = strconv.ParseInt(parts[i], 36, 64) // a wrong one changes the token
	}
	return numbers, tokenOf(env, numbers) == token
}

// remember keeps what was read for the next calls, and returns what was read for the token after,
// or nil.
func (s *feed) remember(now *observed, after string) (past *observed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := make([]*observed, 0, feedSeen)
	for _, o := range s.seen {
		if o.env == now.env && o.token == after {
			past = o
		}
		if o.env != now.env || o.token != now.token {
			kept = append(kept, o)
		}
	}
	s.seen = append(kept[max(0, len(kept)+1-feedSeen):], now)
	return past
}

// addLanes adds the changes of lanes. Without the records behind the former token, or if a record
// has lost a change since, any resource may have changed.
func (s *feed) addLanes(out *state.Changes, past, now *observed) {
	if past == nil {
		out.More, out.Kinds = true, out.Kinds|state.ChangedActions
		return
	}
	var ids []resource.ID
	for key, rec := range now.recs {
		old := past.recs[key]
		if old == nil {
			old = &record{}
		}
		if rec.seq == old.seq {
			continue
		}
		more, ok := s.addLane(out, old, rec)
		if !ok {
			out.More, out.Kinds = true, out.Kinds|state.ChangedActions
		}
		ids = append(ids, more...)
	}
	if !out.More {
		out.SetResources(ids)
	}
}

// addLane returns the resources of a lane that changed between two records, and adds the kinds. It
// returns false if the newer record does not contain all changes.
func (s *feed) addLane(out *state.Changes, old, rec *record) (ids []resource.ID, ok bool) {
	if rec.since() > old.seq {
		return nil, false
	}
	for _, x := range rec.tail {
		if x.seq <= old.seq {
			continue
		}
		if len(x.data) == 0 || len(ids) > state.MaxChanged {
			return nil, false
		}
		d, err := s.deltaOf(x)
		if err != nil {
			return nil, false
		}
		for i := range d.rows {
			ids = append(ids, d.rows[i].ID)
		}
		ids = append(append(append(ids, d.ids...), d.gone...), d.checked...)
		if len(d.actions) > 0 {
			out.Kinds |= state.ChangedActions
		}
	}
	if old.running.is(rec.running) {
		return ids, true
	}
	if old.running.object+rec.running.object != "" {
		return nil, false
	}
	return append(append(ids, old.running.ids...), rec.running.ids...), true
}
