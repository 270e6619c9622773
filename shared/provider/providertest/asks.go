package providertest

import (
	"errors"
	"fmt"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// question is a call that changes nothing.
type question struct {
	name string
	// ask makes the call, and says what is wrong with an answer that is no error. While the target
	// cannot be reached, cut is what it is asked with.
	ask func(cut *env) error
}

// hides is said of an answer that leaves out what a call has failed to find out.
func hides(format string, args ...any) error {
	return advise("return every error of the target: what a call that failed has not found may well "+
		"be there", "it returns no error, and "+format, args...)
}

// questions are the calls that tell what there is, of things that are as they are wanted; the first
// was made with a token.
func questions(e *env, all []provider.Resource, token string) []question {
	out := []question{{"Read", func(cut *env) error {
		obs, err := cut.read(all[0], false)
		return denies(e, all[0], obs, err)
	}}}
	if b, ok := provider.As[provider.BatchReader](e.handler); ok {
		out = append(out, question{"ReadBatch", func(cut *env) error {
			readings, err := readBatch(cut, b, all)
			for i := range readings {
				if err == nil {
					err = denies(e, all[i], readings[i].Observation, readings[i].Err)
				}
			}
			return err
		}})
	}
	if l, ok := provider.As[provider.Lister](e.handler); ok {
		out = append(out, question{"List", func(cut *env) error {
			found, err := listOnce(cut, l)
			for _, r := range all {
				if err == nil && e.Unlisted == "" && len(foundAs(e, found, r)) == 0 {
					return hides("lacks %s, as if it were not there", r.ID)
				}
			}
			return broken(err)
		}})
	}
	if f, ok := provider.As[provider.Finder](e.handler); ok {
		if known, err := findCreated(e, f, all[0], token); err == nil && known {
			out = append(out, question{"FindCreated", func(cut *env) error {
				if found, err := findCreated(cut, f, all[0], token); err != nil || found {
					return broken(err)
				}
				return hides("says that nothing was made: it would be made again")
			}})
		}
	}
	return out
}

// denies says what is wrong with an observation of what is as it is wanted.
func denies(e *env, r provider.Resource, obs provider.Observation, err error) error {
	if err != nil {
		return broken(err)
	}
	if change, _, err := e.decide(r, obs); err != nil || change != diff.NoChange {
		return either(err, hides("by what it says %s would be %s", r.ID, change))
	}
	return nil
}

// broken returns what is wrong with a handler by an error of one of its calls; that the call fails
// is right.
func broken(err error) error {
	var wrong *advice
	if errors.As(err, &wrong) {
		return err
	}
	return nil
}

// readBatch reads all at once.
func readBatch(
	e *env, b provider.BatchReader, all []provider.Resource,
) (out []provider.Reading, err error) {
	items := make([]provider.BatchRead, len(all))
	for i, r := range all {
		items[i] = provider.BatchRead{Context: e.context("ReadBatch", r, false),
			ReadRequest: provider.ReadRequest{Resource: r}}
	}
	err = e.labelled("ReadBatch", func() error {
		out = b.ReadBatch(e.ctx, items)
		return nil
	})
	return out[:min(len(out), len(all))], err
}

// answersWhileCut asks a handler what there is, and stops it before each of its steps.
func answersWhileCut(e *env) error {
	place, err := e.another()
	if err != nil {
		return err
	}
	all, err := allStates(place)
	if err != nil {
		return err
	}
	token := place.token()
	for i, r := range all {
		t := token
		if i > 0 {
			t = place.token()
		}
		if _, err := place.applyFrom(r, t, nil); err != nil {
			return err
		}
	}
	for _, q := range questions(place, all, token) {
		for n, more := 0, true; more && n < maxSteps; n++ {
			restore := place.Interrupt(n)
			wrong := q.ask(place)
			if more = restore(); more && wrong != nil {
				return fmt.Errorf("%s, stopped before step %d: %w", q.name, n+1, wrong)
			}
		}
	}
	return nil
}
