package logs

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"southbound/shared/aws/awserr"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Sender is the part of SQS's API that Notifier uses. *sqs.Client implements it.
type Sender interface {
	SendMessageBatch(
		ctx context.Context, in *sqs.SendMessageBatchInput, opts ...func(*sqs.Options),
	) (*sqs.SendMessageBatchOutput, error)
}

// Notifier notifies the log function. Messages may be lost, repeated, late or out of order, because
// the entries to log are in the state.
type Notifier struct {
	API Sender
	URL string // of the log queue
}

// Message is the body of a message.
type Message struct {
	Format int    `json:"v"`
	Env    string `json:"env"`
	Agent  string `json:"agent"`
}

const (
	messageFormat = 1
	sendAtOnce    = 10 // messages in a request
)

// Notify announces that agents of an environment ran and may have committed entries to log. A
// failure is harmless, because the sweep logs them.
func (n *Notifier) Notify(ctx context.Context, env string, agents ...string) error {
	for len(agents) > 0 {
		count := min(len(agents), sendAtOnce)
		in := &sqs.SendMessageBatchInput{QueueUrl: &n.URL}
		for i, agent := range agents[:count] {
			body, err := json.Marshal(Message{Format: messageFormat, Env: env, Agent: agent})
			if err != nil {
				return fault.Wrap(fault.Internal, "encode message", err)
			}
			in.Entries = append(in.Entries,
				types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)),
					MessageBody: aws.String(string(body))})
		}
		agents = agents[count:]
		out, err := n.API.SendMessageBatch(ctx, in)
		if err != nil {
			return awserr.Fault("notify the log", err)
		}
		for _, f := range out.Failed {
			return fault.New(fault.Unavailable, "notify the log", "%s: %s", aws.ToString(f.Code),
				aws.ToString(f.Message))
		}
	}
	return nil
}

// Decode decodes the body of a message. If the message is of another program or of a newer version,
// or names an impossible environment or agent, Decode returns a fault.Foreign.
func Decode(body string) (Message, error) {
	var m Message
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return m, fault.Wrap(fault.Foreign, "read message", err)
	}
	if m.Format != messageFormat || m.Env == "" || m.Agent == "" {
		return m, fault.New(fault.Foreign, "read message",
			"it has format %d, this program knows %d", m.Format, messageFormat)
	}
	if !state.ValidEnvironment(m.Env) || !resource.ValidAgent(m.Agent) {
		return m, fault.New(fault.Foreign, "read message",
			"%.100q cannot name an environment, or %.100q an agent", m.Env, m.Agent)
	}
	return m, nil
}
