package fulfil

import (
	"southbound/shared/lang/lsm"
	"southbound/shared/service/inventory"
)

// allocations holds values that module allocators gave in compiles whose results were not stored,
// by instance id. The next compile of the order reuses them. So an allocator with its own store is
// called once for an order, unless the process ends.
type allocations map[string]allocated

// allocated holds the values of one order.
type allocated struct {
	version int64 // of the instance: each change and each transfer increases it
	values  []lsm.Update
}

// of returns the values for the current order of an instance.
func (a allocations) of(rec *inventory.Record) []lsm.Update {
	if one := a[rec.ID]; one.version == rec.Version {
		return one.values
	}
	return nil
}

// note keeps the values that a compile got for orders.
func (a allocations) note(m *members, got []lsm.Update) {
	for id, one := range m.all {
		if !one.job {
			continue
		}
		kept := allocated{version: one.rec.Version}
		for _, u := range got {
			if u.Instance == id {
				kept.values = append(kept.values, u)
			}
		}
		if len(kept.values) > 0 {
			a[id] = kept
		}
	}
}

// forget drops the values of an order whose results were stored.
func (a allocations) forget(rec *inventory.Record) {
	if a[rec.ID].version != rec.Version {
		delete(a, rec.ID)
	}
}

// allocation returns whether allocators of modules are called for a member. Only results for
// instances with a job are stored, so no allocator is called for others. Instances that are being
// removed need no values either.
func (m *members) allocation(one *member, purges bool) lsm.Allocation {
	switch {
	case !one.job || purges || one.rec.Closed:
		return lsm.AllocateNever
	case m.Preview:
		return lsm.AllocateLater
	}
	return lsm.AllocateNow
}
