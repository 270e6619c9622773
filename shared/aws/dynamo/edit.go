package dynamo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/aws/awserr"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/state/rowcodec"
	"southbound/shared/fault"
)

// edit is a change of one tablet in the making.
type edit struct {
	rec  *record // as it was read
	next *record
	delta
	size   int  // of the delta
	merged bool // the tail that was there is in a run now
	dueOut bool // a row with the earliest timer lost it: it has to be looked for
}

func newEdit(rec *record) *edit {
	e := &edit{rec: rec, next: rec.clone()}
	e.next.seq++
	return e
}

// count takes a row out of the summary, puts one into it, or both.
func (e *edit) count(old, now *state.Row) {
	n := e.next
	if n.counts == nil {
		n.counts = map[state.Status]int{}
	}
	if old != nil {
		status := old.Status()
		if n.counts[status]--; n.counts[status] == 0 {
			delete(n.counts, status)
		}
		if old.Ticket != 0 {
			n.tickets--
		}
		e.dueOut = e.dueOut || (!old.NextAt.IsZero() && !old.NextAt.After(n.due))
	}
	if now != nil {
		n.counts[now.Status()]++
		if now.Ticket != 0 {
			n.tickets++
		}
		if !now.NextAt.IsZero() && (n.due.IsZero() || now.NextAt.Before(n.due)) {
			n.due = now.NextAt
		}
		n.foreign = n.foreign || state.AgentOf(now.Lane) != now.ID.Agent()
	}
}

// put writes a row; old is what the same tablet has of it, or nil.
func (e *edit) put(old *state.Row, now state.Row) {
	e.count(old, &now)
	same := old != nil && old.Version == now.Version && old.Hash == now.Hash && bytes.Equal(old.Body, now.Body)
	e.rows = append(e.rows, rowcodec.Of(now, !same))
}

// remove takes a row out of the tablet.
func (e *edit) remove(old *state.Row) {
	e.count(old, nil)
	e.gone = append(e.gone, old.ID)
}

// recount finds the earliest timer, when the row that had it lost it.
func (e *edit) recount(m *image) {
	if !e.dueOut {
		return
	}
	over := map[string]bool{}
	for _, id := range e.gone {
		over[string(id)] = true
	}
	due := time.Time{}
	earlier := func(t time.Time) {
		if !t.IsZero() && (due.IsZero() || t.Before(due)) {
			due = t
		}
	}
	for i := range e.rows {
		over[string(e.rows[i].ID)] = true
		earlier(e.rows[i].NextAt)
	}
	for id, r := range m.rows {
		if !r.nextAt.IsZero() && !over[string(id)] {
			earlier(r.nextAt)
		}
	}
	e.next.due = due
}

// finish puts the delta into the new record, and out of it what would make it large.
func (s *State) finish(ctx context.Context, env string, e *edit) ([]byte, error) {
	if !e.delta.empty() {
		x, err := s.entryOf(ctx, env, e)
		if err != nil {
			return nil, err
		}
		e.next.tail = append(e.next.tail, x)
	}
	b := e.next.encode(s.pack)
	if len(b)+len(env)+len(e.next.key) <= s.limits.record || len(e.rec.tail) == 0 || e.merged {
		return b, nil
	}
	f, err := s.flush(ctx, env, e.rec)
	if err != nil {
		return nil, err
	}
	e.next.add(f)
	e.next.tail = e.next.tail[len(e.rec.tail):]
	return e.next.encode(s.pack), nil
}

// entryOf makes the entry of a delta; a large one is put into an object.
func (s *State) entryOf(ctx context.Context, env string, e *edit) (entry, error) {
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
	if err := s.Objects.Put(ctx, x.name, x.data); err != nil {
		return entry{}, fault.Wrap(fault.Unknown, "write state", err)
	}
	x.data = nil
	return x, nil
}

// describe says what is to be known of a delta's actions, and of other things to log, without
// reading them.
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

// flush copies the tail of a record, which was committed, into an item, and returns its name. It
// may be done twice.
func (s *State) flush(ctx context.Context, env string, rec *record) (ref, error) {
	e := &enc{}
	e.entries(rec.tail)
	f := ref{kind: itemRef, first: rec.tail[0].seq, last: rec.tail[len(rec.tail)-1].seq, size: len(e.B)}
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
	part, sort := s.refKey(env, rec.key, f)
	i := keyItem(part, sort)
	i[attrBody] = attributevalue.Blob(e.B)
	_, err := s.API.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.Table, Item: i})
	return f, awserr.Fault("write state", err)
}

// describeEntry says what an entry has to log.
func (s *State) describeEntry(x entry) (*object, error) {
	if x.object != nil {
		return x.object, nil
	}
	d, err := s.deltaOf(x)
	if err != nil {
		return nil, err
	}
	return describe(d), nil
}

func (s *State) deltaOf(x entry) (*delta, error) {
	raw, err := s.pack.unpack(x.data)
	if err != nil {
		return nil, err
	}
	return wholeDelta(raw)
}

// put is a conditional write of an item: the number there must be seq. With remove the item goes,
// whatever it is.
type put struct {
	part, sort string
	seq        int64
	item       item
	remove     bool
}

func (s *State) recordPut(ctx context.Context, env string, e *edit) (put, error) {
	e.next.nonce = s.Host.Random()
	b, err := s.finish(ctx, env, e)
	if err != nil {
		return put{}, err
	}
	i := keyItem(recordPart(env), e.next.key)
	i[attrSeq], i[attrBody] = attributevalue.Number(e.next.seq), attributevalue.Blob(b)
	return put{part: recordPart(env), sort: e.next.key, seq: e.rec.seq, item: i}, nil
}

// condition says that the item is as it was read.
func (p *put) condition() (expr string, values item) {
	if p.seq == 0 {
		return "attribute_not_exists(k)", nil
	}
	return "n = :n", item{":n": attributevalue.Number(p.seq)}
}

const oldItem = types.ReturnValuesOnConditionCheckFailureAllOld

// putOne writes one item. When it lost it returns errLost and the item as it is now, nil when that
// is not known.
func (s *State) putOne(ctx context.Context, p put) (item, error) {
	expr, values := p.condition()
	_, err := s.API.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.Table, Item: p.item, ConditionExpression: &expr,
		ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: oldItem})
	var failed *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &failed):
		return failed.Item, errLost
	case awserr.Is(err, awserr.ConditionFailed, awserr.TransactionConflict):
		return nil, errLost
	}
	return nil, awserr.Fault("write state", err)
}

// putAll writes items together. When it lost it returns errLost and the items that were in the way,
// by their place, as they are now.
func (s *State) putAll(ctx context.Context, puts []put) (map[int]item, error) {
	token := s.newName()
	in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: &token}
	for i := range puts {
		if puts[i].remove {
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Delete: &types.Delete{TableName: &s.Table,
				Key: keyItem(puts[i].part, puts[i].sort)}})
			continue
		}
		expr, values := puts[i].condition()
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{TableName: &s.Table, Item: puts[i].item,
			ConditionExpression: aws.String(expr), ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: oldItem}})
	}
	_, err := s.API.TransactWriteItems(ctx, in)
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		if awserr.Is(err, awserr.TransactionConflict) {
			return nil, errLost
		}
		return nil, awserr.Fault("write state", err)
	}
	return lostTo(canceled)
}

// lostTo tells a transaction that lost against others from one that failed.
func lostTo(canceled *types.TransactionCanceledException) (map[int]item, error) {
	lost := map[int]item{}
	for i, r := range canceled.CancellationReasons {
		switch code := aws.ToString(r.Code); code {
		case "None", "":
		case "ConditionalCheckFailed":
			lost[i] = r.Item
		case "TransactionConflict":
			lost[i] = nil
		case "ThrottlingError", "ProvisionedThroughputExceeded":
			return nil, fault.New(fault.Unavailable, "write state", "DynamoDB is throttling: %s", aws.ToString(r.Message))
		case "ItemCollectionSizeLimitExceeded":
			return nil, fault.New(fault.Full, "write state", "%s", aws.ToString(r.Message))
		default:
			return nil, fault.New(fault.Internal, "write state", "%s: %s", code, aws.ToString(r.Message))
		}
	}
	return lost, errLost
}
