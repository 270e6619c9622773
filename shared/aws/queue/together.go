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

// Agents with little work share a message: each has a queue, but one message to one of them names
// several. A separate message for each agent would take five SQS requests and an
// invocation each.
const (
	fewResources = 25  // maximum of an agent that shares a message
	maxTogether  = 10  // agents in a message
	maxShared    = 100 // resources in a message
	worthIt      = 4   // agents from which sharing is worth a call of Together
)

// Each splits a message into one message for each agent.
func (m Message) Each() []Message {
	out := []Message{{Format: m.Format, Env: m.Env, Agent: m.Agent, Done: m.Done, Job: m.Job}}
	for _, agent := range m.With {
		out = append(out, Message{Format: m.Format, Env: m.Env, Agent: agent})
	}
	return out
}

// notifyTogether sends shared messages for agents with little work. It returns the notices to send
// alone: those that do not share a message, and those whose shared message failed.
func (n *Notifier) notifyTogether(
	ctx context.Context, env string, notices []state.Notice,
) (alone []state.Notice) {
	groups, alone := n.groups(ctx, env, notices)
	failed := make([]bool, len(groups))
	var sending errgroup.Group // an error of one group does not stop the others
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

// groups divides notices into groups that share a message, and notices that are sent alone.
func (n *Notifier) groups(
	ctx context.Context, env string, notices []state.Notice,
) (groups [][]state.Notice, alone []state.Notice) {
	if n.Together == nil || len(notices) < worthIt {
		return nil, notices
	}
	small := func(r state.Notice) bool {
		return r.Size > 0 && r.Size <= fewResources && len(r.Done) == 0
	}
	var agents []string
	for _, r := range notices {
		if small(r) {
			agents = append(agents, r.Agent)
		}
	}
	if len(agents) < worthIt {
		return nil, notices
	}
	may, err := n.Together(ctx, env, agents)
	if err != nil { // sending the notices alone only costs more
		return nil, notices
	}
	var group []state.Notice
	size := 0
	for _, r := range notices {
		if _, shares := may[r.Agent]; !shares || !small(r) {
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
		// The mapping of an agent that was idle for long may be disabled, and not every process may
		// enable it. So the agent that was served last is first, and its queue gets the message.
		slices.SortStableFunc(g, func(a, n state.Notice) int {
			return may[n.Agent].Compare(may[a.Agent])
		})
	}
	return groups, alone
}

// notifyGroup sends one message for several agents to the queue of the first. It wakes all of them,
// as if each had been notified, because later work may notify them alone.
func (n *Notifier) notifyGroup(ctx context.Context, env string, notices []state.Notice) error {
	if len(notices) == 1 {
		return fault.New(fault.Refused, "notify together", "there is only one agent")
	}
	body, err := encode(env, notices[0], notices[1:]...)
	if err != nil {
		return err
	}
	first := notices[0].Agent
	entry := types.SendMessageBatchRequestEntry{Id: aws.String("0"), MessageBody: &body,
		MessageGroupId:         aws.String(group(env, first)),
		MessageDeduplicationId: aws.String(n.dispatch())}
	if err := n.send(ctx, env, first,
		[]types.SendMessageBatchRequestEntry{entry}); err != nil {
		return err
	}
	for _, r := range notices {
		if err := n.queues.Notified(ctx, env, r.Agent); err != nil {
			return fault.Wrap(fault.Unknown, "wake agent", err)
		}
	}
	return nil
}
