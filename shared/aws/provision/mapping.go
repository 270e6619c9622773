package provision

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/shared/aws/awserr"
	"southbound/shared/aws/queue"
	"southbound/shared/fault"
	"southbound/shared/pattern"
)

// The states of a mapping.
const (
	stateCreating  = "Creating"
	stateEnabling  = "Enabling"
	stateEnabled   = "Enabled"
	stateUpdating  = "Updating"
	stateDisabling = "Disabling"
	stateDisabled  = "Disabled"
	stateDeleting  = "Deleting"
)

const (
	batchSize = 10 // maximum batch of Lambda for a FIFO queue
	// How long bring waits for a mapping that is changing, before it leaves the mapping to the next
	// sweep.
	transitionWait = 5 * time.Second
	firstPause     = 100 * time.Millisecond // between two reads of its state
	maxPause       = 2 * time.Second
)

// mappings makes, enables and disables the event source mappings of queues.
type mappings struct {
	*base

	mu    sync.Mutex
	uuids map[owner]string // of known mappings; guarded by mu
}

// connect makes or enables the mapping of a queue, so that Lambda polls the queue for a function.
func (p *mappings) connect(ctx context.Context, o owner, url, function string) error {
	_, err := p.bring(ctx, o, url, function)
	return err
}

// disconnect disables the mapping of a queue, if there is one, so that Lambda does not poll the
// queue. It reports whether it changed the mapping.
func (p *mappings) disconnect(ctx context.Context, o owner, url string) (bool, error) {
	return p.bring(ctx, o, url, "")
}

// bring repeats step until the mapping is enabled for a function, or disabled if function is "", or
// on the way there. It reports whether it changed anything. Each step starts from the current state of the mapping, so
// any process may have done the steps before.
func (p *mappings) bring(
	ctx context.Context, o owner, url, function string,
) (changed bool, err error) {
	deadline := p.Clock.Now().Add(transitionWait)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		there, did, err := p.step(ctx, o, url, function)
		changed = changed || did
		if err != nil || there {
			return changed, err
		}
		if p.Clock.Now().Add(pause).After(deadline) {
			return changed,
				fault.New(fault.Unavailable, "prepare agent "+o.agent,
					"its event source mapping is in the middle of a change").
					WithHint("the next sweep goes on with it")
		}
		if err := p.Clock.Sleep(ctx, pause); err != nil {
			return changed, fault.Wrap(fault.KindOf(err), "prepare agent "+o.agent, err)
		}
	}
}

// step reads the state of the mapping and makes the next change. If there is true, no further step
// is required.
func (p *mappings) step(
	ctx context.Context, o owner, url, function string,
) (there, changed bool, err error) {
	uuid, err := p.mappingOf(ctx, o, url)
	if err != nil {
		return false, false, err
	}
	state, of := "", ""
	if uuid != "" {
		if state, of, err = p.stateOf(ctx, uuid); err != nil {
			return false, false, err
		}
	}
	want := function != ""
	switch {
	case state == "" && want:
		there, err = p.create(ctx, o, url, function)
		return there, true, err
	case state == "":
		return true, false, nil
	case want && (state == stateEnabled || state == stateDisabled) && !names(function, of):
		there, err = p.switchTo(ctx, uuid, function)
		return there, there, err
	case want && names(function, of) &&
		(state == stateEnabled || state == stateEnabling || state == stateCreating ||
			state == stateUpdating):
		return true, false, nil
	case !want && (state == stateDisabled || state == stateDisabling || state == stateDeleting):
		return true, false, nil
	case (want && state == stateDisabled) || (!want && state == stateEnabled):
		there, err = p.switchTo(ctx, uuid, function)
		return there, there, err
	}
	return false, false, nil // it is changing to another state
}

// mappingOf returns the UUID of the mapping that was made for a queue, from the cache or from the
// tag of the queue. If both lack it, mappingOf returns "".
func (p *mappings) mappingOf(ctx context.Context, o owner, url string) (string, error) {
	p.mu.Lock()
	uuid := p.uuids[o]
	p.mu.Unlock()
	if uuid != "" {
		return uuid, nil
	}
	out, err := p.SQS.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &url})
	if err != nil {
		return "", awserr.Fault("read tags of queue", err)
	}
	if uuid = out.Tags[tagMapping]; uuid != "" {
		p.remember(o, uuid)
	}
	return uuid, nil
}

func (p *mappings) remember(o owner, uuid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if uuid == "" {
		delete(p.uuids, o)
		return
	}
	p.uuids[o] = uuid
}

// stateOf returns the state of a mapping and the ARN of its function. If the mapping does not exist,
// or belongs to a function of another stack, the state is "".
func (p *mappings) stateOf(ctx context.Context, uuid string) (state, function string, err error) {
	out, err := p.Lambda.GetEventSourceMapping(ctx, &lambda.GetEventSourceMappingInput{UUID: &uuid})
	switch {
	case err != nil && awserr.Kind(err) == fault.NotFound:
		return "", "", nil
	case err != nil:
		return "", "", awserr.Fault("read event source mapping", err)
	}
	arn := aws.ToString(out.FunctionArn)
	if !names(p.Function, arn) && !(p.Python != "" && names(p.Python, arn)) {
		return "", "", nil
	}
	return aws.ToString(out.State), arn, nil
}

// names reports whether an ARN is that of a function, given by its name or ARN, or of a version of
// it.
func names(function, arn string) bool {
	if strings.HasPrefix(function, "arn:") {
		return arn == function || strings.HasPrefix(arn, function+":")
	}
	_, name, _ := strings.Cut(arn, ":function:")
	return name == function || strings.HasPrefix(name, function+":")
}

// create makes the mapping and tags the queue with its UUID. If two processes make a mapping of one
// queue, they get one mapping: Lambda rejects the second and names the existing mapping. The same
// happens after a crash between the mapping and the tag. Lambda already polls the queue then, and
// the next process that calls create writes the tag.
func (p *mappings) create(
	ctx context.Context, o owner, url, function string,
) (there bool, err error) {
	tags := queue.AgentTags(o.env, o.agent)
	maps.Copy(tags, p.tags())
	out, err := p.Lambda.CreateEventSourceMapping(ctx, &lambda.CreateEventSourceMappingInput{
		EventSourceArn: aws.String(p.arn(queue.Name(p.Prefix, o.env,
			o.agent))), FunctionName: &function, BatchSize: aws.Int32(batchSize),
		Enabled: aws.Bool(true), FunctionResponseTypes: []types.FunctionResponseType{
			types.FunctionResponseTypeReportBatchItemFailures}, Tags: tags})
	switch uuid := existing(err); {
	case err == nil:
		return true, p.note(ctx, o, url, aws.ToString(out.UUID))
	case uuid != "":
		return false, p.note(ctx, o, url, uuid) // it may be disabled
	case awserr.Is(err, awserr.ResourceConflict, awserr.ResourceInUse), queueUnseen(err):
		return false, nil
	}
	return false, explain(err)
}

// note records the mapping of a queue in the cache, and for other processes in the tag of the
// queue.
func (p *mappings) note(ctx context.Context, o owner, url, uuid string) error {
	p.remember(o, uuid)
	_, err := p.SQS.TagQueue(ctx,
		&sqs.TagQueueInput{QueueUrl: &url, Tags: map[string]string{tagMapping: uuid}})
	return awserr.Fault("tag queue", err)
}

// switchTo enables a mapping for a function, or disables it if function is "". If there is true,
// Lambda accepted the change.
func (p *mappings) switchTo(ctx context.Context, uuid, function string) (there bool, err error) {
	in := &lambda.UpdateEventSourceMappingInput{UUID: &uuid, Enabled: aws.Bool(function != "")}
	if function != "" {
		in.FunctionName = &function
	}
	_, err = p.Lambda.UpdateEventSourceMapping(ctx, in)
	if awserr.Is(err, awserr.ResourceConflict, awserr.ResourceInUse) {
		return false, nil // another process is changing it: read the state again
	}
	if err != nil && awserr.Kind(err) == fault.NotFound {
		return false, nil
	}
	return err == nil, awserr.Fault("change event source mapping", err)
}

var uuidOf = pattern.Lazy(`\bUUID ([0-9a-fA-F-]{36})\b`)

// existing returns the UUID of the existing mapping from Lambda's error about a second mapping. For
// any other err it returns "".
func existing(err error) string {
	if !awserr.Is(err, awserr.ResourceConflict) {
		return ""
	}
	if m := uuidOf().FindStringSubmatch(err.Error()); m != nil {
		return m[1]
	}
	return ""
}

// queueUnseen reports whether err means that Lambda does not see a new queue yet.
func queueUnseen(err error) bool {
	return awserr.Is(err, awserr.InvalidParameter) &&
		(strings.Contains(err.Error(), "NonExistentQueue") ||
			strings.Contains(err.Error(), "queue does not exist"))
}

// explain returns the fault of a mapping that could not be made, with a hint about frequent
// mistakes.
func explain(err error) error {
	if !awserr.Is(err, awserr.InvalidParameter, "ResourceNotFoundException") {
		return awserr.Fault("make event source mapping", err)
	}
	return fault.New(awserr.Kind(err), "make event source mapping", "%v", err).
		WithHint("the handler function must exist, may take at most a sixth of the time that its " +
			"queues hide messages, and its role must allow to receive from them")
}
