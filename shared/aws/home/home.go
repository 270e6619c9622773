package home

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"southbound/shared/aws/awserr"
	"southbound/shared/aws/bucket"
	"southbound/shared/aws/compiles"
	"southbound/shared/aws/dynamo"
	"southbound/shared/aws/logs"
	"southbound/shared/aws/provision"
	"southbound/shared/aws/queue"
	"southbound/shared/aws/secrets"
	"southbound/shared/aws/services"
	"southbound/shared/aws/statekey"
	"southbound/shared/aws/worker"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/seal"
	"southbound/shared/platform"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Home is an open AWS home. Any number of goroutines may use its parts.
//
// Large: it assembles the home. A field is a part with its own type, and functions take the parts
// that they need.
type Home struct {
	Config Config
	AWS    aws.Config // with the endpoint of the emulator, if any
	Engine *deploy.Engine
	State  *dynamo.State
	// LogStore is where State reads logged actions.
	LogStore *logs.Store
	Files    *bucket.Files
	Signer   *bucket.Signer
	Queues   *queue.Queues
	// Provisioner makes queues and mappings. It is nil if this process may not make them.
	Provisioner *provision.Provisioner
	// Logs notifies the log function. It is nil if there is no log queue.
	Logs     *logs.Notifier
	Notifier *worker.Notifier
	// Instances and Definitions store the instances and the definitions of services.
	Instances   *services.Instances
	Definitions *services.Definitions
	// Callbacks stores the callbacks for events of instances.
	Callbacks *services.Callbacks
	// Compiles notifies the compile function. It is nil if there is no compile queue.
	Compiles *compiles.Notifier

	Types *schema.Registry
	SQS   *sqs.Client
	S3    *s3.Client
	IDs   *platform.IDs

	clock state.Clock
}

// Open assembles the home. It sends no requests to AWS except those that find credentials, so that
// a function starts fast.
func Open(ctx context.Context, c Config) (*Home, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	h := &Home{Config: c, IDs: platform.NewIDs()}
	var err error
	if h.AWS, err = loadAWS(ctx, c); err != nil {
		return nil, err
	}
	h.clock = platform.Clock{}
	if c.Machine != nil { // any machine; functions have the right time
		right := &clock{log: c.Log}
		right.install(&h.AWS)
		h.clock, h.IDs.Now = right, right.Now
	}
	h.S3 = s3.NewFromConfig(h.AWS, func(o *s3.Options) { o.UsePathStyle = c.Endpoint != "" })
	h.SQS = sqs.NewFromConfig(h.AWS)
	api := dynamodb.NewFromConfig(h.AWS)
	if h.LogStore, err = logs.New(logs.Config{API: api, Table: c.Table,
		Objects: bucket.NewLogObjects(h.S3, c.Bucket)}); err != nil {
		return nil, err
	}
	if err := h.services(api); err != nil {
		return nil, err
	}
	h.State, err = dynamo.New(dynamo.Config{API: api, Table: c.Table, Log: h.LogStore,
		Waits: h.waits})
	if err != nil {
		return nil, err
	}
	h.Files = bucket.NewFiles(h.S3, c.Bucket)
	h.Signer = &bucket.Signer{URL: c.bucketURL(h.AWS.Region), Region: h.AWS.Region,
		Credentials: h.AWS.Credentials, Now: platform.Clock{}.Now}
	if err := h.queues(); err != nil {
		return nil, err
	}
	h.Notifier = worker.NewNotifier(h.notifier())
	h.Notifier.Log = c.Log
	if c.LogQueue != "" {
		h.Logs = &logs.Notifier{API: h.SQS, URL: c.LogQueue}
	}
	return h, h.engine()
}

// queues creates the finder of agents' queues. If this process may make queues, the finder makes
// missing queues.
func (h *Home) queues() error {
	c := &h.Config
	if !c.Makes {
		h.Queues = &queue.Queues{API: h.SQS, Prefix: c.Prefix, Base: c.queueBase(), Fixed: true}
		return nil
	}
	var err error
	if h.Provisioner, err = h.provisioner(); err != nil {
		return err
	}
	h.Queues = h.Provisioner.Queues()
	return nil
}

// notifier returns the notifier that sends notices to queues. Even in a process that may make
// queues it does not make them while it sends: see provision.Provisioner.Notifier.
func (h *Home) notifier() state.Notifier {
	b := queue.NewNotifier(h.SQS, h.Queues)
	if h.Provisioner != nil {
		b = h.Provisioner.Notifier()
	}
	b.Together = h.together
	return b
}

// Prepare prepares agents that were put off (see provision.Provisioner.Prepare). It then notifies
// agents whose queues were just made, and which could not be notified before, of resources that may
// start.
func (h *Home) Prepare(ctx context.Context, jobs []provision.Job, until time.Time) (
	left []provision.Job, err error,
) {
	left, err = h.Provisioner.Prepare(ctx, jobs, until)
	for env, agents := range provision.Late(jobs) {
		busy, failed := h.Engine.AgentsWithWork(ctx, env)
		busy = slices.DeleteFunc(busy, func(agent string) bool {
			return !slices.Contains(agents, agent)
		})
		if failed == nil && len(busy) > 0 {
			failed = h.Engine.Notifier.Notify(ctx, env, state.NoticesOf(busy))
		}
		err = errors.Join(err, failed)
	}
	return left, err
}

// NotifyRunner notifies the runner of an agent of a part of a job.
func (h *Home) NotifyRunner(ctx context.Context, env, agent, part string) error {
	return queue.NewNotifier(h.SQS, h.Queues).NotifyRunner(ctx, env, agent, part)
}

// together returns the agents that may share an invocation with other agents, and when each was last
// served. An agent that a function has served has a queue, which later notices require.
func (h *Home) together(
	ctx context.Context, env string, names []string,
) (map[string]time.Time, error) {
	leases, err := h.State.Leases(ctx, env)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read leases", err)
	}
	served := map[string]time.Time{}
	for i := range leases {
		served[leases[i].Key] = leases[i].Until
	}
	agents, err := h.State.Agents(ctx, env, names...)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read agents", err)
	}
	out := map[string]time.Time{}
	for _, name := range names {
		a, known := agents[name]
		at, before := served[name]
		if known && before && !a.Paused && !h.Config.Packs.ByRunner(a.Agent) &&
			!queue.InFunction(a.Agent) {
			out[name] = at
		}
	}
	return out, nil
}

// loadAWS finds credentials and the region.
func loadAWS(ctx context.Context, c Config) (aws.Config, error) {
	var out aws.Config
	if c.AWS != nil {
		out = c.AWS.Copy()
	} else {
		var err error
		if out, err = awsconfig.LoadDefaultConfig(ctx); err != nil {
			return out, awserr.Fault("find credentials", err)
		}
	}
	if c.Region != "" {
		out.Region = c.Region
	}
	if c.Endpoint != "" {
		out.BaseEndpoint = &c.Endpoint
	}
	if out.Region == "" {
		return out, fault.New(fault.Usage, "configure", "the region is not known").
			WithHint("set AWS_REGION")
	}
	return out, nil
}

func (h *Home) engine() error {
	var err error
	if h.Types, err = provider.NewRegistry(h.Config.Definitions); err != nil {
		return err
	}
	known := secrets.New(secrets.Config{Machine: h.Config.Machine,
		Load: func(context.Context) (aws.Config, error) { return h.AWS, nil }})
	var connector state.Connector = nothing{}
	if h.Config.Connector != nil {
		connector = h.Config.Connector(known)
	}
	view := &worker.View{State: h.State, Leave: h.Config.Leave, Log: h.Config.Log,
		Count: h.Config.Count,
		Sets:  h.Config.Sets}
	var notifier state.Notifier = h.Notifier
	if h.Config.Notifier != nil {
		notifier = h.Config.Notifier(h.Notifier, h.State)
	}
	var st state.State = view
	if h.Provisioner != nil {
		st = h.Provisioner.Preparing(view)
	}
	keys := &statekey.Keys{API: ssm.NewFromConfig(h.AWS), Name: statekey.Name(h.Config.Prefix),
		KMSKey: h.Config.KMSKey, Sleep: h.clock.Sleep}
	h.Engine = deploy.New(deploy.Config{Sealer: seal.Ring{Keys: keys.Get}, State: st, Files: h.Files, Notifier: notifier,
		Clock: h.clock, Caller: platform.Caller{},
		Secrets: known, Connector: connector, Types: h.Types,
		Handlers: provider.Handlers(h.Config.Definitions), Code: h.Config.Code,
		Bridges: provider.Bridges(h.Config.Definitions),
		Pack:    platform.Build(), Holder: h.IDs.Holder, NewID: h.IDs.NewID,
		Jitter: rand.Float64, Await: h.Notifier.Await,
		Keep: h.Definitions.Bundles, Owned: h.Instances.Owners, Readable: queue.Readable(h.Config.Packs.ByRunner)})
	return nil
}

// Operation returns the longest timeout of an operation of any type.
func (h *Home) Operation() time.Duration {
	longest := schema.DefaultTimeout
	for _, d := range h.Config.Definitions {
		longest = max(longest, d.Type.Timeout)
	}
	return longest
}

// QueueURL returns the URL of one of the stack's queues by its name.
func (h *Home) QueueURL(ctx context.Context, name string) (string, error) {
	if base := h.Config.queueBase(); base != "" {
		return base + name, nil
	}
	out, err := h.SQS.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return "", awserr.Fault("find queue "+name, err)
	}
	return aws.ToString(out.QueueUrl), nil
}

// nothing is a connector that rejects every agent.
type nothing struct{}

// Connect implements state.Connector.
func (nothing) Connect(_ context.Context, a resource.Agent) (any, error) {
	return nil, fault.New(fault.Unsupported, "connect",
		"this process connects no agents, not %q with the transport %q", a.Name, a.Transport)
}
