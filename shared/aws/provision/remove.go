package provision

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/shared/aws/awserr"
	"southbound/shared/aws/queue"
	"southbound/shared/fault"
)

// Queue is a queue that was made for an agent.
type Queue struct {
	Env   string `json:"environment"`
	Agent string `json:"agent"`
	Name  string `json:"queue"`
	// Mapping is the UUID of its event source mapping, and State is Lambda's state of the mapping.
	// If they are empty, the queue has no mapping.
	Mapping string `json:"mapping,omitempty"`
	State   string `json:"state,omitempty"`
	url     string
}

// deleting is how long unmap waits for a change by Lambda that blocks the removal of a mapping.
const deleting = 3 * time.Minute

// Prune returns the queues of agents that no version names, that have no scheduled resources and
// that are not being served. If remove is set, Prune removes the queues and their mappings. If a
// removed queue is needed again, the next notice makes it. Otherwise one of the next sweeps makes
// it within 60 seconds.
func (p *Provisioner) Prune(ctx context.Context, env string, remove bool) ([]Queue, error) {
	lives, _, err := p.lives(ctx, env)
	if err != nil {
		return nil, err
	}
	known, err := p.State.Agents(ctx, env)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read agents", err)
	}
	for agent := range known {
		if lives[agent] == nil {
			lives[agent] = &life{}
		}
	}
	named, err := p.named(ctx, env)
	if err != nil {
		return nil, err
	}
	var out []Queue
	for _, agent := range slices.Sorted(maps.Keys(lives)) {
		if a := lives[agent]; a.work || a.held || named[agent] {
			continue
		}
		q, there, err := p.find(ctx, owner{env, agent})
		if err == nil && there && remove {
			err = p.remove(ctx, q)
		}
		if err != nil {
			return out, err
		}
		if there {
			out = append(out, q)
		}
	}
	return out, nil
}

// named returns the agents that the retained versions of an environment name.
func (p *base) named(ctx context.Context, env string) (map[string]bool, error) {
	out := map[string]bool{}
	versions, err := p.State.Versions(ctx, env)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read versions", err)
	}
	for _, v := range versions {
		for _, a := range v.Agents {
			out[a.Name] = true
		}
	}
	return out, nil
}

// find returns the queue of an agent, if the queue exists and was made for this stack.
func (p *mappings) find(ctx context.Context, o owner) (Queue, bool, error) {
	url, err := p.queues.Lookup(ctx, o.env, o.agent)
	if err == nil {
		var q Queue
		var ok bool
		if q, ok, err = p.describe(ctx, url); err == nil {
			return q, ok, nil
		}
	}
	if fault.Is(err, fault.NotFound) {
		return Queue{}, false, nil
	}
	return Queue{}, false, err
}

// describe reads from a queue's tags to which agent it belongs. If the queue was not made for this
// stack, describe returns false.
func (p *mappings) describe(ctx context.Context, url string) (Queue, bool, error) {
	out, err := p.SQS.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &url})
	if err != nil {
		return Queue{}, false, awserr.Fault("read tags of queue", err)
	}
	env, agent, ok := queue.OwnerOf(out.Tags)
	if !ok || out.Tags[TagPrefix] != p.Prefix || out.Tags[TagManaged] != managed {
		return Queue{}, false, nil
	}
	q := Queue{Env: env, Agent: agent, Name: url[strings.LastIndexByte(url, '/')+1:],
		Mapping: out.Tags[tagMapping], url: url}
	if q.Mapping != "" {
		if q.State, _, err = p.stateOf(ctx, q.Mapping); err != nil {
			return Queue{}, false, err
		}
	}
	return q, true, nil
}

// remove removes the mapping, then the queue. In the other order, a crash could leave a mapping
// without a queue, which only Destroy finds. A crash in this order leaves a queue without a
// mapping. Prune and Destroy find it again, and it gets another mapping if its agent has work.
func (p *Provisioner) remove(ctx context.Context, q Queue) error {
	if q.Mapping != "" {
		if err := p.unmap(ctx, q.Mapping); err != nil {
			return err
		}
	}
	_, err := p.SQS.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &q.url})
	if err != nil && !awserr.NoQueue(err) {
		return awserr.Fault("delete queue "+q.Name, err)
	}
	o := owner{q.Env, q.Agent}
	p.queues.Missing(q.Env, q.Agent)
	p.remember(o, "")
	p.forget(o)
	return nil
}

// unmap deletes a mapping. It waits while Lambda is changing the mapping.
func (p *mappings) unmap(ctx context.Context, uuid string) error {
	deadline := p.Clock.Now().Add(deleting)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		_, err := p.Lambda.DeleteEventSourceMapping(ctx,
			&lambda.DeleteEventSourceMappingInput{UUID: &uuid})
		switch {
		case err == nil || awserr.Kind(err) == fault.NotFound:
			return nil
		case !awserr.Is(err, awserr.ResourceInUse, awserr.ResourceConflict) ||
			p.Clock.Now().After(deadline):
			return awserr.Fault("delete event source mapping "+uuid, err)
		}
		if err := p.Clock.Sleep(ctx, pause); err != nil {
			return fault.Wrap(fault.KindOf(err), "delete event source mapping", err)
		}
	}
}

// List returns all queues that were made for the stack, sorted by name. It requires the permission
// to list queues.
func (p *Provisioner) List(ctx context.Context) ([]Queue, error) {
	var out []Queue
	in := &sqs.ListQueuesInput{QueueNamePrefix: aws.String(queue.NamePrefix(p.Prefix)),
		MaxResults: aws.Int32(1000)}
	for {
		page, err := p.SQS.ListQueues(ctx, in)
		if err != nil {
			return nil, awserr.Fault("list queues", err)
		}
		for _, url := range page.QueueUrls {
			q, ok, err := p.describe(ctx, url)
			// Not found: SQS lists a deleted queue for a while.
			if err != nil && !fault.Is(err, fault.NotFound) {
				return nil, err
			}
			if ok {
				out = append(out, q)
			}
		}
		if aws.ToString(page.NextToken) == "" {
			slices.SortFunc(out, func(a, b Queue) int { return strings.Compare(a.Name, b.Name) })
			return out, nil
		}
		in.NextToken = page.NextToken
	}
}

// Destroy removes every queue and mapping that was made for the stack, and returns the queues. It
// has to run before the stack is deleted and after the last export. It requires the permissions to
// list queues and mappings. If it was interrupted, it may be called again.
func (p *Provisioner) Destroy(ctx context.Context) ([]Queue, error) {
	queues, err := p.List(ctx)
	if err != nil {
		return nil, err
	}
	mappings, err := p.strays(ctx, queues)
	if err != nil {
		return nil, err
	}
	for _, uuid := range mappings {
		if err := p.unmap(ctx, uuid); err != nil {
			return nil, err
		}
	}
	for i, q := range queues {
		if err := p.remove(ctx, q); err != nil {
			return queues[:i], err
		}
	}
	return queues, nil
}

// strays returns mappings of the stack's functions to queues of the stack that no queue's tag names.
// They belong to queues that were deleted outside this package, or are second mappings of a queue.
func (p *Provisioner) strays(ctx context.Context, queues []Queue) ([]string, error) {
	known := map[string]bool{}
	for _, q := range queues {
		known[q.Mapping] = true
	}
	out, err := p.straysOf(ctx, p.Function, known)
	if err != nil || p.Python == "" {
		return out, err
	}
	more, err := p.straysOf(ctx, p.Python, known)
	return append(out, more...), err
}

// straysOf implements strays for one function.
func (p *Provisioner) straysOf(
	ctx context.Context, function string, known map[string]bool,
) ([]string, error) {
	start := p.arn(queue.NamePrefix(p.Prefix))
	var out []string
	in := &lambda.ListEventSourceMappingsInput{FunctionName: &function}
	for {
		page, err := p.Lambda.ListEventSourceMappings(ctx, in)
		if err != nil {
			// the function does not exist, so neither do its mappings
			if awserr.Kind(err) == fault.NotFound {
				return out, nil
			}
			return nil, awserr.Fault("list event source mappings", err)
		}
		for _, m := range page.EventSourceMappings {
			if uuid := aws.ToString(m.UUID); strings.HasPrefix(aws.ToString(m.EventSourceArn),
				start) && !known[uuid] {
				out = append(out, uuid)
			}
		}
		if aws.ToString(page.NextMarker) == "" {
			return out, nil
		}
		in.Marker = page.NextMarker
	}
}
