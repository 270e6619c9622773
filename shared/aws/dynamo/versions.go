package dynamo

import (
	"context"
	"encoding/json"
	"slices"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// document is a value in an item of its own: compressed, in an object when it is large.
type document struct{ entry }

// documentOf packs raw; a large one is put into an object.
func (s *State) documentOf(ctx context.Context, raw []byte) (document, error) {
	d := document{entry{seq: 1, data: s.pack.pack(raw)}}
	if len(d.data) <= s.limits.inline {
		return d, nil
	}
	d.object = &object{name: s.newName(), size: len(d.data)}
	if err := s.Objects.Put(ctx, d.name, d.data); err != nil {
		return d, fault.Wrap(fault.Unknown, "write state", err)
	}
	d.data = nil
	return d, nil
}

func (d *document) encode() []byte {
	e := &enc{}
	e.entries([]entry{d.entry})
	return e.B
}

// documentIn returns the document of an item, not yet fetched.
func documentIn(i item) (entry, error) {
	list, err := pageEntries(i)
	if err != nil || len(list) != 1 {
		return entry{}, damaged("item %s does not decode", attributevalue.TextOf(i, attrSort))
	}
	return list[0], nil
}

// dropObjects removes the objects of entries that are not used any more.
func (s *State) dropObjects(ctx context.Context, entries ...entry) {
	var names []string
	for _, x := range entries {
		if x.object != nil && x.name != "" {
			names = append(names, x.name)
		}
	}
	if len(names) > 0 {
		_ = s.Objects.Delete(context.WithoutCancel(ctx), names...) // what stays is named by nothing
	}
}

// version prepares the version of a commit. That one exists is only looked for when a write has
// lost: usually none does.
func (c *commit) version(ctx context.Context) error {
	v := c.in.Version
	if v == nil {
		return nil
	}
	part, sort := versionPart(c.env), versionSort(v.Number)
	if c.tries > 0 {
		have, err := c.s.get(ctx, part, sort)
		if err != nil {
			return err
		}
		if have != nil {
			return fault.New(fault.Conflict, "write version", "version %d exists", v.Number)
		}
	}
	if c.versionDoc == nil {
		raw, err := json.Marshal(v)
		if err != nil {
			return fault.Wrap(fault.Internal, "encode version", err)
		}
		doc, err := c.s.documentOf(ctx, raw)
		if err != nil {
			return err
		}
		c.versionDoc = &doc
	}
	i := keyItem(part, sort)
	i[attrSeq], i[attrBody] = attributevalue.Number(1), attributevalue.Blob(c.versionDoc.encode())
	c.more = append(c.more, put{part: part, sort: sort, item: i})
	return nil
}

// forget prepares what is to be removed of versions: with the commit when it is little, else when
// it is rolled forward.
func (c *commit) forget(ctx context.Context) error {
	if len(c.in.Forget) == 0 {
		return nil
	}
	c.s.mu.Lock()
	c.s.version = lastVersion{}
	c.s.mu.Unlock()
	items, err := c.s.getMany(ctx, versionKeys(c.env, c.in.Forget))
	if err != nil {
		return err
	}
	c.objects = c.objects[:0]
	numbers := make([]int, 0, len(items))
	for _, i := range items {
		numbers = append(numbers, versionNumber(attributevalue.TextOf(i, attrSort)))
		if d, err := documentIn(i); err == nil {
			c.objects = append(c.objects, d)
		}
	}
	switch {
	case len(numbers) <= c.s.limits.forget:
		for _, k := range versionKeys(c.env, numbers) {
			c.more = append(c.more, put{part: attributevalue.TextOf(k, attrPart), sort: attributevalue.TextOf(k, attrSort), remove: true})
		}
	case c.forward == nil:
		c.forward = &forward{}
		return errLost // prepared anew, to be rolled forward
	default:
		c.forward.forget = numbers
	}
	return nil
}

// Versions implements deploy.State.
func (s *State) Versions(ctx context.Context, env string, numbers ...int) ([]state.Version, error) {
	out, err := s.versions(ctx, env, numbers)
	if fault.Is(err, fault.NotFound) { // one was forgotten while it was read
		out, err = s.versions(ctx, env, numbers)
	}
	return out, err
}

func (s *State) versions(ctx context.Context, env string, numbers []int) ([]state.Version, error) {
	items, err := s.versionItems(ctx, env, numbers)
	if err != nil {
		return nil, err
	}
	docs := make([]entry, len(items))
	for i := range items {
		if docs[i], err = documentIn(items[i]); err != nil {
			return nil, err
		}
	}
	if err := s.fetchKept(ctx, docs); err != nil {
		return nil, err
	}
	var out []state.Version
	for _, d := range docs {
		raw, err := s.pack.unpack(d.data)
		if err != nil {
			return nil, err
		}
		var v state.Version
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, damaged("a version does not decode: %v", err)
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b state.Version) int { return a.Number - b.Number })
	return out, nil
}

// maxKeptDocs is how many large documents are kept in memory: a planner reads the last version more
// than once.
const maxKeptDocs = 4

// fetchKept reads documents like fetch, and keeps the last few: what an object holds never changes.
func (s *State) fetchKept(ctx context.Context, docs []entry) error {
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

func (s *State) versionItems(ctx context.Context, env string, numbers []int) ([]item, error) {
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

// lastVersion is the item of a version that was read, and what was known of the head then.
type lastVersion struct {
	env     string
	number  int
	headSeq int64
	item    item
}

// versionItem reads the item of a version, unless it was the last one read and the head was not
// read as another since: a planner asks twice, and what it writes upon a version that was forgotten
// meanwhile is refused with the head.
func (s *State) versionItem(ctx context.Context, env string, number int) (item, error) {
	s.mu.Lock()
	last, seq := s.version, s.idleEpochs[env].seq
	s.mu.Unlock()
	if seq != 0 && last.item != nil && last.env == env && last.number == number && last.headSeq == seq {
		return last.item, nil
	}
	i, err := s.get(ctx, versionPart(env), versionSort(number))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = lastVersion{env: env, number: number, headSeq: seq, item: i}
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
