package queue

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Agents with little work share a message: each has a queue, but one of them carries the lanes of
// several. A message of its own would take five requests of SQS and an invocation for each.
const (
	fewResources = 25  // of a lane that shares
	maxTogether  = 10  // lanes of a message
	maxShared    = 100 // resources of a message
	worthIt      = 4   // lanes, before it is asked which of them may share
)

// Each returns the messages that one stands for: one a lane.
func (m Message) Each() []Message {
	out := []Message{{Format: m.Format, Env: m.Env, Lane: m.Lane, Done: m.Done, Job: m.Job}}
	for _, lane := range m.With {
		out = append(out, Message{Format: m.Format, Env: m.Env, Lane: lane})
	}
	return out
}

// notifyTogether notifies lanes with little work several at a time, and returns those that are to
// be notified alone: all others, and those that could not be notified together.
func (n *Notifier) notifyTogether(
	ctx context.Context, env string, notices []state.Notice,
) (alone []state.Notice) {
	groups, alone := n.groups(ctx, env, notices)
	failed := make([]bool, len(groups))
	var sending errgroup.Group // one that fails keeps no other from being sent
	sending.SetLimit(workers)
	for i, g := range groups {
		sending.Go(func() error {
			failed[i] = n.notifyGroup(ctx, env, g) != nil
			return nil
		})
	}
	_ = sending.Wait()
	for i, g := range groups {
		if failed[i] {
			alone = append(alone, g...)
		}
	}
	return alone
}

// groups sorts notices into those that share a message, and those that have one each. An agent with
// several lanes shares none: its dispatcher serves all of them.
func (n *Notifier) groups(
	ctx context.Context, env string, notices []state.Notice,
) (groups [][]state.Notice, alone []state.Notice) {
	if n.Together == nil || len(notices) < worthIt {
		return nil, notices
	}
	lanesOf := map[string]int{}
	for _, r := range notices {
		lanesOf[state.AgentOf(r.Lane)]++
	}
	small := func(r state.Notice) bool {
		return r.Size > 0 && r.Size <= fewResources && len(r.Done) == 0 &&
			lanesOf[state.AgentOf(r.Lane)] == 1
	}
	var lanes []string
	for _, r := range notices {
		if small(r) {
			lanes = append(lanes, r.Lane)
		}
	}
	if len(lanes) < worthIt {
		return nil, notices
	}
	may, err := n.Together(ctx, env, lanes)
	if err != nil { // it only costs more
		return nil, notices
	}
	var group []state.Notice
	size := 0
	for _, r := range notices {
		if _, shares := may[r.Lane]; !shares || !small(r) {
			alone = append(alone, r)
			continue
		}
		if len(group) == maxTogether || size+r.Size > maxShared {
			groups, group, size = append(groups, group), nil, 0
		}
		group, size = append(group, r), size+r.Size
	}
	if len(group) > 0 {
		groups = append(groups, group)
	}
	for _, g := range groups {
		// Nobody may listen to an agent that was idle for long, and not everybody can wake it: the
		// one that was served last carries the others.
		slices.SortStableFunc(g, func(a, n state.Notice) int {
			return may[n.Lane].Compare(may[a.Lane])
		})
	}
	return groups, alone
}

// notifyGroup sends one message for several lanes to the queue of the first. All their agents are
// woken, as if each had been notified: what follows from this work may notify them alone.
func (n *Notifier) notifyGroup(ctx context.Context, env string, notices []state.Notice) error {
	if len(notices) == 1 {
		return fault.New(fault.Refused, "notify together", "there is only one lane")
	}
	body, err := encode(env, notices[0], notices[1:]...)
	if err != nil {
		return err
	}
	first := notices[0].Lane
	entry := types.SendMessageBatchRequestEntry{Id: aws.String("0"), MessageBody: &body,
		MessageGroupId:         aws.String(group(env, first)),
		MessageDeduplicationId: aws.String(n.dispatch())}
	if err := n.send(ctx, env, state.AgentOf(first),
		[]types.SendMessageBatchRequestEntry{entry}); err != nil {
		return err
	}
	for _, r := range notices {
		if err := n.queues.Notified(ctx, env, state.AgentOf(r.Lane)); err != nil {
			return fault.Wrap(fault.Unknown, "wake agent", err)
		}
	}
	return nil
}
