package inventory

import (
	"encoding/json"
	"slices"
	"strings"

	"southbound/shared/fault"
)

const opWrite = "write instances"

// CheckChanges rejects changes that no store can write in one call. Stores call it first.
func CheckChanges(changes []Change) error {
	if len(changes) == 0 || len(changes) > MaxChanges {
		return fault.New(fault.Invalid, opWrite, "there are %d changes, and may be 1 to %d",
			len(changes), MaxChanges)
	}
	seen, sum := map[string]bool{}, 0
	for i := range changes {
		r := &changes[i].Record
		if err := checkNames(r); err != nil {
			return err
		}
		if seen[r.ID] {
			return fault.New(
				fault.Invalid,
				opWrite,
				"there are two changes of the instance %s",
				r.ID,
			)
		}
		seen[r.ID] = true
		n, err := checkSize(&changes[i])
		if err != nil {
			return err
		}
		sum += n
	}
	if sum > MaxBytes {
		return fault.New(fault.Invalid, opWrite,
			"the instances have %d bytes of JSON together, which are kept twice, and may have %d",
			sum/2, MaxBytes/2).
			WithHint(HintFewer)
	}
	return nil
}

// HintFewer is the hint if a write is too large.
const HintFewer = "order fewer instances at once"

// checkNames rejects an instance with names that stores cannot index.
func checkNames(r *Record) error {
	for what, name := range map[string]string{"id": r.ID, "service": r.Service} {
		if name == "" || len(name) > MaxName || strings.Contains(name, "/") {
			return fault.New(
				fault.Invalid,
				opWrite,
				"an instance has an id and a service of 1 to %d bytes without a slash; the %s is "+
					"%.40q",
				MaxName,
				what,
				name,
			)
		}
	}
	switch {
	case len(r.Identity) > MaxIdentity:
		return fault.New(fault.Invalid, opWrite,
			"the identity of the instance %s has %d bytes, and may have %d",
			r.ID, len(r.Identity), MaxIdentity)
	case len(r.References) > MaxReferences:
		return fault.New(fault.Invalid, opWrite,
			"the instance %s leads to %d others, and may lead to %d",
			r.ID, len(r.References), MaxReferences).
			WithHint("reverse the relation, or put instances between them")
	}
	return nil
}

// checkSize returns the bytes of a change, and rejects a change that is too large.
func checkSize(c *Change) (int, error) {
	r := &c.Record
	body, err := json.Marshal(r)
	if err != nil {
		return 0, fault.New(fault.Invalid, opWrite, "the instance %s is not JSON: %v", r.ID, err)
	}
	if len(body) > MaxRecord {
		return 0, fault.New(fault.Invalid, opWrite,
			"the instance %s has %d bytes of JSON, and may have %d", r.ID, len(body), MaxRecord)
	}
	const kept = 2 // as the record, and as a version
	if len(c.Events) == 0 {
		return kept * len(body), nil
	}
	events, err := json.Marshal(c.Events)
	switch {
	case err != nil:
		return 0, fault.New(fault.Invalid, opWrite,
			"the events of the instance %s are not JSON: %v", r.ID, err)
	case len(events) > MaxEvents:
		return 0, fault.New(fault.Invalid, opWrite,
			"the events of the instance %s have %d bytes of JSON, and may have %d",
			r.ID, len(events), MaxEvents)
	}
	return kept*len(body) + len(events), nil
}

// The parts of a transaction, which has maxWeight of them. An instance takes perChange and a new
// reference takes perNew. A dropped reference and a generation take one each.
const (
	maxWeight = 100
	perChange = 8
	perNew    = 2
)

// CheckWeight rejects changes that add so many references that no store can write them in one call.
// Stores call it once they know the former references of the instances.
func CheckWeight(changes, come, gone, generations int) error {
	return checkWeight(maxWeight-generations, changes, come, gone)
}

func checkWeight(most, changes, come, gone int) error {
	if changes*perChange+come*perNew+gone <= most {
		return nil
	}
	return fault.New(fault.Invalid, opWrite,
		"%d instances that add relations to %d others and remove relations to %d are too many for one change",
		changes, come, gone).WithHint(HintFewer)
}

// Kept rejects a change of the service or the time of creation of an instance.
func Kept(r *Record, service string, created int64) error {
	if r.Service == service && r.Created.UnixMicro() == created {
		return nil
	}
	return fault.New(fault.Invalid, opWrite,
		"the service and the time of creation of the instance %s cannot be changed", r.ID)
}

// Leads returns the other instances that an instance needs, sorted, without duplicates. A deleted
// instance needs none.
func (r *Record) Leads() []string {
	if r.Deleted {
		return nil
	}
	out := slices.DeleteFunc(slices.Clone(r.References), func(id string) bool { return id == r.ID })
	slices.Sort(out)
	return slices.Compact(out)
}

// Page returns the page size for a limit.
func Page(limit int) int {
	if limit <= 0 || limit > MaxPage {
		return MaxPage
	}
	return limit
}

// Versions returns the number of versions that one call reads for a limit.
func Versions(limit int) int { return min(Page(limit), MaxVersions) }

// ErrChanged is the error of Write if a record has another revision than the one that was read.
func ErrChanged(r *Record) error {
	return fault.New(fault.Conflict, opWrite, "another has changed the instance %s", r.ID).
		WithHint("read it again, and decide again")
}

// ErrTaken is the error of Write if another instance has the identity.
func ErrTaken(r *Record, other string) error {
	return fault.New(fault.Refused, opWrite, "there is an instance of %s with the identity %s: %s",
		r.Service, r.Identity, other).WithHint("use another identity, or change that instance")
}

// ErrLost is the error of Write if an instance would refer to a missing or closed instance.
func ErrLost(r *Record, target string) error {
	return fault.New(fault.Refused, opWrite,
		"the instance %s leads to %s, which is not there or is being deleted", r.ID, target).
		WithHint("point it to another instance")
}

// Needed is the cause of ErrNeeded: an instance, and another instance that refers to it.
type Needed struct{ ID, By string }

// Error implements error.
func (n *Needed) Error() string {
	return "the instance " + n.ID + " is needed by " + n.By + ", and cannot be deleted"
}

// ErrNeeded is the error of Write for the end of an instance that another instance refers to.
func ErrNeeded(r *Record, by string) error { return needed(&Needed{r.ID, by}) }

// ErrNeededBy is ErrNeeded with the names that people use for the two instances.
func ErrNeededBy(name, by string) error { return needed(&Needed{name, by}) }

func needed(n *Needed) error {
	return &fault.Error{
		Kind: fault.Refused, Err: n, Hint: "delete that one first, or point it elsewhere",
	}
}
