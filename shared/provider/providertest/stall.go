package providertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// stallGrace is how long a call may go on after its context has ended while its target does not
// answer. It is shorter than what connections wait for an answer, or that would end the call.
const stallGrace = 15 * time.Second

// stalled lets the target answer none of the calls of a method from some step on, and ends the
// context of the method then.
func stalled(e *env) error {
	if e.Stall == nil {
		return lacks("Stall")
	}
	r, err := e.want(e.Attributes)
	if err != nil {
		return err
	}
	token := e.token()
	if _, err = e.applyFrom(r, token, nil); err != nil {
		return err
	}
	waited, err := stalledCalls(e, r, token)
	if err != nil {
		return err
	}
	if !e.Present {
		for _, t := range stalledChanges(e) {
			also, err := stalledChange(e, t)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			waited = waited || also
		}
	}
	if !waited {
		return &caseError{errors.New("Stall of the case lets nothing wait: the calls of the " +
			"handler do not go by way of it")}
	}
	return nil
}

// stalledCalls lets a target answer none of the calls of each method that changes nothing, from
// each of them on. That they fail then is right.
func stalledCalls(e *env, r provider.Resource, token string) (waited bool, err error) {
	all := questions(e, []provider.Resource{r}, token)
	if f, ok := provider.As[provider.FactReader](e.handler); ok {
		all = append(all, question{"Facts", func(cut *env) error {
			return broken(askFacts(cut, f, r))
		}})
	}
	for _, q := range all {
		for n, more := 0, true; more && n < maxSteps; n++ {
			var wrong error
			more, err = withoutAnswer(e, n, q.name, func(cut *env) { wrong = q.ask(cut) })
			if err == nil && more && wrong != nil {
				err = fmt.Errorf("%s, whose request %d has no answer: %w", q.name, n+1, wrong)
			}
			if err != nil {
				return waited, err
			}
			waited = waited || more
		}
	}
	return waited, nil
}

// stalledChanges are the changes of which each call is tried.
func stalledChanges(e *env) []transition {
	gone := func(*Case) []map[string]any { return nil }
	made := func(c *Case) []map[string]any { return []map[string]any{c.Attributes} }
	var out []transition
	if !e.Lasting {
		out = append(out, transition{"create", gone, made})
	}
	for i := range e.Updates {
		out = append(out, transition{fmt.Sprintf("update %d", i+1), made,
			func(c *Case) []map[string]any { return []map[string]any{c.Attributes, c.Updates[i]} }})
	}
	if !e.Lasting {
		out = append(out, transition{"purge", made, gone})
	}
	return out
}

// stalledChange lets a target answer none of the calls of one change from each of them on. The next
// run has to make good what was cut off.
func stalledChange(e *env, t transition) (waited bool, err error) {
	before, err := stateOf(e, t.from(&e.Case))
	if err != nil {
		return false, err
	}
	after, err := stateOf(e, t.to(&e.Case))
	if err != nil {
		return false, err
	}
	for n, more := 0, true; more && n < maxSteps; n++ {
		if _, err := e.apply(before); err != nil {
			return waited, err
		}
		obs, err := e.read(after, false)
		if err != nil {
			return waited, err
		}
		change, diffs, err := e.decide(after, obs)
		if err != nil || change == diff.NoChange || replaces(e, diffs) {
			return waited, err
		}
		todo := provider.BatchChange{Change: change, Resource: after, Observed: obs,
			Changes: diffs, Token: e.tokenOf(after)}
		var out provider.Result
		var said error
		more, err = withoutAnswer(e, n, nameOfCall(change), func(cut *env) {
			out, said = cut.act(todo, nil)
		})
		if err == nil && more && (said != nil || out.Again == nil) {
			err = checkHonest(e, after, said, "after it was cut off")
		}
		if err == nil && more && change == diff.Created {
			err = deniesMade(e, n, said)
		}
		waited = waited || more
		if err != nil {
			return waited, err
		}
		if _, err := e.apply(after); err != nil {
			return waited, fmt.Errorf("after it was cut off: %w", err)
		}
	}
	return waited, nil
}

// deniesMade says what is wrong with an error of a create whose request n was accepted and has no
// answer.
func deniesMade(e *env, n int, said error) error {
	if !e.typ.Assigned || !errors.Is(said, provider.ErrNothingMade) {
		return nil
	}
	if making, err := makingRequest(e); err != nil || n < making {
		return err
	}
	return advise("return ErrNothingMade only where the target was not reached, or has refused: "+
		"after any other error FindCreated is asked",
		"the target has accepted its request %d, which makes the thing, and not answered; Create "+
			"says that nothing was made, so it would be made once more", n+1)
}

// makingRequest returns which request of a create, from 0, makes the thing; more than there are
// where that cannot be told.
func makingRequest(e *env) (int, error) {
	if e.Interrupt == nil || e.World == nil {
		return maxSteps, nil
	}
	for n := 1; n < maxSteps; n++ {
		place, err := e.another()
		if err != nil {
			return 0, err
		}
		r, err := place.want(place.Attributes)
		if err != nil {
			return 0, err
		}
		before, err := place.world()
		if err != nil {
			return 0, err
		}
		restore := place.Interrupt(n)
		_, _ = place.act(provider.BatchChange{Change: diff.Created, Resource: r,
			Token: place.tokenOf(r)}, nil) // it is stopped
		more := restore()
		if after, err := place.world(); err != nil || after != before {
			return n - 1, err
		}
		if !more {
			break
		}
	}
	return maxSteps, nil
}

// withoutAnswer makes a call while the target answers nothing from step n on, and ends its context
// once it waits there. It returns whether it did, and an error when it went on.
func withoutAnswer(e *env, n int, method string, call func(cut *env)) (waited bool, err error) {
	cut := *e
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	cut.ctx = ctx
	began, restore := e.Stall(n)
	defer restore()
	patience := cmp.Or(e.subject.grace, stallGrace)
	over, seen := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(seen)
		select {
		case <-over:
			return
		case <-began:
			waited = true
			cancel()
		}
		late := time.NewTimer(patience)
		defer late.Stop()
		select {
		case <-over:
		case <-late.C:
			seen <- deaf(method, n, patience)
			restore() // or it would never end
		}
	}()
	func() {
		defer close(over)
		call(&cut)
	}()
	err = <-seen
	e.told = cut.told
	return waited, err
}

// deaf is said of a call that does not end with its context.
func deaf(method string, n int, after time.Duration) error {
	return advise("hand the context of the call on to every request to the target: api.Call does, "+
		"and for others there are http.NewRequestWithContext, exec.CommandContext, "+
		"(*sql.DB).QueryContext and (*net.Dialer).DialContext",
		"%s is deaf to its context: the target did not answer its request %d, the context of the "+
			"call was ended then, and %s later the call still waited", method, n+1, after)
}
