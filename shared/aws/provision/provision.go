// Package provision makes what the AWS home has outside its stack, and removes it: a queue an
// agent, and the mapping by which Lambda polls that queue and invokes the handler function.
// docs/design/provision.md says in which states they can be, and who finishes what was interrupted.
package provision

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/shared/aws/queue"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// SQS is what is needed of it; *sqs.Client has it. ListQueues is for List and Destroy only.
type SQS interface {
	queue.Maker
	queue.Sender
	ListQueueTags(ctx context.Context, in *sqs.ListQueueTagsInput,
		opts ...func(*sqs.Options)) (*sqs.ListQueueTagsOutput, error)
	TagQueue(ctx context.Context, in *sqs.TagQueueInput,
		opts ...func(*sqs.Options)) (*sqs.TagQueueOutput, error)
	DeleteQueue(ctx context.Context, in *sqs.DeleteQueueInput,
		opts ...func(*sqs.Options)) (*sqs.DeleteQueueOutput, error)
	ListQueues(ctx context.Context, in *sqs.ListQueuesInput,
		opts ...func(*sqs.Options)) (*sqs.ListQueuesOutput, error)
}

// Lambda is what is needed of it; *lambda.Client has it. ListEventSourceMappings is for Destroy
// only.
type Lambda interface {
	CreateEventSourceMapping(ctx context.Context, in *lambda.CreateEventSourceMappingInput,
		opts ...func(*lambda.Options)) (*lambda.CreateEventSourceMappingOutput, error)
	GetEventSourceMapping(ctx context.Context, in *lambda.GetEventSourceMappingInput,
		opts ...func(*lambda.Options)) (*lambda.GetEventSourceMappingOutput, error)
	UpdateEventSourceMapping(ctx context.Context, in *lambda.UpdateEventSourceMappingInput,
		opts ...func(*lambda.Options)) (*lambda.UpdateEventSourceMappingOutput, error)
	DeleteEventSourceMapping(ctx context.Context, in *lambda.DeleteEventSourceMappingInput,
		opts ...func(*lambda.Options)) (*lambda.DeleteEventSourceMappingOutput, error)
	ListEventSourceMappings(ctx context.Context, in *lambda.ListEventSourceMappingsInput,
		opts ...func(*lambda.Options)) (*lambda.ListEventSourceMappingsOutput, error)
}

// State is what is needed of the state; *dynamo.State has it.
type State interface {
	Envs(ctx context.Context) ([]string, error)
	Env(ctx context.Context, env string) (state.Env, error)
	Agents(ctx context.Context, env string, names ...string) (map[string]state.Agent, error)
	Versions(ctx context.Context, env string, numbers ...int) ([]state.Version, error)
	Leases(ctx context.Context, env string) ([]state.Lease, error)
	Schedule(ctx context.Context, env string, agents ...string) (state.Schedule, error)
	Jobs(ctx context.Context, env, begin string, now time.Time) ([]state.Job, error)
	PutJob(ctx context.Context, env string, j state.Job, now time.Time) (int64, error)
	IdleEpoch(env string) int64
	SetIdleEpoch(ctx context.Context, env string, number int64) error
}

// Config says for whom, and how.
type Config struct {
	SQS    SQS
	Lambda Lambda
	State  State
	Clock  state.Clock
	// Prefix of the names of all queues, unique to the stack.
	Prefix string
	// Base, when not empty, is what the URLs of the account's queues begin with, see queue.Queues.
	Base string
	// Function is the name or the ARN of the handler function.
	Function string
	// Timeout of the handler function; 0: DefaultTimeout. Messages are hidden six times as long.
	Timeout time.Duration
	// DeadLetters is the ARN of the FIFO queue for messages that nobody could handle. It tells
	// account and region, too.
	DeadLetters string
	// Key is the KMS key that encrypts messages; empty: the key of SQS.
	Key string
	// Reaches reports whether a function can reach the things of an agent; nil: of all but those
	// with the transport "local". Other agents get a queue and no mapping.
	Reaches func(a resource.Agent) bool
	// IdleAfter is how long nothing must have run on an agent before nobody polls its queue any
	// more; 0: DefaultIdle, negative: never.
	IdleAfter time.Duration
}

// Defaults of Config.
const (
	DefaultTimeout = 120 * time.Second
	DefaultIdle    = 144 * time.Minute // a tenth of a day: less than the time between two repairs
)

// The tags of everything that is made here, beside those that name environment and agent.
const (
	TagPrefix  = "southbound:prefix"
	TagManaged = "southbound:managed-by"
	tagMapping = "southbound:mapping" // of a queue: the mapping that was made for it
	managed    = "southbound"
)

const (
	hiddenTimes = 6              // of the function's timeout, as AWS asks for
	retention   = 24 * time.Hour // of messages: the sweep notifies again for what is left
	// before a message is a dead letter: every failure of one costs its neighbours a receive
	receives = 20
	keyReuse = 1 * time.Hour // of a data key of KMS
)

// Provisioner makes and removes queues and mappings. It may be used by any number of goroutines and
// processes. Each of its parts uses those it embeds: agents and what was put off, upon mappings,
// upon queues.
type Provisioner struct {
	*agents
	pace pace // of Prepare

	mu    sync.Mutex
	fresh bool // queues have the attributes that they should have; guarded by mu
}

// base names and describes the queues.
type base struct {
	Config
	queues *queue.Queues
}

// agents knows for which agents queues are polled, and begins and ends that.
type agents struct {
	*mappings
	deferred

	mu sync.Mutex
	// the number of State.IdleEpoch at which it was seen to be enabled
	enabled   map[owner]int64
	checkedAt map[owner]time.Time // when it was last checked because it has work that nobody does
	disabled  map[owner]bool      // seen to be disabled
	nextIdle  time.Time
}

// forget forgets what was seen of an agent whose queue is removed.
func (p *agents) forget(o owner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.disabled, o)
	delete(p.enabled, o)
}

// owner is whose a queue is.
type owner struct{ env, agent string }

// New returns a provisioner. Nothing is asked of AWS.
func New(c Config) (*Provisioner, error) {
	if c.Prefix == "" || c.Function == "" || strings.Count(c.DeadLetters, ":") != 5 {
		return nil,
			fault.New(fault.Usage, "prepare queues",
				"a prefix, a function and the ARN of the dead letters are needed; they are %q, "+
					"%q and %q", c.Prefix, c.Function, c.DeadLetters)
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.IdleAfter == 0 {
		c.IdleAfter = DefaultIdle
	}
	if c.Reaches == nil {
		c.Reaches = func(a resource.Agent) bool {
			return a.Transport != "local" &&
				a.Transport != ""
		}
	}
	m := &mappings{base: &base{Config: c}, uuids: map[owner]string{}}
	p := &Provisioner{agents: &agents{
		mappings: m, deferred: deferred{waiting: map[owner]map[string]bool{}},
		enabled: map[owner]int64{}, checkedAt: map[owner]time.Time{}, disabled: map[owner]bool{},
	}}
	p.queues = &queue.Queues{API: c.SQS, Prefix: c.Prefix, Base: c.Base, Attributes: p.attributes(),
		Tags: p.tags(), Made: p.Made, OnNotified: p.Notified}
	return p, nil
}

// Queues returns the finder that makes queues and wakes agents by p.
func (p *base) Queues() *queue.Queues { return p.queues }

func (p *base) attributes() map[string]string {
	policy, _ := json.Marshal(struct { // it never fails
		Target string `json:"deadLetterTargetArn"`
		Most   string `json:"maxReceiveCount"`
	}{p.DeadLetters, strconv.Itoa(receives)})
	out := map[string]string{"VisibilityTimeout": seconds(hiddenTimes * p.Timeout),
		"MessageRetentionPeriod": seconds(retention), "RedrivePolicy": string(policy)}
	if p.Key == "" {
		out["SqsManagedSseEnabled"] = "true"
	} else {
		out["KmsMasterKeyId"], out["KmsDataKeyReusePeriodSeconds"] = p.Key, seconds(keyReuse)
	}
	return out
}

func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }

func (p *base) tags() map[string]string {
	return map[string]string{TagPrefix: p.Prefix, TagManaged: managed}
}

// arn returns the ARN of a queue: it is in the account and the region of the dead letters.
func (p *base) arn(name string) string {
	return p.DeadLetters[:strings.LastIndexByte(p.DeadLetters, ':')+1] + name
}

// reached reports whether a function serves an agent. One that the state does not know is on the
// machine of whoever serves it.
func (p *base) reached(ctx context.Context, o owner) (bool, error) {
	agents, err := p.State.Agents(ctx, o.env, o.agent)
	if err != nil {
		return false, fault.Wrap(fault.Unknown, "read agents", err)
	}
	a, ok := agents[o.agent]
	return ok && p.Reaches(a.Agent), nil
}

// Made makes the mapping of a queue that may have been made. It is what queue.Queues calls.
func (p *agents) Made(ctx context.Context, env, agent, url string) error {
	o := owner{env, agent}
	reached, err := p.reached(ctx, o)
	if err != nil || !reached {
		return err
	}
	return p.connect(ctx, o, url)
}

// Notified enables an agent's mapping when it may be disabled; mostly it asks nobody. It is what
// queue.Queues calls.
func (p *agents) Notified(ctx context.Context, env, agent string) error {
	if !p.mayBeIdle(owner{env, agent}) {
		return nil
	}
	return p.Wake(ctx, env, agent)
}

// mayBeIdle reports whether an agent was put to sleep, for all that this process knows.
func (p *agents) mayBeIdle(o owner) bool {
	number := p.State.IdleEpoch(o.env)
	p.mu.Lock()
	defer p.mu.Unlock()
	return number != 0 && number != p.enabled[o]
}

// Wake makes Lambda poll the queue of an agent again, and makes what is missing for that. An agent
// that functions do not reach is left alone.
func (p *agents) Wake(ctx context.Context, env, agent string) error {
	_, err := p.wake(ctx, env, agent)
	return err
}

// wake is Wake; made says that there was no queue before.
func (p *agents) wake(ctx context.Context, env, agent string) (made bool, err error) {
	o := owner{env, agent}
	// before it is looked at: a number that comes later makes this worthless
	number := p.State.IdleEpoch(env)
	reached, err := p.reached(ctx, o)
	if err != nil {
		return false, err
	}
	url, err := p.queues.Lookup(ctx, env, agent)
	switch {
	case err == nil && reached:
		err = p.connect(ctx, o, url)
	case err == nil:
		_, err = p.disconnect(ctx, o, url)
	}
	if fault.Is(err, fault.NotFound) {
		p.queues.Missing(env, agent)
		_, err = p.queues.Make(ctx, env, agent)
		made = err == nil
	}
	if err == nil {
		p.mu.Lock()
		p.enabled[o] = number
		p.mu.Unlock()
	}
	return made, err
}
