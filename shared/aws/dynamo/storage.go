package dynamo

import (
	"context"
	"fmt"
	"slices"
	"southbound/shared/aws/attributevalue"
	"southbound/shared/aws/awserr"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// storage packs stored values, and puts large ones into objects: entries of tablets, documents and
// lists of ids. An object is written before the item that names it, and removed after the last item
// that names it. So a failure in between leaves an unreferenced object (see DropOrphans), and never
// a reference to a missing object.
type storage struct {
	*items
	objects Objects
	pack    *packer
	limits  limits
}

// document is a value in an item of its own: compressed, and in an object if it is large.
type document struct{ entry }

// documentOf packs raw. It puts a large document into an object.
func (s *storage) documentOf(ctx context.Context, raw []byte) (document, error) {
	d := document{entry{seq: 1, data: s.pack.pack(raw)}}
	if len(d.data) <= s.limits.inline {
		return d, nil
	}
	d.object = &object{name: s.newName(), size: len(d.data)}
	if err := s.objects.Put(ctx, d.name, d.data); err != nil {
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

// dropObjects removes the objects of entries that are no longer used.
func (s *storage) dropObjects(ctx context.Context, entries ...entry) {
	var names []string
	for _, x := range entries {
		if x.object != nil && x.name != "" {
			names = append(names, x.name)
		}
	}
	if len(names) > 0 {
		_ = s.objects.Delete(context.WithoutCancel(ctx), names...) // objects that remain are orphans
	}
}

// fetch reads the objects of entries that have one.
func (s *storage) fetch(ctx context.Context, entries []entry) error {
	const width = 8
	errs := make([]error, len(entries))
	var absent []int
	for i := range entries {
		if entries[i].object != nil && len(entries[i].data) == 0 {
			absent = append(absent, i)
		}
	}
	s.host.Each(len(absent), width, func(n int) {
		i := absent[n]
		entries[i].data, errs[i] = s.objects.Get(ctx, entries[i].name)
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// reread calls read until all named objects exist. Another process may have removed an object after
// read saw its name. If read names the same objects twice, they are missing, and reread fails. If
// an object is NotFound, read has to return the entries that it named.
func (s *storage) reread(ctx context.Context, read func() ([]entry, error)) error {
	var before []string
	return s.contend(ctx, func() error {
		named, err := read()
		if !fault.Is(err, fault.NotFound) {
			return err
		}
		var names []string
		for i := range named {
			if named[i].object != nil {
				names = append(names, named[i].name)
			}
		}
		if slices.Equal(names, before) {
			return err
		}
		before = names
		return errLost
	})
}

// pieces returns, in order, the deltas that bring an image from change after to rec. They are
// compressed, and each has the number of the change to which it leads.
func (s *storage) pieces(
	ctx context.Context,
	env string,
	rec *record,
	after int64,
) ([]entry, error) {
	var out []entry
	var keys []item
	isItem := map[string]bool{} // by sort key
	for _, f := range rec.refs {
		if f.last <= after {
			continue
		}
		switch f.kind {
		case objectRef:
			out = append(out, entry{seq: f.last, object: &object{name: f.name}})
		case itemRef, pageRef:
			part, sort := refKey(env, rec.key, f)
			keys = append(keys, keyItem(part, sort))
			isItem[sort] = true
			out = append(out, entry{seq: f.last, object: &object{name: sort}})
		default:
			return nil, damaged("the record of %s names a piece of an unknown kind", rec.key)
		}
	}
	found, err := s.getMany(ctx, keys)
	if err != nil {
		return nil, err
	}
	lists := map[string][]entry{}
	for _, i := range found {
		sort := attributevalue.TextOf(i, attrSort)
		if lists[sort], err = pageEntries(i); err != nil {
			return nil, err
		}
	}
	var flat []entry
	for _, x := range out {
		list, ok := lists[x.name]
		switch {
		case !isItem[x.name]:
			flat = append(flat, x)
		case !ok:
			return nil, fault.New(fault.NotFound, "read state", "item %s is not there", x.name)
		default:
			flat = append(flat, list...)
		}
	}
	flat = append(flat, rec.tail...)
	kept := flat[:0]
	for _, x := range flat {
		if x.seq > after {
			kept = append(kept, x)
		}
	}
	return kept, s.fetch(ctx, kept)
}

// refKey returns the key of the item that a ref names.
func refKey(env, key string, f ref) (part, sort string) {
	if f.kind == pageRef {
		return pagePart(env, shardOf(key)), pageSort(key, f.last)
	}
	return itemPart(env), key + "/" + f.name
}

// pageEntries returns the entries of a page.
func pageEntries(i item) ([]entry, error) {
	d := decode(attributevalue.BytesOf(i, attrBody))
	out := d.entries()
	if !d.Done() {
		return nil, damaged("page %s does not decode", attributevalue.TextOf(i, attrSort))
	}
	return out, nil
}

// entryOf makes the entry of a delta. It puts a large delta into an object.
func (s *storage) entryOf(ctx context.Context, env string, e *edit) (entry, error) {
	raw, err := e.delta.encode()
	if err != nil {
		return entry{}, err
	}
	e.size = len(raw)
	x := entry{seq: e.next.seq, data: s.pack.pack(raw)}
	if len(x.data) <= s.limits.inline {
		return x, nil
	}
	x.object = describe(&e.delta)
	x.name, x.size = s.newName(), len(x.data)
	if err := s.objects.Put(ctx, x.name, x.data); err != nil {
		return entry{}, fault.Wrap(fault.Unknown, "write state", err)
	}
	x.data = nil
	return x, nil
}

// describe summarizes a delta's actions and other entries to log, so that the delta need not be
// read for them.
func describe(d *delta) *object {
	o := &object{n: len(d.actions) + len(d.params) + len(d.without)}
	for i := range d.actions {
		a := &d.actions[i]
		if i == 0 {
			o.ids, o.finished = [2]string{a.ID, a.ID}, [2]time.Time{a.Finished, a.Finished}
		}
		o.ids[0], o.ids[1] = min(o.ids[0], a.ID), max(o.ids[1], a.ID)
		if a.Finished.Before(o.finished[0]) {
			o.finished[0] = a.Finished
		}
		if a.Finished.After(o.finished[1]) {
			o.finished[1] = a.Finished
		}
	}
	return o
}

// flush copies the tail of a committed record into an item, and returns the ref of the item. It is
// idempotent.
func (s *storage) flush(ctx context.Context, env string, rec *record) (ref, error) {
	e := &enc{}
	e.entries(rec.tail)
	f := ref{
		kind:  itemRef,
		first: rec.tail[0].seq,
		last:  rec.tail[len(rec.tail)-1].seq,
		size:  len(e.B),
	}
	for _, x := range rec.tail {
		o, err := s.describeEntry(x)
		if err != nil {
			return f, err
		}
		if x.object != nil {
			f.size += x.size
			f.objects++
		}
		if o.n > 0 {
			f.kind = pageRef
		}
	}
	if f.kind == itemRef {
		f.name = fmt.Sprintf("%d-%d", f.first, f.last)
	}
	return f, s.putPiece(ctx, env, rec.key, f, e.B)
}

// putPiece stores the item that a ref names. It has to run before the record that names it is
// written.
func (s *storage) putPiece(ctx context.Context, env, key string, f ref, body []byte) error {
	i := keyItem(refKey(env, key, f))
	i[attrBody] = attributevalue.Blob(body)
	if f.kind == itemRef {
		i[attrTime] = attributevalue.Number(s.host.Now().Unix())
	}
	_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table, Item: i})
	return awserr.Fault("write state", err)
}

// describeEntry summarizes the actions and other things to log of an entry.
func (s *storage) describeEntry(x entry) (*object, error) {
	if x.object != nil {
		return x.object, nil
	}
	d, err := s.deltaOf(x)
	if err != nil {
		return nil, err
	}
	return describe(d), nil
}

func (s *storage) deltaOf(x entry) (*delta, error) {
	raw, err := s.pack.unpack(x.data)
	if err != nil {
		return nil, err
	}
	return wholeDelta(raw)
}

// putRun stores a run that replaces the pieces from index from on.
func (s *storage) putRun(
	ctx context.Context,
	env string,
	rec *record,
	from int,
	raw []byte,
) (ref, error) {
	data := s.pack.pack(raw)
	f := ref{kind: objectRef, last: rec.seq, size: len(data), objects: 1, name: s.newName()}
	if from < len(rec.refs) {
		f.first = rec.refs[from].first
	}
	if len(data) > s.limits.inline {
		return f, s.objects.Put(ctx, f.name, data)
	}
	f.objects = 0
	f.kind, f.name = itemRef, fmt.Sprintf("%d-%d-%s", f.first, f.last, f.name)
	e := &enc{}
	e.entries([]entry{{seq: f.last, data: data}})
	return f, s.putPiece(ctx, env, rec.key, f, e.B)
}

// page is an item that holds the entries of a former tail.
type page struct {
	part, sort string
	last       int64
	entries    []entry
}

// pagesAfter reads the pages of a tablet that have changes after a number.
func (s *storage) pagesAfter(ctx context.Context, env, key string, after int64) ([]page, error) {
	part := pagePart(env, shardOf(key))
	in := partition(part, "", true)
	in.KeyConditionExpression = aws.String("k = :k AND s BETWEEN :a AND :z")
	in.ExpressionAttributeValues[":a"] = attributevalue.Text(pageSort(key, after+1))
	in.ExpressionAttributeValues[":z"] = attributevalue.Text(pageSort(key, 1<<62))
	var out []page
	err := s.query(ctx, in, func(i item) (bool, error) {
		list, err := pageEntries(i)
		sort := attributevalue.TextOf(i, attrSort)
		_, last := pageOf(sort)
		out = append(out, page{part, sort, last, list})
		return true, err
	})
	return out, err
}

// leasesIn returns the leases in records.
func (s *storage) leasesIn(ctx context.Context, recs []*record) ([]state.Lease, error) {
	var out []state.Lease
	for _, r := range recs {
		if key, ok := laneOf(r.key); ok && r.fence > 0 {
			running, err := s.idsOf(ctx, r.running)
			// Not found: these resources no longer run, or the list is lost. It is also lost if it
			// does not decode. The next process that takes the lease determines again which
			// resources may have run.
			if err != nil && !isLost(err) {
				return nil, err
			}
			out = append(
				out,
				state.Lease{
					Key:     key,
					Holder:  r.holder,
					Fence:   r.fence,
					Until:   r.until,
					Running: running,
					Wave:    r.wave,
				},
			)
		}
	}
	return out, nil
}

// actedTo returns the last change of a tablet that has entries to log, or 0.
func (s *storage) actedTo(rec *record) (int64, error) {
	for i := len(rec.tail) - 1; i >= 0; i-- {
		o, err := s.describeEntry(rec.tail[i])
		if err != nil {
			return 0, err
		}
		if o.n > 0 {
			return max(rec.acted, rec.tail[i].seq), nil
		}
	}
	return rec.acted, nil
}
