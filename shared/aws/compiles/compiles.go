// Package compiles notifies the compile function, which processes orders of services in AWS. It
// uses one FIFO queue with a message group for each environment, so that one function at a time
// works on an environment. A message names instances that may have work. The work itself is in the
// instances, so a lost, late or repeated message only changes when it is done. Calls of callbacks
// have another message group, so that orders do not wait for them. docs/design/functions.md
// describes the details.
//
//	compiles.go  messages, and their notifier
//	store.go     instances whose writes send notices
//	finder.go    the notices that the sweep and other functions send
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
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Sender is the part of SQS's API that Notifier uses. *sqs.Client implements it.
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

// Message is the body of a message: instances of an environment may have work.
type Message struct {
	Format int    `json:"v"`
	Env    string `json:"env"`
	// Instances are their ids; empty: all instances with work.
	Instances []string `json:"instances,omitempty"`
	// Calls is set if callbacks have pending events. Then the message concerns no instances.
	Calls bool `json:"calls,omitempty"`
	// Late is how often the calls were postponed, because orders came with them.
	Late int `json:"late,omitempty"`
}

const (
	format = 1
	// maxIDs limits the instances of a message, and maxBytes the total length of their ids.
	maxIDs   = 200
	maxBytes = 32 << 10
)

const opNotify = "notify the compile function"

// Notify announces that instances of an environment may have work; without ids: that some instances
// may. A failure is harmless, because the sweep checks for work.
func (b *Notifier) Notify(ctx context.Context, env string, instances ...string) error {
	var ids []string
	size := 0
	for _, id := range unique(instances) { // an instance without work is checked only if it is named
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

// NotifyCalls announces that callbacks of an environment have pending events. The number late is
// how often the calls were postponed. A failure is harmless, because the sweep checks for pending
// events.
func (b *Notifier) NotifyCalls(ctx context.Context, env string, late int) error {
	return b.send(ctx, env+callsGroup, Message{Env: env, Calls: true, Late: late})
}

// callsGroup is the suffix of the message group for calls, after the name of the environment. That
// name contains no slash.
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
		// A unique id, because SQS drops a message whose id it has seen in the last five minutes,
		// even after that message was received.
		MessageDeduplicationId: aws.String(hex.EncodeToString(raw[:])),
	})
	return awserr.Fault(opNotify, err)
}

// unique returns sorted ids without duplicates.
func unique(ids []string) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Decode decodes the body of a message. If the message is of another program or of a newer version,
// or names an impossible environment, Decode returns a fault.Foreign.
func Decode(body string) (Message, error) {
	var m Message
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return m, fault.Wrap(fault.Foreign, "read message", err)
	}
	if m.Format != format || m.Env == "" {
		return m, fault.New(fault.Foreign, "read message",
			"it has format %d, this program knows %d", m.Format, format)
	}
	if !state.ValidEnvironment(m.Env) {
		return m, fault.New(fault.Foreign, "read message", "%.100q cannot name an environment",
			m.Env)
	}
	return m, nil
}
