package dynamo

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/aws/awserr"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// forwarder finishes commits over more tablets than one transaction can hold: see forward.
type forwarder struct{ *compactor }

// forward is the part of a commit that is rolled forward: the changes of each tablet. The commit
// takes effect when its number is in the head and its note, the item of the forward, is beside the
// records. A process that finds the note applies the changes to the tablets.
type forward struct {
	number int64
	parts  map[string]*part // by key of the tablet
	forget []int            // numbers of versions to remove
	doc    document

	// The changes that wait until all rows were written, because they depend on whether all rows
	// fitted. They are dropped outbox entries, which are in parts, and the rows that the guard's
	// tablet counts as checked in a wave.
	guard   string
	epoch   int64
	checked []resource.ID
}

// part holds the changes of one tablet. Rows are complete, and their Rev is the new revision.
type part struct {
	rows []state.Row
	from []string // by row: the tablet that has it, this one or another; "": it is new
	gone []goneRow
	drop []string
}

// ids returns the ids of all rows of a part.
func (p *part) ids() []resource.ID {
	out := make([]resource.ID, 0, len(p.rows)+len(p.gone))
	for i := range p.rows {
		out = append(out, p.rows[i].ID)
	}
	for _, k := range p.gone {
		out = append(out, k.id)
	}
	return out
}

// goneRow is a row to remove, with the revision that it must have.
type goneRow struct {
	id  resource.ID
	rev int64
}

func (f *forward) part(key string) *part {
	p := f.parts[key]
	if p == nil {
		p = &part{}
		f.parts[key] = p
	}
	return p
}

// row adds a row that was found in the tablet from. If from is empty, the row is new and gets the
// revision first.
func (f *forward) row(from string, r state.Row, first int64) {
	if r.Gone {
		p := f.part(from)
		p.gone = append(p.gone, goneRow{r.ID, r.Rev})
		return
	}
	p := f.part(keyOf(r.Lane))
	if r.Rev++; from == "" {
		r.Rev = first
	}
	p.rows, p.from = append(p.rows, r), append(p.from, from)
}

func (f *forward) encode() []byte {
	e := &enc{}
	e.Int(f.number)
	e.Len(len(f.parts))
	for _, key := range slices.Sorted(maps.Keys(f.parts)) {
		p := f.parts[key]
		e.Text(key)
		e.Len(len(p.rows))
		for i := range p.rows {
			e.Text(p.from[i])
			e.row(&p.rows[i], true)
		}
		e.Len(len(p.gone))
		for _, k := range p.gone {
			e.Text(string(k.id))
			e.Int(k.rev)
		}
		e.Texts(p.drop)
	}
	e.Len(len(f.forget))
	for _, n := range f.forget {
		e.Int(int64(n))
	}
	if len(f.checked) > 0 {
		e.Text(f.guard)
		e.Int(f.epoch)
		e.Len(len(f.checked))
		for _, id := range f.checked {
			e.Text(string(id))
		}
	}
	return e.B
}

func decodeForward(b []byte) (*forward, error) {
	d := decode(b)
	f := &forward{number: d.Int(), parts: map[string]*part{}}
	for n := d.Len(); n > 0 && !d.Bad; n-- {
		key := d.Text()
		p := f.part(key)
		lane, _ := laneOf(key)
		for m := d.Len(); m > 0 && !d.Bad; m-- {
			p.from = append(p.from, d.Text())
			stored := d.row()
			row := stored.After(&stored.Row)
			row.Lane = lane
			p.rows = append(p.rows, row)
		}
		for m := d.Len(); m > 0 && !d.Bad; m-- {
			p.gone = append(p.gone, goneRow{resource.ID(d.Text()), d.Int()})
		}
		p.drop = d.Texts()
	}
	for n := d.Len(); n > 0 && !d.Bad; n-- {
		f.forget = append(f.forget, int(d.Int()))
	}
	if !d.Done() {
		f.guard, f.epoch = d.Text(), d.Int()
		for n := d.Len(); n > 0 && !d.Bad; n-- {
			f.checked = append(f.checked, resource.ID(d.Text()))
		}
	}
	if !d.Done() {
		return nil, damaged("a commit that was begun does not decode")
	}
	return f, nil
}

// begin commits: it writes the head, the guard and the note of the remaining changes in one
// transaction.
func (c *commit) begin(ctx context.Context, edits []*edit) error {
	f := c.forward
	c.draft.head.tx++
	c.draft.head.pending = true
	f.number = c.draft.head.tx
	doc, err := c.s.documentOf(ctx, f.encode())
	if err != nil {
		return err
	}
	f.doc = doc
	i := keyItem(recordPart(c.env), txSort)
	i[attrSeq], i[attrBody] = attributevalue.Number(f.number), attributevalue.Blob(doc.encode())
	return c.s.write(
		ctx,
		c.env,
		edits,
		c.draft.head,
		append(c.draft.more, put{part: recordPart(c.env), sort: txSort, item: i})...)
}

// finish applies the changes that begin left, and adds the rows that did not fit to the conflicts.
func (c *commit) finish(ctx context.Context) error {
	conflicts, err := c.s.roll(ctx, c.env, c.forward)
	if err != nil {
		return err
	}
	c.s.dropObjects(ctx, c.draft.objects...)
	if len(conflicts) == 0 {
		return nil
	}
	var rows []state.Row
	if err := c.s.unmoved(ctx, c.env, func() (err error) {
		rows, err = c.s.Rows(ctx, c.env, conflicts)
		return err
	}); err != nil {
		return err
	}
	for _, id := range conflicts {
		now := state.Row{ID: id}
		if i := slices.IndexFunc(rows, func(r state.Row) bool { return r.ID == id }); i >= 0 {
			now = rows[i]
		}
		c.draft.conflicts = append(c.draft.conflicts, now)
	}
	return nil
}

// finishPending finishes the pending commit of an environment's head.
func (s *forwarder) finishPending(ctx context.Context, env string) error {
	i, err := s.get(ctx, recordPart(env), txSort)
	if err != nil || i == nil {
		return err // nil: another process finished it
	}
	return s.rollForward(ctx, env, i)
}

// rollForward finishes the commit that an item describes.
func (s *forwarder) rollForward(ctx context.Context, env string, i item) error {
	doc, err := documentIn(i)
	if err != nil {
		return err
	}
	got := []entry{doc}
	if err := s.fetch(ctx, got); err != nil {
		if fault.Is(err, fault.NotFound) {
			return nil // another process finished it: the caller reads again
		}
		return err
	}
	raw, err := s.pack.unpack(got[0].data)
	if err != nil {
		return err
	}
	f, err := decodeForward(raw)
	if err != nil {
		return err
	}
	f.doc = document{doc}
	if _, err = s.roll(ctx, env, f); err == errLong { // it is never wrapped
		return nil
	}
	return err
}

// roll applies the changes to every tablet and removes the note. It returns the rows that did not
// fit, or errLong if these are no longer known.
//
// The changes that depend on whether all rows fitted (complete) follow the parts, and the note is
// removed last. So after a crash any process that finds the note can repeat each step until all is
// done.
func (s *forwarder) roll(ctx context.Context, env string, f *forward) ([]resource.ID, error) {
	var conflicts []resource.ID
	var long error
	for _, key := range slices.Sorted(maps.Keys(f.parts)) {
		if p := f.parts[key]; len(p.rows)+len(p.gone) == 0 {
			continue
		}
		if err := s.contend(ctx, func() error {
			purpose := Purpose{Name: "roll", Tablet: key, Number: f.number}
			out, err := s.rollTablet(withPurpose(ctx, purpose), env, key, f)
			if err == errLong { // it is never wrapped
				long = err
				return nil
			}
			if err == nil {
				conflicts = append(conflicts, out...)
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	if long == nil { // else other processes completed it
		if err := s.complete(ctx, env, f, conflicts); err != nil {
			return nil, err
		}
	}
	ctx = withPurpose(ctx, Purpose{Name: "rolled", Number: f.number})
	if err := s.deleteMany(ctx, versionKeys(env, f.forget)); err != nil {
		return nil, err
	}
	if err := s.endRoll(ctx, env, f); err != nil {
		return nil, err
	}
	return conflicts, long
}

// endRoll removes the note of a commit that all tablets have applied.
func (s *forwarder) endRoll(ctx context.Context, env string, f *forward) error {
	err := s.contend(ctx, func() error {
		i, err := s.get(ctx, headPart, headPrefix+env)
		if err != nil {
			return err
		}
		h, err := headOf(env, i)
		if err != nil || h.tx != f.number || !h.pending {
			return err
		}
		h.pending = false
		p := h.put(s.host.Random())
		expr, values := p.condition()
		_, err = s.api.TransactWriteItems(
			ctx,
			&dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String(s.newName()),
				TransactItems: []types.TransactWriteItem{
					{
						Put: &types.Put{
							TableName:                 &s.table,
							Item:                      p.item,
							ConditionExpression:       &expr,
							ExpressionAttributeValues: values,
						},
					},
					{
						Delete: &types.Delete{
							TableName: &s.table,
							Key:       keyItem(recordPart(env), txSort),
						},
					},
				}},
		)
		var canceled *types.TransactionCanceledException
		if errors.As(err, &canceled) {
			_, err = lostTo(canceled)
			return err
		}
		if awserr.Is(err, awserr.TransactionConflict) {
			return errLost
		}
		return awserr.Fault("write state", err)
	})
	if err == nil {
		s.dropObjects(ctx, f.doc.entry)
	}
	return err
}
