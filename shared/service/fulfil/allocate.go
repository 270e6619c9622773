package fulfil

import (
	"southbound/shared/lang/lsm"
	"southbound/shared/service/inventory"
)

// allocations are values that allocators of modules have given to orders in compiles of which
// nothing was stored, by the id of the instance. The next compile of the order uses them, so that an
// allocator with a store of its own is called once for an order, unless the process ends.
type allocations map[string]allocated

// allocated are the values of one order.
type allocated struct {
	version int64 // of the instance: each change and each transfer is another one
	values  []lsm.Update
}

// of returns the values of the order that a record stands for.
func (a allocations) of(rec *inventory.Record) []lsm.Update {
	if one := a[rec.ID]; one.version == rec.Version {
		return one.values
	}
	return nil
}

// note keeps the values that a compile has got for orders.
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

// forget drops the values of an order that was stored.
func (a allocations) forget(rec *inventory.Record) {
	if a[rec.ID].version != rec.Version {
		delete(a, rec.ID)
	}
}

// allocation returns whether allocators of modules are called for a member. An instance that goes
// needs no values any more. Only what a compile says of the instances that it is for is stored.
func (m *members) allocation(one *member, purges bool) lsm.Allocation {
	switch {
	case !one.job || purges || one.rec.Closed:
		return lsm.AllocateNever
	case m.Preview:
		return lsm.AllocateLater
	}
	return lsm.AllocateNow
}
