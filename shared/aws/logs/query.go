package logs

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/awserr"
	"southbound/shared/deploy"
	"southbound/shared/fault"
)

// Actions implements dynamo.Log.
func (s *Store) Actions(ctx context.Context, env string, q deploy.ActionQuery, since time.Time) ([]deploy.Action, error) {
	sel := newSelection(q, since, s.Now())
	var parts []string
	if q.Resource != "" {
		parts = []string{resourcePart(env, q.Resource), groupPart(env, groupOf(q.Resource))}
	} else {
		for n := range timeParts {
			parts = append(parts, timePart(env, n))
		}
	}
	lists := make([]map[string]deploy.Action, len(parts))
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() {
			w := &walk{s: s, sel: sel, part: part, found: map[string]deploy.Action{}}
			errs[i] = w.run(ctx)
			lists[i] = w.found
		})
	}
	wg.Wait()
	all := map[string]deploy.Action{}
	for i := range lists {
		if errs[i] != nil {
			return nil, errs[i]
		}
		for _, a := range lists[i] {
			keep(all, &a)
		}
	}
	return newest(all, q.Limit), nil
}

// keep keeps of two records of one action the one that knows more.
func keep(found map[string]deploy.Action, a *deploy.Action) {
	if have, ok := found[a.ID]; !ok || !have.Stale {
		found[a.ID] = *a
	}
}

func newest(found map[string]deploy.Action, limit int) []deploy.Action {
	out := make([]deploy.Action, 0, len(found))
	for _, a := range found {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b deploy.Action) int { return strings.Compare(b.ID, a.ID) })
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	return out
}

// walk goes through the items of one partition: the newest first, or, for actions by their ids, from the least of these on.
type walk struct {
	s     *Store
	sel   *selection
	part  string
	from  time.Time // when not zero, nothing is looked for that ended before
	found map[string]deploy.Action
}

func (w *walk) run(ctx context.Context) error {
	at := 1
	for _, r := range w.ranges() {
		more, err := w.items(ctx, w.query(r), &at)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// items looks at the items that in asks for, a few at once: more and more, because most searches end soon. It reports whether the search goes on.
func (w *walk) items(ctx context.Context, in *dynamodb.QueryInput, at *int) (bool, error) {
	for {
		out, err := w.s.API.Query(ctx, in)
		if err != nil {
			return false, awserr.Fault("read log", err)
		}
		var some []*header
		over := false
		for _, i := range out.Items {
			h := headerOf(i)
			if over = w.over(h); over {
				break
			}
			if w.sel.may(h) {
				some = append(some, h)
			}
		}
		for len(some) > 0 {
			if w.enough(some[0].greatest()) {
				return false, nil
			}
			n := min(*at, len(some))
			if err := w.read(ctx, some[:n]); err != nil {
				return false, err
			}
			some, *at = some[n:], min(2**at, 8)
		}
		switch {
		case over || len(out.LastEvaluatedKey) > 0 && w.enough(textOf(out.LastEvaluatedKey, "s")):
			return false, nil
		case len(out.LastEvaluatedKey) == 0:
			return true, nil
		}
		in.ExclusiveStartKey, in.Limit = out.LastEvaluatedKey, nil
	}
}

// All sort keys are between least and greatest; ids without a time are at oddID or behind it.
const (
	leastKey    = " "
	oddID       = "0a"
	greatestKey = "\U0010FFFF"
)

// ranges returns between which keys the items are that can hold what is looked for, in the order in which they are looked at.
func (w *walk) ranges() [][2]string {
	if len(w.sel.IDs) > 0 {
		return [][2]string{{w.sel.ids[0], greatestKey}}
	}
	begin, end := leastKey, w.end()
	if !w.from.IsZero() {
		begin = idAt(w.from.Add(-longest))
	}
	if end == "" {
		return [][2]string{{begin, greatestKey}}
	}
	return [][2]string{{oddID, greatestKey}, {begin, end}}
}

func (w *walk) query(keys [2]string) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{TableName: &w.s.Table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("k = :k AND s BETWEEN :a AND :z"),
		ExpressionAttributeValues: item{":k": text(w.part), ":a": text(keys[0]), ":z": text(keys[1])}, ScanIndexForward: aws.Bool(len(w.sel.IDs) > 0)}
	if w.sel.Limit > 0 {
		in.Limit = aws.Int32(int32(min(w.sel.Limit, 25))) //nolint:gosec // small
	}
	return in
}

// end returns what items that can match sort before; "" when that is not known.
func (w *walk) end() string {
	end := ""
	if at, ok := idTime(w.sel.Before); ok {
		end = idAt(at.Add(span + 2*time.Millisecond))
	}
	if !w.sel.Until.IsZero() { // an id is made before its action ends
		if until := idAt(w.sel.Until.Add(span + 2*time.Millisecond)); end == "" || until < end {
			end = until
		}
	}
	return end
}

// longest is how long before its end the id of an action may have been made.
const longest = 24 * time.Hour

// over reports whether nothing that matches comes behind an item.
func (w *walk) over(h *header) bool {
	at, timed := idTime(h.greatest())
	if len(w.sel.IDs) > 0 {
		last, ok := idTime(w.sel.ids[1])
		return ok && timed && at.After(last.Add(span+time.Millisecond))
	}
	return w.sel.After != "" && h.greatest() <= w.sel.After ||
		timed && !w.sel.since.IsZero() && at.Before(w.sel.since.Add(-longest))
}

// enough reports whether as many were found as are asked for, all newer than what is to come.
func (w *walk) enough(greatest string) bool {
	if w.sel.Limit <= 0 || len(w.sel.IDs) > 0 {
		return false
	}
	n := 0
	for id := range w.found {
		if id > greatest {
			n++
		}
	}
	return n >= w.sel.Limit
}

// read takes the actions that match from what items stand for.
func (w *walk) read(ctx context.Context, some []*header) error {
	packs := make([][]byte, len(some))
	errs := make([]error, len(some))
	var wg sync.WaitGroup
	for i, h := range some {
		wg.Go(func() { packs[i], errs[i] = w.s.fetch(ctx, h) })
	}
	wg.Wait()
	for i := range some {
		if fault.Is(errs[i], fault.NotFound) { // it stays for a day after its items have expired
			return damaged("object %s is not there", some[i].object)
		}
		if errs[i] != nil {
			return errs[i]
		}
		if err := unpack(w.s, packs[i], func(a *deploy.Action) {
			if w.sel.selects(a) {
				keep(w.found, a)
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// fetch returns the compressed actions that an item stands for.
func (s *Store) fetch(ctx context.Context, h *header) ([]byte, error) {
	switch {
	case h.object == "":
		return h.data, nil
	case h.size == 0:
		return s.Objects.Get(ctx, h.object)
	}
	return s.Objects.GetPart(ctx, h.object, h.offset, h.size)
}
