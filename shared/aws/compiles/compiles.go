// Package compiles notifies the compile function, which works on the orders of services in AWS:
// through one FIFO queue, with a message group for each environment, so that one function at a time
// is at work in it. A message names instances that may have something to do; what there is to do
// stands in the instances, so one that is lost, late or doubled changes nothing but when it is
// done. Calls of callbacks are another message group, so that no order waits for them.
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
	// Calls says that callbacks are to be told something, and nothing of instances.
	Calls bool `json:"calls,omitempty"`
	// Late is how often the calls were put off, as orders came with them.
	Late int `json:"late,omitempty"`
}

const (
	format = 1
	// maxIDs is how many instances a message names, and maxBytes how long their ids are together.
	maxIDs   = 200
	maxBytes = 32 << 10
)

const opNotify = "notify the compile function"

// Notify says that instances of an environment may have something to do; none: that some may. That
// it fails loses nothing: the sweep checks.
func (b *Notifier) Notify(ctx context.Context, env string, instances ...string) error {
	var ids []string
	size := 0
	for _, id := range unique(instances) { // one that has nothing to do is looked at only if named
		if len(ids) == maxIDs || size+len(id) > maxBytes {
			if err := b.send(ctx, env, Message{Env: env, Instances: ids}); err != nil {
				return err
			}
			ids, size = nil, 0
		}
		ids, size = append(ids, id), size+len(id)
	}
	return b.send(ctx, env, Message{Env: env, Instances: ids})
}

// NotifyCalls says that callbacks of an environment are to be told something, which was put off
// some times. That it fails loses nothing: the sweep checks.
func (b *Notifier) NotifyCalls(ctx context.Context, env string, late int) error {
	return b.send(ctx, env+callsGroup, Message{Env: env, Calls: true, Late: late})
}

// callsGroup is what the message group of the calls has behind the name of the environment, in
// which there is no slash.
const callsGroup = "/calls"

// send sends one message.
func (b *Notifier) send(ctx context.Context, group string, m Message) error {
	m.Format = format
	body, err := json.Marshal(m)
	if err != nil {
		return fault.Wrap(fault.Internal, opNotify, err)
	}
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // it never fails
	_, err = b.API.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: &b.URL, MessageBody: aws.String(string(body)), MessageGroupId: &group,
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
