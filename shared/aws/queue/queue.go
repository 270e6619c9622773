// Package queue is the engine's notifier on SQS: a FIFO queue an agent, a message group a lane.
// Messages say that there may be work; what there is stands in the state. docs/design/aws-ports.md
// says why.
package queue

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"

	"southbound/shared/aws/awserr"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/platform"
	"southbound/shared/resource"
)

// Sender is what notifying needs of SQS; *sqs.Client has it.
type Sender interface {
	SendMessageBatch(
		ctx context.Context, in *sqs.SendMessageBatchInput, opts ...func(*sqs.Options),
	) (*sqs.SendMessageBatchOutput, error)
}

// Finder finds the queues of agents.
type Finder interface {
	// URL returns the queue of an agent, which may have to be made.
	URL(ctx context.Context, env, agent string) (string, error)
	// Missing is told that the queue which URL returned does not exist.
	Missing(env, agent string)
	// Notified is called after messages were sent to an agent: its queue may be one that nobody
	// listens to now.
	Notified(ctx context.Context, env, agent string) error
}

// Notifier is state.Notifier. It may be used by any number of goroutines.
type Notifier struct {
	// PutOff, when not nil, is told of an agent whose queue is not there, with the notices that it
	// was meant to get: somebody else makes it, and notifies then. Set it before the first notice.
	PutOff func(env, agent string, notices []state.Notice)
	// Together, when not nil, returns those of some lanes that one invocation may serve together
	// with others: lanes of agents that functions reach, and when a function last served each. Set
	// it before the first notice.
	Together func(ctx context.Context, env string, lanes []string) (map[string]time.Time, error)

	api    Sender
	queues Finder
	nonce  string
	count  atomic.Int64
}

var _ state.Notifier = (*Notifier)(nil)

// NewNotifier returns a notifier that sends to queues.
func NewNotifier(api Sender, queues Finder) *Notifier {
	return &Notifier{api: api, queues: queues, nonce: newNonce()}
}

// newNonce returns letters and digits that nothing else has.
func newNonce() string {
	var raw [12]byte
	_, _ = rand.Read(raw[:]) // it never fails
	return hex.EncodeToString(raw[:])
}

const (
	batchSize = 10      // messages of a request
	hintBytes = 8 << 10 // of a message: ten of them stay below what any server takes in one request
	workers   = 8
	tries     = 3
	triesMade = 6 // of sending to a queue that was just made: SQS asks for a second
	pauseMade = 100 * time.Millisecond
)

// Message is what is sent.
type Message struct {
	Format int           `json:"v"`
	Env    string        `json:"env"`
	Lane   string        `json:"lane"`
	Done   []resource.ID `json:"done,omitempty"`
	// With are lanes of other agents that whoever gets the message serves, too.
	With []string `json:"with,omitempty"`
	// Job, when not empty, is a part of a job that a runner is to read; the lane is one of its
	// agent then, and need not be looked at. Who does not know jobs looks at it, and finds nothing.
	Job string `json:"job,omitempty"`
}

const format = 1

// encode returns the message of a notice. Hints that would make it long are left out: without any,
// everything is looked at.
func encode(env string, r state.Notice, with ...state.Notice) (string, error) {
	m := Message{Format: format, Env: env, Lane: r.Lane, Done: r.Done}
	for _, other := range with {
		m.With = append(m.With, other.Lane)
	}
	n := 0
	for _, id := range r.Done {
		n += len(id) + 3
	}
	if n > hintBytes {
		m.Done = nil
	}
	b, err := json.Marshal(m)
	if err == nil && len(b) > 2*hintBytes { // ids of characters that JSON writes long
		m.Done = nil
		b, err = json.Marshal(m)
	}
	return string(b), fault.Wrap(fault.Internal, "encode notice", err)
}

// Decode reads the body of a message. Foreign is its error: the message is of another program or of
// a newer version.
func Decode(body string) (Message, error) {
	var m Message
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return m, fault.Wrap(fault.Foreign, "read notice", err)
	}
	if m.Format != format || m.Lane == "" {
		return m, fault.New(fault.Foreign, "read notice", "it has format %d, this program knows %d",
			m.Format, format)
	}
	return m, nil
}

// Notify implements state.Notifier. Agents are notified side by side; an error of one does not
// keep others from being notified.
func (n *Notifier) Notify(ctx context.Context, env string, notices []state.Notice) error {
	notices = n.notifyTogether(ctx, env, notices)
	byAgent := map[string][]state.Notice{}
	for _, r := range notices {
		agent := state.AgentOf(r.Lane)
		byAgent[agent] = append(byAgent[agent], r)
	}
	agents := slices.Sorted(maps.Keys(byAgent))
	var group errgroup.Group // one that fails keeps no other from being notified
	group.SetLimit(workers)
	for _, agent := range agents {
		group.Go(func() error { return n.notifyAgent(ctx, env, agent, byAgent[agent]) })
	}
	return group.Wait()
}

func (n *Notifier) notifyAgent(
	ctx context.Context, env, agent string, notices []state.Notice,
) error {
	var entries []types.SendMessageBatchRequestEntry
	for i, r := range notices {
		body, err := encode(env, r)
		if err != nil {
			return err
		}
		entries = append(entries,
			types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: &body,
				MessageGroupId:         aws.String(group(env, r.Lane)),
				MessageDeduplicationId: aws.String(n.dispatch())})
	}
	for part := range slices.Chunk(entries, batchSize) {
		err := n.send(ctx, env, agent, part)
		if n.PutOff != nil && fault.Is(err, fault.NotFound) {
			n.PutOff(env, agent, notices)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return fault.Wrap(fault.Unknown, "wake agent "+agent, n.queues.Notified(ctx, env, agent))
}

// NotifyRunner tells the runner of an agent of a part of a job. Such messages have groups of their
// own, so that none waits for the end of what is done in a lane.
func (n *Notifier) NotifyRunner(ctx context.Context, env, agent, part string) error {
	body, err := json.Marshal(Message{Format: format, Env: env, Lane: agent + "/0", Job: part})
	if err != nil {
		return fault.Wrap(fault.Internal, "encode notice", err)
	}
	return n.send(ctx, env, agent, []types.SendMessageBatchRequestEntry{{Id: aws.String("0"),
		MessageBody: aws.String(string(body)), MessageGroupId: aws.String(group(env, "job/"+part)),
		MessageDeduplicationId: aws.String(n.dispatch())}})
}

// group is the message group of a lane. Groups are of one queue, which may serve one agent of
// several environments.
func group(env, lane string) string {
	name := env + "/" + lane
	if len(name) <= maxGroup && plain(name) {
		return name
	}
	return hashOf(name)
}

const maxGroup = 128

// dispatch returns a deduplication id that is never used again: SQS swallows a message with an id
// of the last five minutes, also when that message was handled long ago.
func (n *Notifier) dispatch() string { return fmt.Sprintf("%s-%d", n.nonce, n.count.Add(1)) }

// send sends a batch, what failed of it again, and makes the queue when there is none. A queue that
// was just made is not there for everybody yet.
func (n *Notifier) send(
	ctx context.Context, env, agent string, entries []types.SendMessageBatchRequestEntry,
) error {
	for try := 1; ; try++ {
		url, err := n.queues.URL(ctx, env, agent)
		if err != nil {
			return fault.Wrap(fault.Unknown, "notify agent "+agent, err)
		}
		out, err := n.api.SendMessageBatch(ctx,
			&sqs.SendMessageBatchInput{QueueUrl: &url, Entries: entries})
		switch {
		case awserr.NoQueue(err) && try == 1:
			n.queues.Missing(env, agent)
			continue
		case awserr.NoQueue(err) && try < triesMade:
			if err := pause(ctx, pauseMade<<(try-2)); err != nil {
				return err
			}
			continue
		case err != nil:
			return awserr.Fault("notify agent "+agent, err)
		}
		var left []types.SendMessageBatchRequestEntry
		for _, f := range out.Failed {
			if f.SenderFault {
				return fault.New(fault.Internal, "notify agent "+agent, "%s: %s",
					aws.ToString(f.Code), aws.ToString(f.Message))
			}
			left = append(left, entries[slices.IndexFunc(entries,
				func(e types.SendMessageBatchRequestEntry) bool { return *e.Id == *f.Id })])
		}
		if len(left) == 0 {
			return nil
		}
		if try >= tries {
			return fault.New(fault.Unavailable, "notify agent "+agent,
				"SQS refused %d of %d messages", len(left), len(entries))
		}
		entries = left
		if err := pause(ctx, time.Duration(try)*50*time.Millisecond); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	err := platform.Clock{}.Sleep(ctx, d)
	return fault.Wrap(fault.KindOf(err), "notify", err)
}
