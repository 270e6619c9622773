// Package queue implements the engine's notifier on SQS. Each agent has a FIFO queue. A message announces that there may be work; the work itself is in the state.
// docs/design/aws-ports.md gives the reasons.
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

// Sender is the part of SQS's API that a notifier uses. *sqs.Client implements it.
type Sender interface {
	SendMessageBatch(
		ctx context.Context, in *sqs.SendMessageBatchInput, opts ...func(*sqs.Options),
	) (*sqs.SendMessageBatchOutput, error)
}

// Finder finds the queues of agents.
type Finder interface {
	// URL returns the URL of an agent's queue. It may make the queue.
	URL(ctx context.Context, env, agent string) (string, error)
	// Missing records that the queue whose URL was returned does not exist.
	Missing(env, agent string)
	// Notified is called after messages were sent to an agent. The mapping of the agent's queue may
	// be disabled, and Notified may enable it.
	Notified(ctx context.Context, env, agent string) error
}

// Notifier implements state.Notifier. Any number of goroutines may use it.
type Notifier struct {
	// PutOff, if not nil, is called with an agent whose queue does not exist, and with the agent's
	// notices. Its implementation has to make the queue and send the notices later. It has to be
	// set before the first notice.
	PutOff func(env, agent string, notices []state.Notice)
	// Together, if not nil, returns the agents that may share an invocation with other agents, and when a
	// function last served each. Functions reach these agents.
	// It has to be set before the first notice.
	Together func(ctx context.Context, env string, agents []string) (map[string]time.Time, error)

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

// newNonce returns a random, unique string of letters and digits.
func newNonce() string {
	var raw [12]byte
	_, _ = rand.Read(raw[:]) // it never fails
	return hex.EncodeToString(raw[:])
}

const (
	batchSize = 10      // messages in a request
	hintBytes = 8 << 10 // of a message: ten fit into one request on any server
	workers   = 8
	tries     = 3
	triesMade = 6 // sends to a new queue, which SQS needs a second to create
	pauseMade = 100 * time.Millisecond
	// pauseFault is the pause after a request that failed, for each try. The SDK has tried it some
	// times by then.
	pauseFault = 500 * time.Millisecond
)

// Message is the body of a message.
type Message struct {
	Format int           `json:"v"`
	Env    string        `json:"env"`
	Agent  string        `json:"agent"`
	Done   []resource.ID `json:"done,omitempty"`
	// With holds other agents that the receiver has to serve, too.
	With []string `json:"with,omitempty"`
	// Job, if not empty, is a part of a job that the runner of the agent has to read. The agent need
	// not be served. A receiver that does not know jobs serves the agent, and finds no work.
	Job string `json:"job,omitempty"`
}

const format = 1

// encode returns the message of a notice. If the hints would make it too long, encode omits them.
// Without hints, the receiver checks all resources of the agent.
func encode(env string, r state.Notice, with ...state.Notice) (string, error) {
	m := Message{Format: format, Env: env, Agent: r.Agent, Done: r.Done}
	for _, other := range with {
		m.With = append(m.With, other.Agent)
	}
	n := 0
	for _, id := range r.Done {
		n += len(id) + 3
	}
	if n > hintBytes {
		m.Done = nil
	}
	b, err := json.Marshal(m)
	if err == nil && len(b) > 2*hintBytes { // ids with characters that JSON escapes
		m.Done = nil
		b, err = json.Marshal(m)
	}
	return string(b), fault.Wrap(fault.Internal, "encode notice", err)
}

// Decode decodes the body of a message. If the message is of another program or of a newer version,
// or names an impossible environment or agent, Decode returns a fault.Foreign.
func Decode(body string) (Message, error) {
	var m Message
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return m, fault.Wrap(fault.Foreign, "read notice", err)
	}
	if m.Format != format || m.Agent == "" {
		return m, fault.New(fault.Foreign, "read notice", "it has format %d, this program knows %d",
			m.Format, format)
	}
	if !state.ValidEnvironment(m.Env) {
		return m, fault.New(fault.Foreign, "read notice", "%.100q cannot name an environment", m.Env)
	}
	for _, agent := range append([]string{m.Agent}, m.With...) {
		if !resource.ValidAgent(agent) {
			return m, fault.New(fault.Foreign, "read notice", "%.100q cannot name an agent", agent)
		}
	}
	return m, nil
}

// Notify implements state.Notifier. It notifies agents concurrently. An error of one agent does not
// stop the notices to other agents.
func (n *Notifier) Notify(ctx context.Context, env string, notices []state.Notice) error {
	notices = n.notifyTogether(ctx, env, notices)
	byAgent := map[string][]state.Notice{}
	for _, r := range notices {
		agent := r.Agent
		byAgent[agent] = append(byAgent[agent], r)
	}
	agents := slices.Sorted(maps.Keys(byAgent))
	var group errgroup.Group // an error of one agent does not stop the others
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
				MessageGroupId:         aws.String(group(env, r.Agent)),
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

// NotifyRunner notifies the runner of an agent of a part of a job. Such messages have message
// groups of their own, so that they do not wait for the work of the agent.
func (n *Notifier) NotifyRunner(ctx context.Context, env, agent, part string) error {
	body, err := json.Marshal(Message{Format: format, Env: env, Agent: agent, Job: part})
	if err != nil {
		return fault.Wrap(fault.Internal, "encode notice", err)
	}
	return n.send(ctx, env, agent, []types.SendMessageBatchRequestEntry{{Id: aws.String("0"),
		MessageBody: aws.String(string(body)), MessageGroupId: aws.String(group(env, "job/"+part)),
		MessageDeduplicationId: aws.String(n.dispatch())}})
}

// group returns the message group of an agent or of a part of a job. It includes the environment,
// because one queue may serve one agent of several environments.
func group(env, of string) string {
	name := env + "/" + of
	if len(name) <= maxGroup && plain(name) {
		return name
	}
	return hashOf(name)
}

const maxGroup = 128

// dispatch returns a unique deduplication id. SQS drops a message whose id was used in the last
// five minutes, even if the earlier message was already handled.
func (n *Notifier) dispatch() string { return fmt.Sprintf("%s-%d", n.nonce, n.count.Add(1)) }

// send sends a batch, and retries the entries that failed. If the queue does not exist, send makes
// the queue. A queue that was just made is not visible to all requests yet, so send retries.
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
			err = awserr.Fault("notify agent "+agent, err)
			if try >= tries || !fault.Is(err, fault.Unavailable) {
				return err
			}
			if err := pause(ctx, time.Duration(try)*pauseFault); err != nil {
				return err
			}
			continue
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
