package dynamo

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// versions reads versions, and caches those that a planner reads more than once.
type versions struct {
	*reader

	mu   sync.Mutex
	docs map[string][]byte // a few, by name of the object; guarded by mu
	last lastVersion       // guarded by mu
}

// version prepares the version of a commit. It checks whether the version exists only after a lost
// write, because usually it does not.
func (d *draft) version(ctx context.Context) error {
	v := d.in.Version
	if v == nil {
		return nil
	}
	part, sort := versionPart(d.env), versionSort(v.Number)
	if d.tries > 0 {
		have, err := d.s.get(ctx, part, sort)
		if err != nil {
			return err
		}
		if have != nil {
			return fault.New(fault.Conflict, "write version", "version %d exists", v.Number)
		}
	}
	if d.versionDoc == nil {
		raw, err := json.Marshal(v)
		if err != nil {
			return fault.Wrap(fault.Internal, "encode version", err)
		}
		doc, err := d.s.documentOf(ctx, raw)
		if err != nil {
			return err
		}
		d.versionDoc = &doc
	}
	i := keyItem(part, sort)
	i[attrSeq], i[attrBody] = attributevalue.Number(1), attributevalue.Blob(d.versionDoc.encode())
	d.more = append(d.more, put{part: part, sort: sort, item: i})
	return nil
}

// forget prepares the removal of versions. If there are few, they are removed with the commit,
// otherwise when the commit is rolled forward.
func (d *draft) forget(ctx context.Context) error {
	if len(d.in.Forget) == 0 {
		return nil
	}
	d.s.forgetLast()
	items, err := d.s.getMany(ctx, versionKeys(d.env, d.in.Forget))
	if err != nil {
		return err
	}
	d.objects = d.objects[:0]
	numbers := make([]int, 0, len(items))
	for _, i := range items {
		numbers = append(numbers, versionNumber(attributevalue.TextOf(i, attrSort)))
		if doc, err := documentIn(i); err == nil {
			d.objects = append(d.objects, doc)
		}
	}
	switch {
	case len(numbers) <= d.s.limits.forget:
		for _, k := range versionKeys(d.env, numbers) {
			d.more = append(
				d.more,
				put{
					part:   attributevalue.TextOf(k, attrPart),
					sort:   attributevalue.TextOf(k, attrSort),
					remove: true,
				},
			)
		}
	case d.forward == nil:
		d.forward = &forward{}
		return errLost // prepare again, for a roll-forward
	default:
		d.forward.forget = numbers
	}
	return nil
}

// Versions implements state.State.
func (s *versions) Versions(
	ctx context.Context,
	env string,
	numbers ...int,
) ([]state.Version, error) {
	var out []state.Version
	err := s.reread(ctx, func() (docs []entry, err error) {
		out, docs, err = s.versions(ctx, env, numbers)
		if fault.Is(err, fault.NotFound) { // one was removed during the read
			s.forgetLast()
		}
		return docs, err
	})
	return out, err
}

// versions reads versions. If a document is missing, it also returns the entries of all documents.
func (s *versions) versions(
	ctx context.Context,
	env string,
	numbers []int,
) ([]state.Version, []entry, error) {
	items, err := s.versionItems(ctx, env, numbers)
	if err != nil {
		return nil, nil, err
	}
	docs := make([]entry, len(items))
	for i := range items {
		if docs[i], err = documentIn(items[i]); err != nil {
			return nil, nil, err
		}
	}
	if err := s.fetchKept(ctx, docs); err != nil {
		return nil, docs, err
	}
	var out []state.Version
	for _, d := range docs {
		raw, err := s.pack.unpack(d.data)
		if err != nil {
			return nil, nil, err
		}
		var v state.Version
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, nil, damaged("a version does not decode: %v", err)
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b state.Version) int { return a.Number - b.Number })
	return out, nil, nil
}

// maxKeptDocs is how many large documents are cached: a planner reads the last version more than
// once.
const maxKeptDocs = 4

// fetchKept reads documents like fetch, and caches the last few. An object never changes.
func (s *versions) fetchKept(ctx context.Context, docs []entry) error {
	s.mu.Lock()
	for i := range docs {
		if docs[i].object != nil {
			docs[i].data = s.docs[docs[i].name]
		}
	}
	s.mu.Unlock()
	if err := s.fetch(ctx, docs); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := max(0, len(docs)-maxKeptDocs); i < len(docs); i++ {
		if docs[i].object == nil {
			continue
		}
		if len(s.docs) >= maxKeptDocs {
			clear(s.docs)
		}
		s.docs[docs[i].name] = docs[i].data
	}
	return nil
}

func (s *versions) versionItems(ctx context.Context, env string, numbers []int) ([]item, error) {
	var out []item
	switch len(numbers) {
	case 0:
		err := s.query(ctx, partition(versionPart(env), "", true), func(i item) (bool, error) {
			out = append(out, i)
			return true, nil
		})
		return out, err
	case 1:
		i, err := s.versionItem(ctx, env, numbers[0])
		if i != nil {
			out = append(out, i)
		}
		return out, err
	}
	return s.getMany(ctx, versionKeys(env, numbers))
}

// lastVersion is the item of the version that was read last, and the number of the head at that
// time.
type lastVersion struct {
	env     string
	number  int
	headSeq int64
	item    item
}

// versionItem reads the item of a version. It uses the cached item if that is the version that was
// read last, and the process has not read a newer head since. A planner reads a version twice. If
// the version was removed since, the planner's commit fails, because the head has changed.
func (s *versions) versionItem(ctx context.Context, env string, number int) (item, error) {
	seq := s.headSeen(env).seq
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	if seq != 0 && last.item != nil && last.env == env && last.number == number &&
		last.headSeq == seq {
		return last.item, nil
	}
	i, err := s.get(ctx, versionPart(env), versionSort(number))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = lastVersion{env: env, number: number, headSeq: seq, item: i}
	return i, err
}

func versionKeys(env string, numbers []int) []item {
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	keys := make([]item, len(numbers))
	for i, n := range numbers {
		keys[i] = keyItem(versionPart(env), versionSort(n))
	}
	return keys
}

// forgetLast clears the cached item, before versions are removed.
func (s *versions) forgetLast() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = lastVersion{}
}
