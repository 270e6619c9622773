package provision

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"golang.org/x/sync/errgroup"

	"southbound/shared/aws/awserr"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

const (
	refreshed     = "queues" // id of the record of the attributes that queues have
	refreshedKept = 30 * 24 * time.Hour
)

// Refresh sets the attributes of the queues of all agents to those of this version of the stack. It
// compares them once a process, because an update of the stack starts new processes. It changes
// queues if the record of an earlier process has other attributes, or has expired. A process that
// started before the update does not compare again, so it does not revert the changes of a newer
// process. Refresh returns the number of queues that it set.
func (p *Provisioner) Refresh(ctx context.Context) (changed int, err error) {
	p.mu.Lock()
	fresh := p.fresh
	p.mu.Unlock()
	if fresh {
		return 0, nil
	}
	text, _ := json.Marshal(p.attributes()) // it never fails; members are in order
	sum := sha256.Sum256(text)
	now, want := p.Clock.Now(), hex.EncodeToString(sum[:])
	records, err := p.State.Jobs(ctx, "", refreshed, now)
	if err != nil {
		return 0, fault.Wrap(fault.Unknown, "read the recorded attributes of queues", err)
	}
	record := state.Job{ID: refreshed}
	if i := slices.IndexFunc(records, func(j state.Job) bool { return j.ID == refreshed }); i >= 0 {
		record = records[i]
	}
	// The queues are set before the record is written. If the process crashes in between, the next
	// process sets the attributes again, which has no effect on queues that already have them.
	if string(record.Body) != want {
		if changed, err = p.adaptAll(ctx); err != nil {
			return changed, err // the next call starts from the beginning
		}
		record.Body, record.Expires = []byte(want), now.Add(refreshedKept)
		_, err = p.State.PutJob(ctx, "", record, now)
		if err != nil && !fault.Is(err, fault.Conflict) { // Conflict: another process does the same
			return changed, fault.Wrap(fault.Unknown, "record the attributes of queues", err)
		}
	}
	p.mu.Lock()
	p.fresh = true
	p.mu.Unlock()
	return changed, nil
}

// adaptAll sets the attributes of the queues of all agents that are described or have ever had a
// lease.
func (p *Provisioner) adaptAll(ctx context.Context) (changed int, err error) {
	envs, err := p.State.Envs(ctx)
	if err != nil {
		return 0, fault.Wrap(fault.Unknown, "read environments", err)
	}
	for _, env := range envs {
		lives, _, err := p.lives(ctx, env)
		if err != nil {
			return changed, err
		}
		agents, err := p.State.Agents(ctx, env)
		if err != nil {
			return changed, fault.Wrap(fault.Unknown, "read agents", err)
		}
		names := map[string]bool{}
		for name := range lives {
			names[name] = true
		}
		for name := range agents {
			names[name] = true
		}
		n, err := p.adapt(ctx, env, slices.Sorted(maps.Keys(names)))
		changed += n
		if err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// adapt sets the attributes of the queues of agents, several concurrently.
func (p *Provisioner) adapt(
	ctx context.Context, env string, agents []string,
) (changed int, err error) {
	errs, is := make([]error, len(agents)), make([]bool, len(agents))
	var group errgroup.Group
	group.SetLimit(sideBySide)
	for i, agent := range agents {
		group.Go(func() error {
			is[i], errs[i] = p.adaptOne(ctx, env, agent)
			return nil
		})
	}
	_ = group.Wait() // errs holds the errors
	for _, one := range is {
		if one {
			changed++
		}
	}
	return changed, errors.Join(errs...)
}

// adaptOne sets the attributes of a queue. It returns false if the queue does not exist.
func (p *Provisioner) adaptOne(ctx context.Context, env, agent string) (bool, error) {
	url, err := p.queues.Lookup(ctx, env, agent)
	if err == nil {
		_, err = p.SQS.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: &url,
			Attributes: p.attributes()})
	}
	if awserr.NoQueue(err) || fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, awserr.Fault("change the queue of agent "+agent, err)
}
