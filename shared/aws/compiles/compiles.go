// Package compiles notifies the compile function, which works on the orders of services in AWS: through
// one FIFO queue, with a message group for each environment, so that one function at a time is at
// work in it. A message names instances that may have something to do; what there is to do stands in
// the instances, so one that is lost, late or doubled changes nothing but when it is done.
// docs/design/functions.md describes it.
//
//	compiles.go  messages, and what sends them
//	store.go     instances whose writes send notices
//	finder.go    what the sweep and other functions send notices of
package compiles

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
)

// Sender is what Notifier needs of SQS; *sqs.Client has it.
type Sender interface {
	SendMessage(
		ctx context.Context, in *sqs.SendMessageInput, opts ...func(*sqs.Options),
	) (*sqs.SendMessageOutput, error)
}

// Notifier notifies the compile function.
type Notifier struct {
	API Sender
	URL string // of the queue
}

// Message is what is sent: that instances of an environment may have something to do.
type Message struct {
	Format int    `json:"v"`
	Env    string `json:"env"`
	// Instances are their ids; none: all that have something to do.
	Instances []string `json:"instances,omitempty"`
}

const (
	format = 1
	// maxIDs is how many instances a message names, and maxBytes how long their ids are together.
	maxIDs   = 200
	maxBytes = 32 << 10
)

const opNotify = "notify the compile function"

// Notify says that instances of an environment may have something to do; none: that some may. That
// it fails loses nothing: the sweep looks.
func (b *Notifier) Notify(ctx context.Context, env string, instances ...string) error {
	var ids []string
	size := 0
	for _, id := range unique(instances) { // one that has nothing to do is looked at only if named
		if len(ids) == maxIDs || size+len(id) > maxBytes {
			if err := b.send(ctx, env, ids); err != nil {
				return err
			}
			ids, size = nil, 0
		}
		ids, size = append(ids, id), size+len(id)
	}
	return b.send(ctx, env, ids)
}

// send sends one message.
func (b *Notifier) send(ctx context.Context, env string, ids []string) error {
	m := Message{Format: format, Env: env, Instances: ids}
	body, err := json.Marshal(m)
	if err != nil {
		return fault.Wrap(fault.Internal, opNotify, err)
	}
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // it never fails
	_, err = b.API.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: &b.URL, MessageBody: aws.String(string(body)), MessageGroupId: &env,
		// Messages are not merged by SQS, which remembers one for minutes after it was received.
		MessageDeduplicationId: aws.String(hex.EncodeToString(raw[:])),
	})
	return awserr.Fault(opNotify, err)
}

// unique returns ids without repeats, sorted.
func unique(ids []string) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Decode reads the body of a message. Foreign is its error: the message is of another program or of
// a newer version.
func Decode(body string) (Message, error) {
	var m Message
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return m, fault.Wrap(fault.Foreign, "read message", err)
	}
	if m.Format != format || m.Env == "" {
		return m, fault.New(fault.Foreign, "read message",
			"it has format %d, this program knows %d", m.Format, format)
	}
	return m, nil
}
