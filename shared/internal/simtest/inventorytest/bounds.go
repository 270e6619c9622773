package inventorytest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

func (s *suite) bounds() {
	s.refused(fault.Invalid)
	s.refused(fault.Invalid, record(1), record(1))
	for _, r := range []inventory.Record{
		{Service: "site"}, {ID: "x"}, {ID: "a/b", Service: "site"}, {ID: "x", Service: "a/b"},
		{ID: strings.Repeat("x", inventory.MaxName+1), Service: "site"},
		{ID: "x", Service: "site", Identity: strings.Repeat("x", inventory.MaxIdentity+1)},
		{ID: "x", Service: "site", References: make([]string, inventory.MaxReferences+1)},
		{ID: "x", Service: "site", Callback: strings.Repeat("x", inventory.MaxRecord)},
	} {
		s.refused(fault.Invalid, r)
	}
	var all []inventory.Record
	var changes []inventory.Change
	for n := range inventory.MaxChanges + 1 {
		r := record(n)
		// The largest share of a transaction that an instance can take: an identity, a task, a
		// delete and an event.
		r.Identity, r.Closed = fmt.Sprint(n), true
		r.Tasks, r.Due = []inventory.Task{{Kind: inventory.TaskContinue}}, began
		all = append(all, r)
		changes = append(
			changes,
			inventory.Change{Record: r, Events: []inventory.Event{{Kind: "x"}}},
		)
	}
	s.refused(fault.Invalid, all...)
	revs, err := s.h.A.Write(s.ctx, env, changes[1:])
	if err != nil {
		s.Fatal(err)
	}
	for i := range revs {
		r := &changes[i+1].Record
		r.Rev, r.Identity, r.Deleted, r.Tasks = revs[i], r.Identity+"x", true, nil
	}
	if _, err := s.h.B.Write(s.ctx, env, changes[1:]); err != nil {
		s.Error(err)
	}
	s.weight()
}

// weight makes instances refer to many others.
func (s *suite) weight() {
	var targets []string
	for n := range inventory.MaxReferences {
		targets = append(targets, s.put(record(100+n)).ID)
	}
	one, two := record(1000), record(1001)
	one.References, two.References = targets, targets
	s.refused(fault.Invalid, one, two)
	one, two = s.put(one), s.put(two)
	one.Deleted, two.Deleted = true, true
	revs, err := s.h.B.Write(s.ctx, env, []inventory.Change{{Record: one}, {Record: two}})
	if err != nil || len(revs) != 2 {
		s.Error(revs, err)
	}
}

// large stores the largest records and events, with incompressible content.
func (s *suite) large() {
	text := func(n int) string {
		random := rand.New(rand.NewPCG(1, 2)) // deterministic
		var b strings.Builder
		for b.Len() < n {
			b.WriteByte(
				"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[random.IntN(64)],
			)
		}
		return b.String()
	}
	const rest = 1000
	event := inventory.Event{
		Kind: "x", At: began, Message: text(inventory.MaxEvents - rest),
	}
	var changes []inventory.Change
	for n := range inventory.MaxBytes / (2*inventory.MaxRecord + inventory.MaxEvents) {
		r := record(n)
		r.Active = map[string]any{"text": text(inventory.MaxRecord - rest)}
		changes = append(changes, inventory.Change{Record: r, Events: []inventory.Event{event}})
	}
	revs, err := s.h.A.Write(s.ctx, env, changes)
	if err != nil {
		s.Fatal(err)
	}
	last := changes[len(changes)-1].Record
	last.Rev = revs[len(revs)-1]
	s.same("the record", last, s.read(last.ID))
	events, err := s.h.B.Events(s.ctx, env, last.ID, 0, 0)
	if event.Seq = 1; err != nil || len(events) != 1 || events[0].Message != event.Message {
		s.Errorf("%d events, %v", len(events), err)
	}
	s.tooLarge(text)
	page, err := s.h.B.Instances(s.ctx, env, inventory.Query{})
	if err != nil || len(page) != len(changes) {
		s.Errorf("%d records, %v", len(page), err)
	}
}

// tooLarge checks that events of one instance, and several instances, cannot exceed their bounds.
func (s *suite) tooLarge(text func(n int) string) {
	_, err := s.h.A.Write(s.ctx, env, []inventory.Change{{
		Record: record(100), Events: []inventory.Event{{Message: text(inventory.MaxEvents)}},
	}})
	if !is(err, fault.Invalid) {
		s.Errorf("large events: %v", err)
	}
	var all []inventory.Record
	for n := range inventory.MaxChanges {
		r := record(100 + n)
		r.Callback = text(inventory.MaxBytes / inventory.MaxChanges)
		all = append(all, r)
	}
	s.refused(fault.Invalid, all...)
}
