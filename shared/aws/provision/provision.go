// Package provision makes and removes the resources of the AWS home that are outside its stack.
// Each agent has a queue, and a mapping by which Lambda polls the queue and invokes the handler
// function. docs/design/provision.md describes their states, and which process finishes an
// interrupted change.
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

// SQS is the part of its API that this package uses. *sqs.Client implements it. Only List and
// Destroy use ListQueues.
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

// Lambda is the part of its API that this package uses. *lambda.Client implements it. Only Destroy
// uses ListEventSourceMappings.
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

// State is the part of the state that this package uses. *dynamo.State implements it.
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

// Config configures a Provisioner.
type Config struct {
	SQS    SQS
	Lambda Lambda
	State  State
	Clock  state.Clock
	// Prefix of the names of all queues, unique to the stack.
	Prefix string
	// Base, if not empty, is the prefix of the URLs of the account's queues, see queue.Queues.
	Base string
	// Function is the name or the ARN of the handler function.
	Function string
	// Python is the name of the Python function; empty: there is none.
	Python string
	// InPython reports whether the Python function serves an agent that functions reach; nil: none.
	InPython func(a resource.Agent) bool
	// Timeout of the handler function; 0: DefaultTimeout.
	Timeout time.Duration
	// Hidden is how long queues hide a message that was received; 0: six times Timeout.
	Hidden time.Duration
	// DeadLetters is the ARN of the FIFO queue for messages that could not be handled. Account and
	// region are taken from it.
	DeadLetters string
	// Key is the KMS key that encrypts messages; empty: the key of SQS.
	Key string
	// Reaches reports whether functions reach the resources of an agent. If it is nil, functions
	// reach all agents but those with the transport "local" or none. Agents that functions do not
	// reach get a queue and no mapping.
	Reaches func(a resource.Agent) bool
	// IdleAfter is how long an agent must have had no lease before polling of its queue is
	// disabled; 0: DefaultIdle, negative: never.
	IdleAfter time.Duration
}

// Defaults of Config.
const (
	DefaultTimeout = 120 * time.Second
	DefaultIdle    = 144 * time.Minute // a tenth of a day: less than the time between two repairs
)

// The tags of queues and mappings, besides the tags that name environment and agent.
const (
	TagPrefix  = "southbound:prefix"
	TagManaged = "southbound:managed-by"
	tagMapping = "southbound:mapping" // of a queue: the mapping that was made for it
	managed    = "southbound"
)

const (
	hiddenTimes = 6              // of the function's timeout, as AWS asks for
	retention   = 24 * time.Hour // of messages; the sweep notifies again about remaining work
	// Receives before a message becomes a dead letter. The limit is high, since each failed message
	// also costs the other messages of its batch a receive.
	receives = 20
	keyReuse = 1 * time.Hour // of a data key of KMS
)

// Provisioner makes and removes queues and mappings. Any number of goroutines and processes may use
// it. Its parts form layers: agents and deferred use mappings, and mappings use the queues of base.
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

// agents records which agents' queues are polled, and starts and stops polling.
type agents struct {
	*mappings
	deferred

	mu sync.Mutex
	// the value of State.IdleEpoch at which the agent was seen enabled
	enabled   map[owner]int64
	checkedAt map[owner]time.Time // last check of an agent with work that is not served
	disabled  map[owner]bool      // seen to be disabled
	nextIdle  time.Time
}

// forget removes an agent whose queue is removed from the caches.
func (p *agents) forget(o owner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.disabled, o)
	delete(p.enabled, o)
}

// owner is the agent to which a queue belongs.
type owner struct{ env, agent string }

// New returns a provisioner. It sends no request to AWS.
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
	if c.Hidden <= 0 {
		c.Hidden = hiddenTimes * c.Timeout
	}
	if c.InPython == nil {
		c.InPython = func(resource.Agent) bool { return false }
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

// Queues returns the finder of queues. It makes missing queues, and wakes agents by p.
func (p *base) Queues() *queue.Queues { return p.queues }

func (p *base) attributes() map[string]string {
	policy, _ := json.Marshal(struct { // it never fails
		Target string `json:"deadLetterTargetArn"`
		Most   string `json:"maxReceiveCount"`
	}{p.DeadLetters, strconv.Itoa(receives)})
	out := map[string]string{"VisibilityTimeout": seconds(p.Hidden),
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

// arn returns the ARN of a queue. Queues are in the account and the region of the dead letters.
func (p *base) arn(name string) string {
	return p.DeadLetters[:strings.LastIndexByte(p.DeadLetters, ':')+1] + name
}

// functionOf returns the function that serves an agent; "": none. An agent that the state does not
// know is served by a process on its own machine.
func (p *base) functionOf(ctx context.Context, o owner) (string, error) {
	agents, err := p.State.Agents(ctx, o.env, o.agent)
	if err != nil {
		return "", fault.Wrap(fault.Unknown, "read agents", err)
	}
	a, ok := agents[o.agent]
	if !ok {
		return "", nil
	}
	return p.function(a.Agent), nil
}

// function returns the function that serves an agent with this description; "": none.
func (p *base) function(a resource.Agent) string {
	switch {
	case !p.Reaches(a):
		return ""
	case p.InPython(a):
		return p.Python
	}
	return p.Function
}

// Made makes the mapping of a queue that may be new. queue.Queues calls it.
func (p *agents) Made(ctx context.Context, env, agent, url string) error {
	o := owner{env, agent}
	function, err := p.functionOf(ctx, o)
	if err != nil || function == "" {
		return err
	}
	return p.connect(ctx, o, url, function)
}

// Notified enables the mapping of an agent if the mapping may be disabled. Most calls send no
// request. queue.Queues calls it.
func (p *agents) Notified(ctx context.Context, env, agent string) error {
	if !p.mayBeIdle(owner{env, agent}) {
		return nil
	}
	return p.Wake(ctx, env, agent)
}

// mayBeIdle reports whether an agent's mapping may have been disabled, as far as this process
// knows.
func (p *agents) mayBeIdle(o owner) bool {
	number := p.State.IdleEpoch(o.env)
	p.mu.Lock()
	defer p.mu.Unlock()
	return number != 0 && number != p.enabled[o]
}

// Wake enables polling of an agent's queue, and makes the queue or the mapping if it is missing. If
// functions do not reach the agent, Wake disables its mapping.
func (p *agents) Wake(ctx context.Context, env, agent string) error {
	_, err := p.wake(ctx, env, agent)
	return err
}

// wake implements Wake. It reports whether it made the queue.
func (p *agents) wake(ctx context.Context, env, agent string) (made bool, err error) {
	o := owner{env, agent}
	// Read before the mapping: a later epoch invalidates the entry in enabled.
	number := p.State.IdleEpoch(env)
	function, err := p.functionOf(ctx, o)
	if err != nil {
		return false, err
	}
	url, err := p.queues.Lookup(ctx, env, agent)
	switch {
	case err == nil && function != "":
		err = p.connect(ctx, o, url, function)
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
