package dynamo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Audit is the result of State.Audit.
type Audit struct {
	Rest    time.Time // until when the environment is quiet
	Pending bool      // a commit's roll-forward is not finished
	Orphans []string  // sort keys of unreferenced pieces; see DropOrphans
	// Problems describe inconsistencies: references to missing pieces, and summaries that do not
	// match the rows.
	Problems []string
}

// Audit reads all items and objects of an environment, and changes nothing. It reads them one after
// another, so concurrent changes may look like problems. The State must be new: otherwise Audit
// checks its cache.
func (s *State) Audit(ctx context.Context, env string) (Audit, error) {
	a := auditor{s: s.actions, env: env, pieces: map[string]bool{}}
	for _, f := range []func(context.Context) error{
		a.head, a.records, a.orphans, a.documents, a.pages,
	} {
		if err := f(ctx); err != nil {
			return a.out, err
		}
	}
	return a.out, nil
}

type auditor struct {
	s   *actions
	env string
	h   *head
	out Audit

	pieces map[string]bool // pieces that records name
}

func (a *auditor) problem(format string, args ...any) {
	a.out.Problems = append(a.out.Problems, fmt.Sprintf(format, args...))
}

// there records a problem if err is NotFound or Damaged. It returns any other error.
func (a *auditor) there(what string, err error) error {
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Damaged) {
		a.problem("%s: %v", what, err)
		return nil
	}
	return err
}

func (a *auditor) head(ctx context.Context) error {
	i, err := a.s.get(ctx, headPart, headPrefix+a.env)
	if err != nil {
		return err
	}
	if a.h, err = headOf(a.env, i); err != nil {
		return err
	}
	a.out.Rest, a.out.Pending = a.h.quiet(), a.h.pending
	return nil
}

func (a *auditor) records(ctx context.Context) error {
	noted := false
	var recs []*record
	err := a.s.query(ctx, partition(recordPart(a.env), "", true), func(i item) (bool, error) {
		key := attributevalue.TextOf(i, attrSort)
		switch key {
		case txSort:
			noted = true
			return true, a.document(ctx, key, i)
		case agentsSort:
			return true, nil
		}
		rec, err := a.s.recordOf(a.env, key, i)
		recs = append(recs, rec)
		return true, err
	})
	if err != nil {
		return err
	}
	if noted != a.h.pending {
		a.problem(
			"the head says %v of a commit that is being rolled forward, the records say %v",
			a.h.pending,
			noted,
		)
	}
	for _, rec := range recs {
		if err := a.tablet(ctx, rec); err != nil {
			return err
		}
	}
	return nil
}

// tablet reads all pieces of a tablet, and compares the result with its record.
func (a *auditor) tablet(ctx context.Context, rec *record) error {
	if rec.tx > a.h.tx {
		a.problem("%s took part in commit %d, and there were %d", rec.key, rec.tx, a.h.tx)
	}
	for _, r := range rec.refs {
		if r.kind == itemRef {
			_, sort := refKey(a.env, rec.key, r)
			a.pieces[sort] = true
		}
	}
	for _, l := range []idList{rec.running, rec.before, rec.conflicts} {
		if _, err := a.s.idsOf(ctx, l); a.there(rec.key+": list", err) != nil {
			return err
		}
	}
	lane, _ := laneOf(rec.key)
	b := &tablet{img: newImage(lane)}
	if err := a.s.load(ctx, a.env, b, rec); err != nil {
		return a.there(rec.key, err)
	}
	counts, tickets, due := map[rowKind]int{}, 0, time.Time{}
	for id, stored := range b.img.rows {
		r := stored.row(id, lane)
		counts[kindOf(&r)]++
		if r.Ticket() != 0 {
			tickets++
		}
		if !r.Timer().IsZero() && (due.IsZero() || r.Timer().Before(due)) {
			due = r.Timer()
		}
		if !rec.foreign && state.AgentOf(lane) != r.ID.Agent() {
			a.problem("%s has %s and does not say that it has rows of others", rec.key, r.ID)
		}
	}
	switch {
	case !maps.Equal(counts, rec.counts):
		a.problem("%s says that it has %v and has %v", rec.key, rec.counts, counts)
	case tickets != rec.tickets:
		a.problem("%s says that it has %d tickets and has %d", rec.key, rec.tickets, tickets)
	case !due.Equal(rec.due):
		a.problem("%s says that its first timer is %v, and it is %v", rec.key, rec.due, due)
	case len(b.img.outbox) != rec.outbox:
		a.problem(
			"%s says that its outbox has %d and it has %d",
			rec.key,
			rec.outbox,
			len(b.img.outbox),
		)
	}
	return nil
}

// orphans finds pieces that no record names.
func (a *auditor) orphans(ctx context.Context) error {
	return a.s.query(ctx, partition(itemPart(a.env), "", true), func(i item) (bool, error) {
		if sort := attributevalue.TextOf(i, attrSort); !a.pieces[sort] {
			a.out.Orphans = append(a.out.Orphans, sort)
		}
		return true, nil
	})
}

func (a *auditor) documents(ctx context.Context) error {
	i, err := a.s.get(ctx, recordPart(a.env), agentsSort)
	if err != nil {
		return err
	}
	if i != nil {
		if err := a.document(ctx, agentsSort, i); err != nil {
			return err
		}
	}
	return a.s.query(ctx, partition(versionPart(a.env), "", true), func(i item) (bool, error) {
		return true, a.document(ctx, "version "+attributevalue.TextOf(i, attrSort), i)
	})
}

func (a *auditor) document(ctx context.Context, what string, i item) error {
	x, err := documentIn(i)
	if err == nil {
		err = a.s.fetch(ctx, []entry{x})
	}
	return a.there(what, err)
}

// pages checks the stored actions.
func (a *auditor) pages(ctx context.Context) error {
	at, err := a.s.cursors(ctx, a.env)
	if err != nil {
		return err
	}
	f := finder{s: a.s, env: a.env, horizon: a.h.horizon, at: at, found: state.ActionSet{}}
	for shard := range uint32(shards) {
		if err := a.s.query(ctx, partition(pagePart(a.env, shard), "", true),
			func(i item) (bool, error) {
				list, err := pageEntries(i)
				if err != nil {
					return false, err
				}
				key, _ := pageOf(attributevalue.TextOf(i, attrSort))
				if key == paramsKey && a.s.log == nil {
					return true, nil // it is read only by way of the record
				}
				err = f.searchEntries(ctx, key, slices.Clone(list))
				return true, a.there("page "+attributevalue.TextOf(i, attrSort), err)
			}); err != nil {
			return err
		}
	}
	return nil
}
