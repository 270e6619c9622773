package dynamo

import (
	"context"
	"slices"
	"southbound/shared/aws/attributevalue"
	"southbound/shared/deploy/state"
	"strings"
)

// environments reads and writes the state of whole environments: the head, the item of the agents,
// and the time until which the environment is quiet.
type environments struct {
	*reader
	waits func(ctx context.Context, env string) (bool, error) // Config.Waits
}

// allLogged reports whether all committed actions and parameters of an environment are in the log.
func (s *environments) allLogged(ctx context.Context, env string) (bool, error) {
	if s.log == nil {
		return true, nil
	}
	at, err := s.cursors(ctx, env)
	if err != nil {
		return false, err
	}
	recs, err := s.tabletRecords(ctx, env)
	if err != nil {
		return false, err
	}
	for _, rec := range recs {
		last, err := s.actedTo(rec)
		if err != nil || last > at[rec.key] {
			return false, err
		}
	}
	return true, nil
}

// Env implements state.State.
func (s *environments) Env(ctx context.Context, env string) (state.Env, error) {
	h, err := s.readHead(ctx, env)
	if err != nil {
		return state.Env{Name: env}, err
	}
	return h.env()
}

// Envs implements state.State.
func (s *environments) Envs(ctx context.Context) ([]string, error) {
	var out []string
	err := s.query(ctx, partition(headPart, headPrefix, true), func(i item) (bool, error) {
		out = append(out, strings.TrimPrefix(attributevalue.TextOf(i, attrSort), headPrefix))
		return true, nil
	})
	slices.Sort(out)
	return out, err
}

// Halt implements state.State.
func (s *environments) Halt(ctx context.Context, env string, halted bool) error {
	_, err := s.changeHead(ctx, env, func(h *head) error {
		h.halted = halted
		h.plan++
		return nil
	})
	return err
}

// Pause implements state.State.
func (s *environments) Pause(ctx context.Context, env string, paused bool, agents ...string) error {
	_, err := s.changeHead(ctx, env, func(h *head) error {
		for _, a := range agents {
			i, have := slices.BinarySearch(h.paused, a)
			switch {
			case paused && !have:
				h.paused = slices.Insert(h.paused, i, a)
			case !paused && have:
				h.paused = slices.Delete(h.paused, i, i+1)
			}
		}
		h.plan++
		return nil
	})
	return err
}
