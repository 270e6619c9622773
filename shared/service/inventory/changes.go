package inventory

import (
	"southbound/shared/fault"
)

const opWrite = "write instances"

// CheckChanges refuses what no store can write at once. Stores call it first.
func CheckChanges(changes []Change) error {
	if len(changes) == 0 || len(changes) > MaxChanges {
		return fault.New(fault.Invalid, opWrite, "there are %d changes, and may be 1 to %d",
			len(changes), MaxChanges)
	}
	seen := map[string]bool{}
	for i := range changes {
		r := &changes[i].Record
		if r.ID == "" || r.Service == "" {
			return fault.New(fault.Invalid, opWrite, "an instance has an id and a service")
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
	}
	return nil
}

// Page returns how many a page holds for a limit.
func Page(limit int) int {
	if limit <= 0 || limit > MaxPage {
		return MaxPage
	}
	return limit
}

// ErrTaken is the error of Write where another instance has the identity.
func ErrTaken(r *Record, other string) error {
	return fault.New(fault.Refused, opWrite, "there is an instance of %s with the identity %s: %s",
		r.Service, r.Identity, other).WithHint("use another identity, or change that instance")
}

// ErrLost is the error of Write where an instance would refer to one that is not there, or goes.
func ErrLost(r *Record, target string) error {
	return fault.New(fault.Refused, opWrite,
		"the instance %s leads to %s, which is not there or is being deleted", r.ID, target).
		WithHint("let it lead to another instance")
}

// ErrNeeded is the error of Write where an instance would go that another one refers to.
func ErrNeeded(r *Record, by string) error {
	return fault.New(fault.Refused, opWrite,
		"the instance %s is needed by %s, and cannot be deleted",
		r.ID, by).
		WithHint("delete that one first, or let it lead elsewhere")
}
