package fulfil

import (
	"cmp"
	"context"
	"slices"

	"southbound/shared/fault"
	"southbound/shared/lang/lsm"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// member is an instance that takes part in a compile.
type member struct {
	rec  *inventory.Record
	set  lifecycle.Set // the set that is compiled; "" if the member is not compiled
	mine bool          // it is a target of the compile, or has the same owner as one
	gone bool          // its resources will never be deployed again
	job  bool          // it is a target of the compile
}

// members are the instances that take part in a compile: its targets, the instances of the same
// owner, and all instances that these refer to.
type members struct {
	*Config
	defs       *definitions
	given      allocations
	validating bool
	all        map[string]*member
	open       []*member
	// under are the generations of the services whose other instances the model has read.
	under []inventory.Generation
}

// members returns the instances that take part in a compile for jobs.
func (c *compiler) members(ctx context.Context, jobs []job, validating bool) (*members, error) {
	m := &members{
		Config: c.Config, defs: c.defs, given: c.given, validating: validating,
		all: map[string]*member{},
	}
	for _, j := range jobs {
		set := lifecycle.Set(j.task.Set)
		if !validating {
			set = deployed(j.rec)
		}
		m.add(&member{rec: j.rec, set: set, mine: true, job: true})
	}
	for len(m.open) > 0 {
		one := m.open[0]
		m.open = m.open[1:]
		if err := m.follow(ctx, one); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// deployed returns the set that is deployed for an instance.
func deployed(rec *inventory.Record) lifecycle.Set {
	if rec.Active == nil {
		return lifecycle.Candidate
	}
	return lifecycle.Active
}

// deploy reports whether any target of the compile is deployed, now or later.
func (m *members) deploy() bool {
	for _, one := range m.all {
		if one.mine && !one.gone {
			return true
		}
	}
	return false
}

func (m *members) add(one *member) {
	m.all[one.rec.ID] = one
	m.open = append(m.open, one)
}

// follow adds the instances that a member refers to, and those of the same owner.
func (m *members) follow(ctx context.Context, one *member) error {
	k, err := m.defs.of(ctx, one.rec, one.rec.Definition)
	if err != nil {
		return err
	}
	one.gone = !k.Service.Lifecycle.Deploys(one.rec.State)
	above := owners(&k.Service, one.rec)
	for _, id := range one.rec.References {
		if err := m.other(ctx, id, one.mine && slices.Contains(above, id)); err != nil {
			return err
		}
	}
	if one.mine && len(k.Service.OwnedEntities) > 0 {
		return m.addOwned(ctx, one.rec.ID)
	}
	return nil
}

// addOwned adds the instances of an owner.
func (m *members) addOwned(ctx context.Context, owner string) error {
	refer, err := m.Instances.ReferredBy(ctx, m.Env, owner)
	if err != nil {
		return err
	}
	for _, id := range refer {
		rec, err := m.Instances.Instance(ctx, m.Env, id)
		if err != nil {
			return err
		}
		k, err := m.defs.of(ctx, &rec, rec.Definition)
		if err != nil {
			return err
		}
		if !slices.Contains(owners(&k.Service, &rec), owner) {
			continue // it refers to the owner without being owned by it
		}
		if err := m.other(ctx, id, true); err != nil {
			return err
		}
	}
	return nil
}

// owners returns the owners of an instance in its sets.
func owners(s *definition.Service, rec *inventory.Record) []string {
	if s.Owner == nil || s.RelationToOwner == nil {
		return nil
	}
	var out []string
	for _, set := range []map[string]any{rec.Candidate, rec.Active, rec.Rollback} {
		if id, ok := set[*s.RelationToOwner].(string); ok {
			out = append(out, id)
		}
	}
	return out
}

// other adds an instance that takes part because of another member.
func (m *members) other(ctx context.Context, id string, mine bool) error {
	if have := m.all[id]; have != nil {
		if mine && !have.mine {
			have.mine = true
			m.open = append(m.open, have)
		}
		return nil
	}
	rec, err := m.Instances.Instance(ctx, m.Env, id)
	if fault.KindOf(err) == fault.NotFound {
		return nil // the compile reports that it is missing
	}
	if err != nil {
		return err
	}
	k, err := m.defs.of(ctx, &rec, rec.Definition)
	if err != nil {
		return err
	}
	set := lifecycle.NoSet
	if s, ok := k.Service.Lifecycle.State(rec.State); ok && !rec.Deleted {
		switch {
		case m.validating:
			set = s.ValidateOthers
		case s.ExportResources:
			set = deployed(&rec)
		}
	}
	m.add(&member{rec: &rec, set: set, mine: mine})
	return nil
}

// attributes returns a set of an instance.
func attributes(rec *inventory.Record, set lifecycle.Set) map[string]any {
	switch set {
	case lifecycle.Candidate:
		return rec.Candidate
	case lifecycle.Active:
		return rec.Active
	case lifecycle.Rollback:
		return rec.Rollback
	case lifecycle.NoSet:
	}
	return nil
}

// made returns the digest of the definition that a set was made for.
func made(rec *inventory.Record, set lifecycle.Set) string {
	switch set {
	case lifecycle.Candidate:
		return cmp.Or(rec.Made.Candidate, rec.Definition)
	case lifecycle.Active:
		return cmp.Or(rec.Made.Active, rec.Definition)
	case lifecycle.Rollback:
		return cmp.Or(rec.Made.Rollback, rec.Definition)
	case lifecycle.NoSet:
	}
	return rec.Definition
}

// services returns the instances for the module lsm.
func (m *members) services(ctx context.Context) (*lsm.Services, error) {
	var in []*member
	for _, one := range m.all {
		if attributes(one.rec, one.set) != nil {
			in = append(in, one)
		}
	}
	slices.SortFunc(in, func(a, b *member) int {
		return cmp.Or(a.rec.Created.Compare(b.rec.Created), cmp.Compare(a.rec.ID, b.rec.ID))
	})
	all := make([]lsm.Instance, 0, len(in))
	for _, one := range in {
		k, err := m.defs.of(ctx, one.rec, one.rec.Definition)
		if err != nil {
			return nil, err
		}
		of, err := m.defs.of(ctx, one.rec, made(one.rec, one.set))
		if err != nil {
			return nil, err
		}
		s, ok := k.Service.Lifecycle.State(one.rec.State)
		all = append(all, lsm.Instance{
			ID: one.rec.ID, Service: one.rec.Service, ServiceVersion: one.rec.ServiceVersion,
			Version: one.rec.Version, State: one.rec.State, Purge: ok && s.PurgeResources,
			Attributes: inventory.Typed(&of.Service.Part, attributes(one.rec, one.set)),
			Sets:       setsFor(one.rec), Set: one.set,
			Allocation: m.allocation(one, ok && s.PurgeResources), Earlier: m.given.of(one.rec),
		})
	}
	out := lsm.NewServices(all)
	out.Others = func(service string) ([]lsm.Instance, error) {
		return m.others(ctx, service)
	}
	return out, nil
}

// setsFor returns the sets of an instance, for allocators.
func setsFor(rec *inventory.Record) lsm.Sets {
	return lsm.Sets{Candidate: rec.Candidate, Active: rec.Active, Rollback: rec.Rollback}
}

// others returns the instances of a service that do not take part. It reads the generation first:
// values that the model chooses by these instances are written under it.
func (m *members) others(ctx context.Context, service string) ([]lsm.Instance, error) {
	g, err := m.Instances.Generation(ctx, m.Env, service)
	if err != nil {
		return nil, err
	}
	seen := map[string]int64{}
	out, err := m.outsiders(ctx, service, seen)
	if err != nil {
		return nil, err
	}
	for _, last := range g.Last {
		if seen[last.ID] >= last.Rev {
			continue
		}
		// the instance may be deleted, or belong to another service
		rec, err := m.Instances.Instance(ctx, m.Env, last.ID)
		if err != nil {
			return nil, err
		}
		if rec.Rev < last.Rev || rec.Service == service && !rec.Deleted {
			g.Number = inventory.Outdated
		}
	}
	for id, one := range m.all { // members were read before the generation
		if rev, ok := seen[id]; ok && rev != one.rec.Rev {
			g.Number = inventory.Outdated
		}
	}
	m.under = append(m.under, inventory.Generation{Service: service, Number: g.Number})
	return out, nil
}

// outsiders returns the instances of a service that do not take part. It records the revisions of
// all instances of the service in seen.
func (m *members) outsiders(
	ctx context.Context, service string, seen map[string]int64,
) ([]lsm.Instance, error) {
	var out []lsm.Instance
	q := inventory.Query{Service: service, Limit: inventory.MaxPage}
	for {
		page, err := m.Instances.Instances(ctx, m.Env, q)
		if err != nil {
			return nil, err
		}
		for i := range page {
			rec := &page[i]
			seen[rec.ID] = rec.Rev
			if one := m.all[rec.ID]; one != nil && attributes(one.rec, one.set) != nil {
				continue
			}
			out = append(out, lsm.Instance{
				ID: rec.ID, Service: service, ServiceVersion: rec.ServiceVersion,
				Version: rec.Version, State: rec.State, Sets: setsFor(rec),
			})
		}
		if len(page) < q.Limit {
			return out, nil
		}
		q.After = &page[len(page)-1]
	}
}
