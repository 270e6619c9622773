package inventory

import (
	"errors"
	"slices"
	"strings"

	"southbound/shared/fault"
)

// Generation counts the writes of chosen values of a service. Allocators, for example, choose
// values by reading the values of all instances of the service. If two writers read the same
// generation, the first write moves it and the second write is rejected. So no two writers choose
// the same value.
type Generation struct {
	Service string `json:"service"`
	Number  int64  `json:"number"` // 0: the service had none yet
	// Last are the instances of the write that moved the generation. A reader has to see them at
	// these revisions or later, because a transaction of several items can be visible in part for a
	// moment.
	Last []Seen `json:"last,omitempty"`
}

// Seen is an instance at a revision.
type Seen struct {
	ID  string `json:"id"`
	Rev int64  `json:"rev"`
}

// Outdated is the number of a generation that no longer matches the records that were read.
const Outdated = -1

// errMoved is the cause of ErrMoved.
var errMoved = errors.New("choose again")

// ErrMoved is the error of Write if a generation has moved since it was read.
func ErrMoved(service string) error {
	return &fault.Error{
		Kind: fault.Conflict, Op: opWrite, Err: errMoved,
		Message: "another compile has chosen values for instances of " + service,
		Hint:    "compile again, with their current values",
	}
}

// IsMoved reports whether an error means that a generation has moved.
func IsMoved(err error) bool { return errors.Is(err, errMoved) }

// Generations returns the generations of changes after the write, sorted by service. revs are the
// revisions of the records after the write.
func Generations(changes []Change, revs []int64) ([]Generation, error) {
	var out []Generation
	for i := range changes {
		for _, g := range changes[i].Under {
			at := slices.IndexFunc(out, func(o Generation) bool { return o.Service == g.Service })
			switch {
			case g.Number < 0:
				return nil, ErrMoved(g.Service)
			case at < 0:
				at, out = len(out), append(out,
					Generation{Service: g.Service, Number: g.Number + 1})
			case out[at].Number != g.Number+1:
				return nil, fault.New(fault.Invalid, opWrite,
					"changes were made under the generations %d and %d of %s", out[at].Number-1,
					g.Number, g.Service)
			}
			out[at].Last = append(out[at].Last, Seen{changes[i].Record.ID, revs[i]})
		}
	}
	slices.SortFunc(out, func(a, b Generation) int { return strings.Compare(a.Service, b.Service) })
	return out, nil
}
