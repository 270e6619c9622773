package dynamo

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/awserr"
	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// forward is the part of a commit that is rolled forward: what each bag has to do. The commit has happened once its number stands in the head and
// what it says in the item beside the records; whoever finds that item makes the bags do their part.
type forward struct {
	number int64
	parts  map[string]*part // by key of the bag
	forget []int            // versions
	doc    document
}

// part is what one bag has to do. Rows are whole; their Rev is the one they get.
type part struct {
	rows []deploy.Row
	from []string // by row: the bag that has it, this one or another; "" when it is new
	gone []goneRow
	drop []string
}

// goneRow is a row that is to be removed at a revision.
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

// row adds a row that was found in the bag from.
func (f *forward) row(from string, r deploy.Row) {
	if r.Gone {
		p := f.part(from)
		p.gone = append(p.gone, goneRow{r.ID, r.Rev})
		return
	}
	p := f.part(keyOf(r.Lane))
	r.Rev++
	p.rows, p.from = append(p.rows, r), append(p.from, from)
}

func (f *forward) encode() []byte {
	e := &enc{}
	e.int(f.number)
	e.len(len(f.parts))
	for _, key := range slices.Sorted(maps.Keys(f.parts)) {
		p := f.parts[key]
		e.text(key)
		e.len(len(p.rows))
		for i := range p.rows {
			e.text(p.from[i])
			e.row(&p.rows[i], true)
		}
		e.len(len(p.gone))
		for _, k := range p.gone {
			e.text(string(k.id))
			e.int(k.rev)
		}
		e.texts(p.drop)
	}
	e.len(len(f.forget))
	for _, n := range f.forget {
		e.int(int64(n))
	}
	return e.b
}

func decodeForward(b []byte) (*forward, error) {
	d := &dec{b: b}
	f := &forward{number: d.int(), parts: map[string]*part{}}
	for n := d.len(); n > 0 && !d.bad; n-- {
		key := d.text()
		p := f.part(key)
		lane, _ := laneOf(key)
		for m := d.len(); m > 0 && !d.bad; m-- {
			p.from = append(p.from, d.text())
			stored := d.row()
			row := stored.after(&stored.Row)
			row.Lane = lane
			p.rows = append(p.rows, row)
		}
		for m := d.len(); m > 0 && !d.bad; m-- {
			p.gone = append(p.gone, goneRow{resource.ID(d.text()), d.int()})
		}
		p.drop = d.texts()
	}
	for n := d.len(); n > 0 && !d.bad; n-- {
		f.forget = append(f.forget, int(d.int()))
	}
	if d.bad || len(d.b) != 0 {
		return nil, damaged("a commit that was begun does not decode")
	}
	return f, nil
}

// begin makes the commit happen: the head, the guard, and the note of what is left to do, in one transaction.
func (c *commit) begin(ctx context.Context, edits []*edit) error {
	f := c.forward
	c.head.tx++
	c.head.pending = true
	f.number = c.head.tx
	doc, err := c.s.documentOf(ctx, f.encode())
	if err != nil {
		return err
	}
	f.doc = doc
	i := keyItem(recordPart(c.env), txSort)
	i[attrSeq], i[attrBody] = number(f.number), blob(doc.encode())
	return c.s.write(ctx, c.env, edits, c.head, append(c.more, put{part: recordPart(c.env), sort: txSort, item: i})...)
}

// finish does what begin left to do, and adds what did not fit to the conflicts.
func (c *commit) finish(ctx context.Context) error {
	misfits, err := c.s.roll(ctx, c.env, c.forward)
	if err != nil {
		return err
	}
	c.s.dropObjects(ctx, c.objects...)
	if len(misfits) == 0 {
		return nil
	}
	rows, err := c.s.Rows(ctx, c.env, misfits)
	if err != nil {
		return err
	}
	for _, id := range misfits {
		now := deploy.Row{ID: id}
		if i := slices.IndexFunc(rows, func(r deploy.Row) bool { return r.ID == id }); i >= 0 {
			now = rows[i]
		}
		c.conflicts = append(c.conflicts, now)
	}
	return nil
}

// finishPending finishes the commit that an environment's head says is being rolled forward.
func (s *State) finishPending(ctx context.Context, env string) error {
	i, err := s.get(ctx, recordPart(env), txSort)
	if err != nil || i == nil {
		return err // nil: somebody else has finished it
	}
	return s.rollForward(ctx, env, i)
}

// rollForward finishes the commit that an item describes.
func (s *State) rollForward(ctx context.Context, env string, i item) error {
	doc, err := documentIn(i)
	if err != nil {
		return err
	}
	got := []entry{doc}
	if err := s.fetch(ctx, got); err != nil {
		if fault.Is(err, fault.NotFound) {
			return nil // finished by somebody else meanwhile: whoever called looks again
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
	_, err = s.roll(ctx, env, f)
	return err
}

// roll makes every bag do its part and removes the note. It returns the rows that did not fit.
func (s *State) roll(ctx context.Context, env string, f *forward) ([]resource.ID, error) {
	var misfits []resource.ID
	for _, key := range slices.Sorted(maps.Keys(f.parts)) {
		if err := contend(ctx, func() error {
			out, err := s.rollBag(ctx, env, key, f)
			if err == nil {
				misfits = append(misfits, out...)
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	if err := s.deleteMany(ctx, versionKeys(env, f.forget)); err != nil {
		return nil, err
	}
	return misfits, s.endRoll(ctx, env, f)
}

// rollBag makes one bag do its part, once: together with it, rows leave the bags that they move from.
func (s *State) rollBag(ctx context.Context, env, key string, f *forward) ([]resource.ID, error) {
	rec, err := s.readRecord(ctx, env, key)
	if err != nil {
		return nil, err
	}
	switch {
	case rec.tx == f.number:
		return s.idsOf(ctx, rec.misfits)
	case rec.tx > f.number:
		return nil, nil // long done
	}
	r := &roller{s: s, env: env, key: key, edits: map[string]*edit{key: newEdit(rec)}}
	if err := r.look(ctx, f.parts[key]); err != nil {
		return nil, err
	}
	p, all := r.fitting(f.parts[key])
	r.take(p)
	if err := r.recount(ctx); err != nil {
		return nil, err
	}
	if all {
		mine := r.edits[key].next
		mine.tx = f.number
		if mine.misfits, err = s.keepIDs(ctx, r.misfits); err != nil {
			return nil, err
		}
	}
	edits := make([]*edit, 0, len(r.edits))
	for _, e := range r.edits {
		if e.next.key == key || !e.delta.empty() {
			edits = append(edits, e)
		}
	}
	if err := s.write(ctx, env, edits, nil); err != nil {
		return nil, err
	}
	for _, e := range edits {
		s.tidy(ctx, env, e.next)
	}
	if !all {
		return nil, errLost // there is more of it
	}
	return r.misfits, nil
}

// mostSources is from how many bags rows can move to one in one transaction.
const mostSources = 90

// fitting returns what of a part can be done now: all of it, unless rows move here from more bags than a transaction can hold.
func (r *roller) fitting(p *part) (*part, bool) {
	sources := map[string]bool{}
	moves := &part{} // all else is done once, with the mark
	more := false
	for i, from := range p.from {
		if from == "" || from == r.key || r.have[from][p.rows[i].ID].Rev != p.rows[i].Rev-1 {
			continue // it stays, has moved, or does not fit
		}
		if !sources[from] && len(sources) == mostSources {
			more = true
			continue
		}
		sources[from] = true
		moves.rows, moves.from = append(moves.rows, p.rows[i]), append(moves.from, from)
	}
	if !more {
		return p, true
	}
	return moves, false
}

// moved reports whether a row was moved here already, in a part of this part.
func (r *roller) moved(now *deploy.Row) bool {
	have, ok := r.have[r.key][now.ID]
	return ok && have.Rev == now.Rev
}

// roller is one bag doing its part.
type roller struct {
	s       *State
	env     string
	key     string
	edits   map[string]*edit // this bag's, and those that rows leave
	have    map[string]map[resource.ID]deploy.Row
	outbox  int // entries of drop that are there
	misfits []resource.ID
}

// look reads the rows of the part as they are.
func (r *roller) look(ctx context.Context, p *part) error {
	want := map[string][]resource.ID{r.key: {}}
	for i, from := range p.from {
		if from == "" {
			from = r.key
		}
		want[from] = append(want[from], p.rows[i].ID)
		if from != r.key {
			want[r.key] = append(want[r.key], p.rows[i].ID)
		}
	}
	for _, k := range p.gone {
		want[r.key] = append(want[r.key], k.id)
	}
	r.have = map[string]map[resource.ID]deploy.Row{}
	for key, ids := range want {
		if r.edits[key] == nil {
			rec, err := r.s.readRecord(ctx, r.env, key)
			if err != nil {
				return err
			}
			r.edits[key] = newEdit(rec)
		}
		rec := r.edits[key].rec
		found := map[resource.ID]deploy.Row{}
		r.have[key] = found
		if err := r.s.withImage(ctx, r.env, rec, func(m *image) error {
			if m.seq != rec.seq {
				return errLost
			}
			for _, id := range ids {
				if row := m.rows[id]; row != nil {
					found[id] = row.Row
				}
			}
			if key == r.key {
				r.outbox = 0
				for _, id := range p.drop {
					if _, ok := m.outbox[id]; ok {
						r.outbox++
					}
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// take puts the part into the edits; rows that have changed since are left out.
func (r *roller) take(p *part) {
	mine := r.edits[r.key]
	for i := range p.rows {
		now, from := p.rows[i], p.from[i]
		if from == "" {
			from = r.key
		}
		old, ok := r.have[from][now.ID]
		switch {
		case from != r.key && !ok && r.moved(&now):
		case old.Rev != now.Rev-1:
			r.misfits = append(r.misfits, now.ID)
		case from != r.key:
			r.edits[from].remove(&old)
			mine.put(nil, now)
		case ok:
			mine.put(&old, now)
		default:
			mine.put(nil, now)
		}
	}
	for _, k := range p.gone {
		if old, ok := r.have[r.key][k.id]; ok && old.Rev == k.rev {
			mine.remove(&old)
		} else {
			r.misfits = append(r.misfits, k.id)
		}
	}
	mine.drop = p.drop
	mine.next.outbox -= r.outbox
}

func (r *roller) recount(ctx context.Context) error {
	for _, e := range r.edits {
		if !e.dueOut {
			continue
		}
		if err := r.s.withImage(ctx, r.env, e.rec, func(m *image) error {
			if m.seq != e.rec.seq {
				return errLost
			}
			e.recount(m)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// endRoll removes the note of a commit that all bags did their part of.
func (s *State) endRoll(ctx context.Context, env string, f *forward) error {
	err := contend(ctx, func() error {
		i, err := s.get(ctx, headPart, headPrefix+env)
		if err != nil {
			return err
		}
		h, err := headOf(env, i)
		if err != nil || h.tx != f.number || !h.pending {
			return err
		}
		h.pending = false
		p := h.put()
		expr, values := p.condition()
		_, err = s.API.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String(newName()),
			TransactItems: []types.TransactWriteItem{
				{Put: &types.Put{TableName: &s.Table, Item: p.item, ConditionExpression: &expr, ExpressionAttributeValues: values}},
				{Delete: &types.Delete{TableName: &s.Table, Key: keyItem(recordPart(env), txSort)}},
			}})
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
