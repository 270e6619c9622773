package logs

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/awserr"
	"southbound/shared/deploy/state"
)

// Ended implements dynamo.Log.
func (s *Store) Ended(
	ctx context.Context, env string, from, to time.Time,
) (map[string]bool, error) {
	out := map[string]bool{}
	return out, s.ended(ctx, timePart(env), from, to, out)
}

func (s *Store) ended(
	ctx context.Context, part string, from, to time.Time, out map[string]bool,
) error {
	sel := newSelection(state.ActionQuery{Since: from, Until: to}, time.Time{}, s.Now())
	w := &walk{s: s, sel: sel, from: from}
	for _, r := range w.ranges() {
		if err := s.query(ctx, w.query(part, r), func(h *header) error {
			if !sel.may(h) {
				return nil
			}
			w.found = state.ActionSet{}
			err := w.read(ctx, []*header{h})
			for id := range w.found {
				out[id] = true
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// query calls f for the items that in selects.
func (s *Store) query(ctx context.Context, in *dynamodb.QueryInput, f func(h *header) error) error {
	for {
		out, err := s.API.Query(ctx, in)
		if err != nil {
			return awserr.Fault("read log", err)
		}
		for _, i := range out.Items {
			if err := f(headerOf(i)); err != nil {
				return err
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			return nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// errEnough ends a listing.
var errEnough = errors.New("enough")

// Expire implements dynamo.Log. It removes objects that no item names. Object names begin with the
// day from which that is so. DynamoDB removes expired items automatically.
func (s *Store) Expire(ctx context.Context, env string) error {
	folder, today := objectFolder(env), s.Now().UTC().Format(dayFormat)
	const limit = 1000
	var names []string
	err := s.Objects.ListPrefix(ctx, folder, func(name string, _ time.Time) error {
		if day, _, _ := strings.Cut(strings.TrimPrefix(name, folder), "/"); day >= today {
			return errEnough
		}
		if names = append(names, name); len(names) < limit {
			return nil
		}
		some := names
		names = nil
		return s.Objects.Delete(ctx, some...)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if len(names) == 0 {
		return nil
	}
	return s.Objects.Delete(ctx, names...)
}
