package batch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/work"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// PassGate checks the resources of a gate after a wave, and waits for the checks. If the gate is
// closed, PassGate records the reason in its result; nil: the gate is open. A resource that is
// deployed and not scheduled was checked after the request, and so after the wave.
func (v *Waves) PassGate(
	ctx context.Context, terms []string, of work.Request, before work.Result,
) (work.Result, error) {
	if _, err := v.Home.Schedule(ctx, v.Env, api.Work{Filter: terms, Repair: true}); err != nil {
		return before, err
	}
	done, err := v.waitMore(ctx, of, before)
	if err != nil {
		return done, err
	}
	closed, err := v.closedBy(ctx, terms, done.Progress.Scheduled > 0)
	done.Gate = closed
	return done, err
}

// closedBy returns why a gate is closed after its resources were checked; nil: the gate is open.
// left reports that resources are still scheduled; one of them may be a check of the gate.
func (v *Waves) closedBy(ctx context.Context, terms []string, left bool) (*api.Gate, error) {
	closed, n := &api.Gate{Resources: []api.GateResource{}}, 0
	var waits []api.GateResource
	err := v.Home.Resources(ctx, v.Env, terms, func(r *api.Resource) error {
		if r.Status == state.StatusOrphaned {
			return nil
		}
		n++
		g := api.GateResource{ID: r.ID, Status: r.Status, Reason: r.Reason}
		if r.Status != state.StatusDeployed {
			closed.Resources = append(closed.Resources, g)
		} else if left {
			waits = append(waits, g)
		}
		return nil
	})
	for i := 0; i < len(waits) && err == nil; i++ {
		var d api.Detail
		if d, err = v.Home.Resource(ctx, v.Env, waits[i].ID); err == nil && d.Waits != "" {
			waits[i].Waits = d.Waits
			closed.Resources = append(closed.Resources, waits[i])
		}
	}
	if err != nil || n > 0 && len(closed.Resources) == 0 {
		return nil, err
	}
	return closed, nil
}

// SayClosed names the resources that keep a gate closed, and the agents or instances that stay
// unchanged.
func SayClosed(c *output.Console, g *api.Gate, rest string) {
	why := ", as it selects nothing that is in force"
	if n := len(g.Resources); n > 0 {
		why = " by " + output.Plural(n, "resource")
	}
	at := fmt.Sprintf("after wave %d", g.AfterWave)
	if g.AfterWave == 0 {
		at = "before wave 1"
	}
	c.Say("gate %s is closed%s; left as they are: %s", at, why, rest)
	for i, r := range g.Resources {
		if i == output.MaxNamed {
			c.Say("  and %d more", len(g.Resources)-i)
			return
		}
		if r.Waits != "" {
			c.Say("  %s is %s, and its check waits: %s", output.OneLine(string(r.ID)), r.Status,
				output.OneLine(r.Waits))
			continue
		}
		c.Say("  %s is %s%s", output.OneLine(string(r.ID)), r.Status, output.Because(output.OneLine(r.Reason)))
	}
}

// Gated rejects a gate that selects nothing to check after the first wave. Such a gate selects no
// released resource, and no resource of the input that the first wave deploys.
func (v *Waves) Gated(
	ctx context.Context, terms []string, input []resource.Resource, waves [][]string,
) error {
	if len(terms) == 0 {
		return nil
	}
	found := false
	err := v.Home.Resources(ctx, v.Env, terms, func(r *api.Resource) error {
		if r.Status == state.StatusOrphaned {
			return nil
		}
		found = true
		return home.ErrEnough
	})
	if found {
		return nil
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	filter, err := state.ParseFilter(terms)
	if err != nil {
		return err
	}
	var later *resource.Resource
	for i := range input {
		r := &input[i]
		if !filter.Picks(r.ID, r.Set) {
			continue
		}
		if len(waves) < 2 || slices.Contains(waves[0], r.Agent) {
			return nil
		}
		later = r
	}
	if later != nil {
		return fault.New(fault.Invalid, "", "--gate selects only new resources outside the first "+
			"wave: %s", later.ID).WithHint("begin --batch with the agent %s, or deploy it first",
			later.Agent)
	}
	return fault.New(fault.Invalid, "", "--gate selects nothing: %s", strings.Join(terms, " ")).
		WithHint("`southbound resources` lists all resources")
}
