package queue

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Puller is the part of SQS's API that a listener uses. *sqs.Client implements it.
type Puller interface {
	ReceiveMessage(
		ctx context.Context, in *sqs.ReceiveMessageInput, opts ...func(*sqs.Options),
	) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(
		ctx context.Context, in *sqs.DeleteMessageBatchInput, opts ...func(*sqs.Options),
	) (*sqs.DeleteMessageBatchOutput, error)
	ChangeMessageVisibilityBatch(
		ctx context.Context, in *sqs.ChangeMessageVisibilityBatchInput, opts ...func(*sqs.Options),
	) (*sqs.ChangeMessageVisibilityBatchOutput, error)
}

// Listener receives the notices of one queue, for a process that serves an agent without a
// function.
type Listener struct {
	API Puller
	URL string
	// Hide is how long a received message is hidden from other receivers.
	Hide time.Duration
	// Refused, if not nil, is called for each message that does not decode, with its id.
	Refused func(id string, err error)
}

// Delivery holds one or more notices of one agent.
type Delivery struct {
	Env, Agent string
	// Done holds ids of resources that may have finished on other agents. If it is empty, all
	// resources of the agent have to be checked.
	Done []resource.ID
	// With holds other agents that the messages are also for.
	With []string
	// Job is a part of a job to read, instead of serving the agent.
	Job string
	// Receives is the largest number of receives of a message, including this one; 0: unknown.
	Receives int
	// Receipts are the receipts of the messages. The methods Done and Later of Listener use them.
	Receipts []string
}

// Receive waits for messages, at most 20 seconds, and returns the agents that they notify. It
// deletes messages that do not decode: they are useless, and a sweep notifies again. If a request
// is canceled, SQS may already have given it a message, which is then hidden from all receivers for
// a while. So ctx should not end before Receive returns.
func (l *Listener) Receive(ctx context.Context, wait time.Duration) ([]Delivery, error) {
	// If the SDK repeats a request, SQS returns the same messages for the same attempt id. Without
	// the id these messages would be hidden, and no receiver would have them.
	out, err := l.API.ReceiveMessage(ctx,
		&sqs.ReceiveMessageInput{QueueUrl: &l.URL, MaxNumberOfMessages: batchSize,
			WaitTimeSeconds: seconds(wait), VisibilityTimeout: seconds(l.Hide),
			ReceiveRequestAttemptId: aws.String(newNonce()),
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{
				types.MessageSystemAttributeNameApproximateReceiveCount}})
	if err != nil {
		return nil, awserr.Fault("receive", err)
	}
	var messages []Message
	var receives []int
	var receipts, bad []string
	for _, m := range out.Messages {
		got, err := Decode(aws.ToString(m.Body))
		if err != nil {
			bad = append(bad, aws.ToString(m.ReceiptHandle))
			if l.Refused != nil {
				l.Refused(aws.ToString(m.MessageId), err)
			}
			continue
		}
		messages, receipts = append(messages, got), append(receipts, aws.ToString(m.ReceiptHandle))
		n, _ := strconv.Atoi(
			m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)])
		receives = append(receives, n)
	}
	if len(bad) > 0 {
		if err := l.Done(ctx, Delivery{Receipts: bad}); err != nil {
			return nil, err
		}
	}
	deliveries := Merge(messages)
	for i := range deliveries {
		for j, m := range messages {
			if m.Env == deliveries[i].Env && m.Agent == deliveries[i].Agent &&
				m.Job == deliveries[i].Job {
				deliveries[i].Receipts = append(deliveries[i].Receipts, receipts[j])
				deliveries[i].Receives = max(deliveries[i].Receives, receives[j])
			}
		}
	}
	return deliveries, nil
}

func seconds(d time.Duration) int32 { return int32(d / time.Second) } // at most hours

// Merge merges the messages of each agent, and of each part of a job, in the order of their first
// messages. A message without hints requires a check of all resources, so it discards the hints of
// the other messages.
func Merge(messages []Message) []Delivery {
	type subject struct{ env, agent, job string }
	var out []Delivery
	at, all := map[subject]int{}, map[subject]bool{}
	for _, m := range messages {
		key := subject{m.Env, m.Agent, m.Job}
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, Delivery{Env: m.Env, Agent: m.Agent, Job: m.Job})
		}
		all[key] = all[key] || len(m.Done) == 0
		out[i].Done = append(out[i].Done, m.Done...)
		out[i].With = append(out[i].With, m.With...)
	}
	for i := range out {
		if all[subject{out[i].Env, out[i].Agent, out[i].Job}] {
			out[i].Done = nil
		}
	}
	return out
}

// Done deletes the messages of agents that were served.
func (l *Listener) Done(ctx context.Context, deliveries ...Delivery) error {
	return each(deliveries, func(receipts []string) error {
		entries := make([]types.DeleteMessageBatchRequestEntry, len(receipts))
		for i := range receipts {
			entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)),
				ReceiptHandle: &receipts[i]}
		}
		out, err := l.API.DeleteMessageBatch(ctx,
			&sqs.DeleteMessageBatchInput{QueueUrl: &l.URL, Entries: entries})
		if err != nil {
			return awserr.Fault("delete messages", err)
		}
		return failed("delete messages", out.Failed)
	})
}

// Later hides the messages of agents for a time, after which they are delivered again. If hide is
// zero, they are delivered immediately.
func (l *Listener) Later(ctx context.Context, hide time.Duration, deliveries ...Delivery) error {
	return each(deliveries, func(receipts []string) error {
		entries := make([]types.ChangeMessageVisibilityBatchRequestEntry, len(receipts))
		for i := range receipts {
			entries[i] = types.ChangeMessageVisibilityBatchRequestEntry{
				Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &receipts[i],
				VisibilityTimeout: seconds(hide)}
		}
		out, err := l.API.ChangeMessageVisibilityBatch(ctx,
			&sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &l.URL, Entries: entries})
		if err != nil {
			return awserr.Fault("hide messages", err)
		}
		return failed("hide messages", out.Failed)
	})
}

// each calls f with the receipts of deliveries, in batches that fit into a request.
func each(deliveries []Delivery, f func(receipts []string) error) error {
	var all []string
	for _, h := range deliveries {
		all = append(all, h.Receipts...)
	}
	for part := range slices.Chunk(all, batchSize) {
		if err := f(part); err != nil {
			return err
		}
	}
	return nil
}

// failed returns the first error of a batch. A message that failed stays in the queue and is
// delivered again, which is harmless.
func failed(op string, entries []types.BatchResultErrorEntry) error {
	for _, e := range entries {
		if !e.SenderFault { // else the receipt expired
			return fault.New(fault.Unavailable, op, "%s: %s", aws.ToString(e.Code),
				aws.ToString(e.Message))
		}
	}
	return nil
}
