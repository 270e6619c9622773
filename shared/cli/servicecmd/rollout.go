package servicecmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/batch"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/cli/work"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/orders"
)

// rollouts moves the instances of a service to its current definition and model, in waves.
type rollouts struct {
	*output.Console
	*home.Location
	*home.Session
	orders *orderCommands
	waves  *batch.Waves
}

// rolloutFlags are the flags of service rollout.
type rolloutFlags struct {
	waves   batch.Flags
	back    bool
	message string
	timeout time.Duration
}

func (ro *rollouts) serviceRollout() *cobra.Command {
	var f rolloutFlags
	cmd := &cobra.Command{
		Use: "rollout NAME", Short: "Move instances to the current model",
		Long: "rollout moves the instances of a service to the definition and the model that " +
			"`southbound service export` stored last, and deploys the changes. States of " +
			"instances stay. Each instance is compiled before it is moved: if it does not " +
			"compile, or if its attributes do not fit, it stays as it is.\nWith --batch it " +
			"works in waves of instances. A failed wave or a closed gate ends the rollout with exit " +
			"code 3, and later waves do not start. Repeat the command to continue, also after an " +
			"interruption.\nWith --back it returns the instances of the last rollout to their " +
			"former definition and model.",
		Example: "  southbound service rollout site --batch 1,10%,100%\n" +
			"  southbound service rollout site --batch site/www.example,100% --gate type=exec::Run\n" +
			"  southbound service rollout site --back",
		Args: usage.ExactArgs(1, "the name of a service"),
	}
	cmd.RunE = ro.orders.views.ordered(ro.Open,
		func(ctx context.Context, o api.Orders, args []string) error {
			if err := f.waves.Checked(); err != nil {
				return err
			}
			if err := usage.NotNegative("service rollout", "timeout", f.timeout); err != nil {
				return err
			}
			r := &rolloutRun{rollouts: ro, Orders: o, service: args[0], flags: f}
			return r.run(ctx)
		})
	fl := cmd.Flags()
	fl.StringVar(&f.waves.Batch, "batch", "",
		"instances in waves, such as 1,10%,100% or site/www.example,100%; stops when a wave does not go well")
	fl.IntVar(&f.waves.Parallel, "max-parallel", 0, "maximum number of instances moved concurrently")
	f.waves.AddGate(fl)
	fl.BoolVar(&f.back, "back", false, "bring back the instances that the last rollout has moved")
	fl.StringVar(&f.message, "message", "", "why, for the events of the instances")
	fl.DurationVar(&f.timeout, "timeout", 0,
		"stop after this time with exit code 4")
	return cmd
}

// rolloutRun is one run of the command.
type rolloutRun struct {
	*rollouts
	api.Orders
	service string
	flags   rolloutFlags
	done    rolloutDone
	// resumed: an earlier run of the command was stopped between two waves.
	resumed bool
}

// rolloutDone is the last line of the JSON output of service rollout.
type rolloutDone struct {
	Service string `json:"service_entity"`
	Back    bool   `json:"back"`
	Moved   int    `json:"moved"`
	Failed  int    `json:"failed"` // that were not moved, or failed afterwards
	Left    int    `json:"left"`   // that would be moved and were not asked
	Leaving int    `json:"leaving"`
	Current int    `json:"current"` // that were not to be moved
	// Gate is the gate that ended the rollout; nil: none did.
	Gate *api.Gate `json:"gate,omitempty"`
}

// rolloutStep is the line of JSON output for each instance.
type rolloutStep struct {
	Wave    int    `json:"wave"`
	Result  string `json:"result"` // moved, failed
	Problem string `json:"problem,omitempty"`
	orders.RolloutInstance
}

func (r *rolloutRun) run(ctx context.Context) error {
	ctx, cancel := home.WithTimeout(ctx, r.flags.timeout)
	defer cancel()
	all, err := r.all(ctx)
	if err != nil {
		return err
	}
	r.done = rolloutDone{Service: r.service, Back: r.flags.back}
	work := r.work(all)
	r.done.Left, r.resumed = len(work), !r.flags.back && betweenWaves(all)
	for i := range all {
		switch {
		case all[i].Standing == orders.StandingLeaving:
			r.done.Leaving++
		case !slices.ContainsFunc(work, is(all[i].ID)):
			r.done.Current++
		}
	}
	waves, idle, err := r.flags.waves.Waves(batch.Workload{
		Agents: names(work), Known: names(all), Noun: "instance",
	})
	if err != nil {
		return err
	}
	for _, name := range idle {
		r.Say("%s has nothing to do", name)
	}
	if err := r.waves.Gated(ctx, r.flags.waves.Gate, nil, waves); err != nil {
		return err
	}
	if err := r.eachWave(ctx, work, waves); err != nil {
		return err
	}
	r.show(len(all))
	return nil
}

// all returns all instances of the service.
func (r *rolloutRun) all(ctx context.Context) ([]orders.RolloutInstance, error) {
	var out []orders.RolloutInstance
	after := ""
	for {
		page, err := r.Rollouts(ctx, r.Env, r.service, after)
		if err != nil {
			return nil, err
		}
		out = append(out, page.Items...)
		if after = page.Next; after == "" {
			return out, nil
		}
	}
}

// work returns the instances to move: the unfinished instances of an earlier run of the command
// come first.
func (r *rolloutRun) work(all []orders.RolloutInstance) []orders.RolloutInstance {
	if r.flags.back {
		return toBringBack(all)
	}
	var out []orders.RolloutInstance
	for _, standing := range []orders.Standing{
		orders.StandingMoving, orders.StandingFailed, orders.StandingBehind,
	} {
		for i := range all {
			if all[i].Standing == standing {
				out = append(out, all[i])
			}
		}
	}
	return out
}

// betweenWaves reports whether the last rollout was to the current model, and all moved instances
// are healthy. The other instances then wait for the gate. If one has failed, moving it again may
// open the gate.
func betweenWaves(all []orders.RolloutInstance) bool {
	last := lastMoved(all)
	return last != nil && last.Moved == last.Target && !last.Back &&
		!slices.ContainsFunc(all, func(i orders.RolloutInstance) bool {
			return i.Standing == orders.StandingMoving || i.Standing == orders.StandingFailed
		})
}

// toBringBack returns the instances that the last rollout has moved, except those that are already
// back and healthy.
func toBringBack(all []orders.RolloutInstance) []orders.RolloutInstance {
	last := lastMoved(all)
	var out []orders.RolloutInstance
	for i := range all {
		one := &all[i]
		unfinished := one.Standing == orders.StandingMoving || one.Standing == orders.StandingFailed
		if last != nil && one.Moved == last.Moved && one.Standing != orders.StandingLeaving &&
			(!one.Back || unfinished) {
			out = append(out, *one)
		}
	}
	return out
}

// lastMoved returns the instance that a rollout has moved last; nil: no rollout has moved an
// instance.
func lastMoved(all []orders.RolloutInstance) *orders.RolloutInstance {
	var last *orders.RolloutInstance
	for i := range all {
		one := &all[i]
		if one.MovedAt != nil && (last == nil || one.MovedAt.After(*last.MovedAt)) {
			last = one
		}
	}
	return last
}

// EachWave moves the instances of each wave. It stops after a wave that fails or a closed gate.
func (r *rolloutRun) eachWave(
	ctx context.Context, work []orders.RolloutInstance, waves [][]string,
) error {
	of, err := r.waves.Waiter.Mark(ctx)
	if err != nil {
		return err
	}
	if r.resumed {
		if open, err := r.passed(ctx, of, 0, names(work)); !open {
			return err
		}
	}
	for i, wave := range waves {
		if len(waves) > 1 || r.flags.waves.Batch != "" {
			r.Say("wave %d of %d: %s", i+1, len(waves), output.Named(wave))
		}
		var part []orders.RolloutInstance
		for _, name := range wave {
			part = append(part, work[slices.Index(names(work), name)])
		}
		well, err := r.wave(ctx, i+1, part)
		if err != nil {
			return err
		}
		rest := slices.Concat(waves[i+1:]...)
		if !well {
			r.Code = output.Unhealthy
			r.stopped(rest)
			return nil
		}
		if open, err := r.passed(ctx, of, i+1, rest); !open {
			return err
		}
	}
	return nil
}

// passed checks the gate after a wave, or with wave 0 before the first one, and reports whether the
// rollout may continue.
func (r *rolloutRun) passed(
	ctx context.Context, of work.Request, wave int, rest []string,
) (bool, error) {
	if len(r.flags.waves.Gate) == 0 || len(rest) == 0 {
		return true, nil
	}
	done, err := r.waves.PassGate(ctx, r.flags.waves.Gate, of, work.Result{})
	if err != nil || done.Gate == nil {
		return err == nil, err
	}
	done.Gate.AfterWave = wave
	r.done.Gate, r.Code = done.Gate, output.Unhealthy
	batch.SayClosed(r.Console, done.Gate, output.Named(rest))
	r.hint()
	return false, nil
}

// wave moves some instances and waits for them; false: the move of one was rejected, or has failed.
func (r *rolloutRun) wave(
	ctx context.Context, number int, part []orders.RolloutInstance,
) (bool, error) {
	var asked []orders.Instance
	well := true
	for i := range part {
		one, err := r.ask(ctx, &part[i])
		if problems, _ := diag.Of(err); len(problems) > 0 || isRefusal(err) {
			well = false
			r.step(number, &part[i], firstOf(err))
			break
		}
		if err != nil {
			return false, err
		}
		asked = append(asked, one)
	}
	settled, err := r.orders.waitForTransfers(ctx, r.Orders, 0, asked)
	if err != nil {
		return false, err
	}
	now, err := r.all(ctx)
	if err != nil {
		return false, err
	}
	for i := range settled {
		at := slices.IndexFunc(now, is(settled[i].ID))
		if at < 0 {
			r.done.Left-- // it was deleted
			continue
		}
		why := r.wrong(&settled[i], &now[at])
		r.step(number, &now[at], why)
		well = well && why == ""
	}
	return well, nil
}

// isRefusal reports whether an error concerns the instance that was to be moved.
func isRefusal(err error) bool {
	return fault.Is(err, fault.Refused) || fault.Is(err, fault.Conflict) ||
		fault.Is(err, fault.Invalid)
}

// firstOf returns the first line of an error.
func firstOf(err error) string {
	if problems, _ := diag.Of(err); len(problems) > 0 {
		return problems[0].String()
	}
	return err.Error()
}

// ask requests a move, unless an earlier run has requested it.
func (r *rolloutRun) ask(
	ctx context.Context, one *orders.RolloutInstance,
) (orders.Instance, error) {
	ref := orders.Ref{Service: one.Service, ID: one.ID}
	if one.Standing == orders.StandingMoving && one.Back == r.flags.back {
		return r.Instance(ctx, r.Env, ref)
	}
	return r.Roll(ctx, r.Env, orders.Wish{Ref: ref, Message: r.flags.message}, r.flags.back)
}

// wrong returns the problem of an instance that was to be moved; "": it is moved, and healthy.
func (r *rolloutRun) wrong(i *orders.Instance, now *orders.RolloutInstance) string {
	problem := i.Problem()
	if problem == "" {
		problem = "it came to the state " + i.State
	}
	moved := now.Standing == orders.StandingCurrent
	if r.flags.back {
		moved = now.Back || now.Moved == "" || now.Standing != orders.StandingMoving &&
			now.Model != now.Moved
	}
	if moved && !i.Failed {
		return ""
	}
	return problem
}

// step shows the result for an instance.
func (r *rolloutRun) step(wave int, one *orders.RolloutInstance, problem string) {
	r.done.Left--
	result := "moved"
	if problem == "" {
		r.done.Moved++
	} else {
		r.done.Failed++
		result = "failed"
	}
	if r.JSON {
		r.Line(rolloutStep{wave, result, problem, *one})
		return
	}
	if problem != "" {
		r.Complain("%s: %s", nameIn(one), output.OneLine(problem))
		return
	}
	r.Printf("%s  %s  model %.12s\n", nameIn(one), one.State, one.Model)
}

// stopped reports that a rollout has stopped before all waves were done.
func (r *rolloutRun) stopped(rest []string) {
	if len(rest) > 0 {
		r.Say("the wave failed; left as they are: %s", output.Named(rest))
	}
	r.hint()
}

// hint shows how to continue after a rollout was stopped.
func (r *rolloutRun) hint() {
	if r.flags.back {
		r.Say("repeat the command to continue")
		return
	}
	r.Say("repeat the command to continue; `southbound service rollout %s --back` reverts instances that "+
		"moved", r.service)
}

// show summarizes the rollout.
func (r *rolloutRun) show(all int) {
	if r.JSON {
		r.Line(r.done)
		return
	}
	d := &r.done
	switch {
	case all == 0:
		r.Say("there are no instances of %s", r.service)
		return
	case d.Moved+d.Failed+d.Left == 0 && d.Back:
		r.Say("nothing to bring back; the last rollout of %s was brought back, or there was none",
			r.service)
		return
	case d.Moved+d.Failed+d.Left == 0:
		r.Say("nothing to do; %s of %s, and none is behind", output.Plural(all, "instance"), r.service)
		return
	}
	var parts []string
	done := "moved"
	if d.Back {
		done = "brought back"
	}
	for _, p := range []struct {
		n    int
		text string
	}{{d.Moved, done}, {d.Failed, "failed"}, {d.Left, "left as they are"}} {
		if p.n > 0 {
			parts = append(parts, output.Plural(p.n, "instance")+" "+p.text)
		}
	}
	r.Printf("%s\n", strings.Join(parts, ", "))
}

// names returns the names of instances for people.
func names(all []orders.RolloutInstance) []string {
	out := make([]string, len(all))
	for i := range all {
		out[i] = nameIn(&all[i])
	}
	return out
}

func nameIn(i *orders.RolloutInstance) string {
	if i.Identity != nil {
		return i.Service + "/" + *i.Identity
	}
	return i.ID
}

// is reports whether an instance has an id.
func is(id string) func(orders.RolloutInstance) bool {
	return func(i orders.RolloutInstance) bool { return i.ID == id }
}
