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
	refreshed     = "queues" // the id of the record of which attributes queues have
	refreshedKept = 30 * 24 * time.Hour
)

// Refresh gives the queues of all agents the attributes that this version of the stack makes them
// with. It asks once a process, since an update of the stack begins new ones, and changes queues if
// the record of an earlier one says that they have others, or has expired. A process that began
// before the update asks no more, so that it does not take back what another does. It returns how
// many queues it has changed.
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
		return 0, fault.Wrap(fault.Unknown, "read what attributes queues have", err)
	}
	record := state.Job{ID: refreshed}
	if i := slices.IndexFunc(records, func(j state.Job) bool { return j.ID == refreshed }); i >= 0 {
		record = records[i]
	}
	// The queues first, then the record: a crash in between leaves no record of it, and the next
	// process sets the attributes again, which changes nothing where they are set.
	if string(record.Body) != want {
		if changed, err = p.adaptAll(ctx); err != nil {
			return changed, err // the next call begins anew
		}
		record.Body, record.Expires = []byte(want), now.Add(refreshedKept)
		_, err = p.State.PutJob(ctx, "", record, now)
		if err != nil && !fault.Is(err, fault.Conflict) { // or another does the same
			return changed, fault.Wrap(fault.Unknown, "record what attributes queues have", err)
		}
	}
	p.mu.Lock()
	p.fresh = true
	p.mu.Unlock()
	return changed, nil
}

// adaptAll sets the attributes of the queues of all agents that are described or have ever worked.
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

// adapt sets the attributes of the queues of agents, several side by side.
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
	_ = group.Wait() // errs has what each failed for
	for _, one := range is {
		if one {
			changed++
		}
	}
	return changed, errors.Join(errs...)
}

// adaptOne sets the attributes of a queue; false: there is none.
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
