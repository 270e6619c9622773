package dynamo

import (
	"context"
	"southbound/shared/aws/attributevalue"
)

// writer writes edits of tablets, on the condition that the tablets are as they were read.
type writer struct{ *tablets }

// write writes edits of tablets, and the head if it is not nil, in one transaction. If it returns
// errLost, nothing was written, and the cache knows more about the conflicting records.
//
// write first writes the objects and pages that the new records name. It removes objects that only
// the old records name afterwards. So a record never names a missing object. A crash before or
// after the transaction leaves unreferenced objects, which DropOrphans removes.
func (s *writer) write(ctx context.Context, env string, edits []*edit, h *head, more ...put) error {
	puts := make([]put, 0, len(edits)+2)
	for _, e := range edits {
		p, err := s.recordPut(ctx, env, e)
		if err != nil {
			return err
		}
		puts = append(puts, p)
	}
	if h != nil {
		puts = append(puts, h.put(s.host.Random()))
	}
	puts = append(puts, more...)
	var err error
	if len(puts) == 1 {
		err = s.writeOne(ctx, env, puts[0], edits)
	} else {
		err = s.writeAll(ctx, env, puts, edits)
	}
	switch {
	case err == errLost: // it is never wrapped
		// The objects stay: a try whose response was lost may have been written, and another change
		// may build on it.
		return err
	case err != nil:
		for _, e := range edits {
			s.forget(tabletKey{env, e.next.key})
		}
		return err
	}
	for _, e := range edits {
		s.took(env, e)
		s.dropLists(ctx, e.rec, e.next)
	}
	if h != nil {
		h.seq++
		if !h.pending { // the process that finishes the commit changes the head again
			s.sawHead(h)
		}
	}
	return nil
}

// writeOne writes one record, or the head alone.
func (s *writer) writeOne(ctx context.Context, env string, p put, edits []*edit) error {
	now, err := s.putOne(ctx, p)
	if err != errLost || len(edits) == 0 { // it is never wrapped
		return err
	}
	e := edits[0]
	s.forget(tabletKey{env, e.next.key})
	if now == nil {
		return errLost
	}
	rec, decodeErr := s.recordOf(env, e.next.key, now)
	if decodeErr != nil {
		return decodeErr
	}
	if rec.nonce == e.next.nonce {
		return nil // our own write, repeated by the SDK
	}
	return errLost
}

// writeAll writes in one transaction. DynamoDB recognizes repetitions by the SDK.
func (s *writer) writeAll(ctx context.Context, env string, puts []put, edits []*edit) error {
	lost, err := s.putAll(ctx, puts)
	if err != errLost { // it is never wrapped
		return err
	}
	for i, now := range lost {
		if i >= len(edits) {
			continue
		}
		s.forget(tabletKey{env, edits[i].next.key})
		if now != nil {
			if _, err := s.recordOf(env, edits[i].next.key, now); err != nil {
				return err
			}
		}
	}
	return errLost
}

// change changes one tablet by f, and retries if another process changes it first. At first f gets
// the cached record. If f fails with it, change reads the record and calls f again.
func (s *writer) change(
	ctx context.Context,
	env, key string,
	f func(e *edit) error,
) (*record, error) {
	var out *record
	err := s.contend(ctx, func() error {
		rec, fresh := s.known(tabletKey{env, key}), false
		for {
			var err error
			if rec == nil {
				if rec, err = s.readRecord(ctx, env, key); err != nil {
					return err
				}
				fresh = true
			}
			e := newEdit(rec)
			err = f(e)
			if err == nil {
				out = e.next
				return s.write(ctx, env, []*edit{e}, nil)
			}
			if fresh || err == errLost { // it is never wrapped
				return err
			}
			rec = nil
		}
	})
	return out, err
}

// finish adds the delta to the new record. If the record would become too large, finish moves the
// previous tail into an item.
func (s *writer) finish(ctx context.Context, env string, e *edit) ([]byte, error) {
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

func (s *writer) recordPut(ctx context.Context, env string, e *edit) (put, error) {
	e.next.nonce = s.host.Random()
	b, err := s.finish(ctx, env, e)
	if err != nil {
		return put{}, err
	}
	i := keyItem(recordPart(env), e.next.key)
	i[attrSeq], i[attrBody] = attributevalue.Number(e.next.seq), attributevalue.Blob(b)
	return put{part: recordPart(env), sort: e.next.key, seq: e.rec.seq, item: i}, nil
}
