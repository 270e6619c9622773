package logs

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/aws/awserr"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/platform"
)

// Actions implements dynamo.Log.
func (s *Store) Actions(
	ctx context.Context, env string, q state.ActionQuery, since time.Time,
) ([]state.Action, error) {
	w := &walk{s: s, sel: newSelection(q, since, s.Now()), found: state.ActionSet{}}
	if q.Resource != "" {
		w.parts = []string{resourcePart(env, q.Resource), groupPart(env, groupOf(q.Resource))}
	} else {
		w.parts = []string{timePart(env)}
	}
	err := w.run(ctx)
	return w.found.Newest(q.Limit), err
}

// walk reads the items of partitions as one sequence: newest first or, for a query by ids, from the
// smallest id upwards.
type walk struct {
	s     *Store
	sel   *selection
	parts []string
	from  time.Time // if not zero, the earliest end of matching actions
	found state.ActionSet
}

func (w *walk) run(ctx context.Context) error {
	streams := make([]*stream, len(w.parts))
	var fills errgroup.Group
	for i, part := range w.parts {
		streams[i] = &stream{w: w, part: part, ranges: w.ranges()}
		fills.Go(func() error { return streams[i].fill(ctx) })
	}
	if err := fills.Wait(); err != nil {
		return err
	}
	// reads some items at a time, and more each time, because most searches end soon
	for at := 1; ; at = min(2*at, 8) {
		var some []*header
		for len(some) < at {
			first := w.first(streams)
			if first == nil || w.enough(first.headers[0].greatest()) {
				break
			}
			some = append(some, first.headers[0])
			first.headers = first.headers[1:]
			if err := first.fill(ctx); err != nil {
				return err
			}
		}
		if len(some) == 0 {
			return nil
		}
		if err := w.read(ctx, some); err != nil {
			return err
		}
	}
}

// first returns the stream with the next item, or nil if there is none.
func (w *walk) first(streams []*stream) *stream {
	var out *stream
	for _, s := range streams {
		if len(s.headers) == 0 {
			continue
		}
		if out == nil || (s.headers[0].sort > out.headers[0].sort) != (len(w.sel.IDs) > 0) {
			out = s
		}
	}
	return out
}

// stream holds the items of one partition that may match, in their order.
type stream struct {
	w       *walk
	part    string
	ranges  [][2]string          // ranges that are not read yet
	in      *dynamodb.QueryInput // next query of the current range; nil: the range is done
	headers []*header            // read but not yet used
}

// fill reads until there is an item, or until the stream ends.
func (s *stream) fill(ctx context.Context) error {
	for len(s.headers) == 0 && (s.in != nil || len(s.ranges) > 0) {
		if s.in == nil {
			s.in = s.w.query(s.part, s.ranges[0])
			s.ranges = s.ranges[1:]
		}
		out, err := s.w.s.API.Query(ctx, s.in)
		if err != nil {
			return awserr.Fault("read log", err)
		}
		if s.in.ExclusiveStartKey, s.in.Limit = out.LastEvaluatedKey,
			nil; len(out.LastEvaluatedKey) == 0 {
			s.in = nil
		}
		for _, i := range out.Items {
			h := headerOf(i)
			if s.w.over(h) {
				s.in, s.ranges = nil, nil
				break
			}
			if s.w.sel.may(h) {
				s.headers = append(s.headers, h)
			}
		}
	}
	return nil
}

// All sort keys are between minKey and greatestKey. Ids without a time are at oddID or after it.
const (
	minKey      = " "
	oddID       = "0a"
	greatestKey = "\U0010FFFF"
)

// ranges returns the key ranges of items that may cover matching actions, in the order of reading.
func (w *walk) ranges() [][2]string {
	if len(w.sel.IDs) > 0 {
		return [][2]string{{w.sel.ids[0], greatestKey}}
	}
	begin, end := minKey, w.end()
	if !w.from.IsZero() {
		begin = platform.IDAt(w.from.Add(-longest))
	}
	begin = max(begin, w.sel.After) // an item is sorted by its largest id
	if end == "" {
		return [][2]string{{begin, greatestKey}}
	}
	out := [][2]string{{max(oddID, w.sel.After), greatestKey}}
	if begin < end {
		out = append(out, [2]string{begin, end})
	}
	return out
}

func (w *walk) query(part string, keys [2]string) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{TableName: &w.s.Table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("k = :k AND s BETWEEN :a AND :z"),
		ExpressionAttributeValues: item{":k": attributevalue.Text(part),
			":a": attributevalue.Text(keys[0]), ":z": attributevalue.Text(keys[1])},
		ScanIndexForward: aws.Bool(len(w.sel.IDs) > 0)}
	if w.sel.Limit > 0 {
		in.Limit = aws.Int32(int32(min(w.sel.Limit, 25))) // small pages
	}
	return in
}

// end returns an upper bound of the sort keys of matching items, or "" if it is unknown.
func (w *walk) end() string {
	end := ""
	if at, ok := idTime(w.sel.Before); ok {
		end = platform.IDAt(at.Add(span + 2*time.Millisecond))
	}
	if !w.sel.Until.IsZero() { // an id is made before its action ends
		until := platform.IDAt(w.sel.Until.Add(span + 2*time.Millisecond))
		if end == "" || until < end {
			end = until
		}
	}
	return end
}

// longest is the longest time between the creation of an action's id and the end of the action.
const longest = 24 * time.Hour

// over reports whether no matching item can follow an item.
func (w *walk) over(h *header) bool {
	at, timed := idTime(h.greatest())
	if len(w.sel.IDs) > 0 {
		last, ok := idTime(w.sel.ids[1])
		return ok && timed && at.After(last.Add(span+time.Millisecond))
	}
	return w.sel.After != "" && h.greatest() <= w.sel.After ||
		timed && !w.sel.since.IsZero() && at.Before(w.sel.since.Add(-longest))
}

// enough reports whether the limit is reached by actions that are newer than all remaining items.
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

// read adds the matching actions of items to found.
func (w *walk) read(ctx context.Context, some []*header) error {
	packs := make([][]byte, len(some))
	errs := make([]error, len(some))
	var wg sync.WaitGroup
	for i, h := range some {
		wg.Go(func() { packs[i], errs[i] = w.s.fetch(ctx, h) })
	}
	wg.Wait()
	for i := range some {
		if fault.Is(errs[i], fault.NotFound) { // an object outlives its items by a day
			return damaged("object %s is not there", some[i].object)
		}
		if errs[i] != nil {
			return errs[i]
		}
		if err := unpack(w.s, packs[i], func(a *state.Action) {
			if w.sel.selects(a) {
				w.found.Take(a)
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// fetch returns the compressed actions that an item covers.
func (s *Store) fetch(ctx context.Context, h *header) ([]byte, error) {
	switch {
	case h.object == "":
		return h.data, nil
	case h.size == 0:
		return s.Objects.Get(ctx, h.object)
	}
	return s.Objects.GetPart(ctx, h.object, h.offset, h.size)
}
