package dynamo

import (
	"context"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/deploy/state"
)

// feed reports what has changed in an environment. It compares numbers that the items count anyhow,
// so no write costs more. It does not know which rows a commit has written, so it reports that any
// may have changed. docs/design/changes.md explains the design.
type feed struct{ *store }

// The numbers of a token, in its order.
const (
	feedRev     = iota // revision of the environment's record
	feedHalted         // 1: halted
	feedPaused         // hash of the names of paused agents
	feedHorizon        // before it, actions were removed
	feedAgents         // number of the item of agents
	feedParams         // sum of the numbers of commits that wrote parameters
	feedPlan           // number of the planner's lease
	feedLanes          // sum of the numbers of the agents' leases
	feedMark           // hash of the marks of services
	feedNumbers
)

// feedKinds are the kinds that a change of a number means.
func feedKinds() [feedNumbers]state.ChangeKind {
	return [feedNumbers]state.ChangeKind{
		feedRev: state.ChangedVersions | state.ChangedSettings, feedHalted: state.ChangedSettings,
		feedPaused: state.ChangedAgents, feedHorizon: state.ChangedActions,
		feedAgents: state.ChangedAgents, feedParams: state.ChangedParameters,
		feedPlan:  state.ChangedVersions | state.ChangedActions,
		feedLanes: state.ChangedActions,
		feedMark:  state.ChangedInstances | state.ChangedOrders,
	}
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
	if err != nil {
		return state.Changes{}, err
	}
	token := tokenOf(env, now)
	if token == after {
		return state.Changes{Token: after}, nil
	}
	before, known := feedToken(env, after)
	if !known {
		return state.Everything(token), nil
	}
	out := state.Changes{Token: token}
	for i, kinds := range feedKinds() {
		if before[i] != now[i] {
			out.Kinds |= kinds
		}
	}
	out.More = before[feedLanes] != now[feedLanes] || before[feedPlan] != now[feedPlan]
	return out, nil
}

// observe reads the numbers of an environment. Leases are read with eventual consistency, which
// costs half: an answer may be late, and the next one reports the change.
func (s *feed) observe(ctx context.Context, env string) (out [feedNumbers]int64, err error) {
	got, err := s.getMany(ctx, []key{headKey(env), agentsKey(env)})
	if err != nil {
		return out, err
	}
	h, err := s.headOf(env, got[headKey(env)])
	if err != nil {
		return out, err
	}
	out[feedRev], out[feedAgents] = h.Rev, seqOf(got[agentsKey(env)])
	if h.Halted {
		out[feedHalted] = 1
	}
	if len(h.Paused) > 0 {
		out[feedPaused] = hashOf(strings.Join(h.Paused, "\x00"))
	}
	if !h.Horizon.IsZero() {
		out[feedHorizon] = h.Horizon.UnixMilli()
	}
	marks := ""
	if err := s.query(ctx, partition(markPart(env), "", false), func(i item) (bool, error) {
		marks += attributevalue.TextOf(i, markValue)
		return true, nil
	}); err != nil {
		return out, err
	}
	if marks != "" {
		out[feedMark] = hashOf(marks)
	}
	err = s.query(ctx, partition(leasePart(env), "", false), func(i item) (bool, error) {
		at := feedLanes
		if keyOf(i).sort == state.PlanKey {
			at = feedPlan
		}
		out[at] += seqOf(i)
		out[feedParams] += attributevalue.NumberOf(i, attrParams)
		return true, nil
	})
	return out, err
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
