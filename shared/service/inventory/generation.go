package inventory

import (
	"errors"
	"slices"
	"strings"

	"southbound/shared/fault"
)

// Generation counts the writes of values that were chosen by looking at what the instances of a
// service have, as allocators do. Of two writers that have looked at the same generation, the first
// one moves it, and the other one is refused, so that none gives what the other has given.
type Generation struct {
	Service string `json:"service"`
	Number  int64  `json:"number"` // 0: there was none yet
	// Last are the instances that were written when it moved, which a reader has to see at those
	// revisions or later: a transaction of several items may be seen in parts for a moment.
	Last []Seen `json:"last,omitempty"`
}

// Seen is an instance at a revision.
type Seen struct {
	ID  string `json:"id"`
	Rev int64  `json:"rev"`
}

// Outdated is the number of a generation that is no longer the one of what was read.
const Outdated = -1

// errMoved is the cause of ErrMoved.
var errMoved = errors.New("choose anew")

// ErrMoved is the error of Write where a generation has moved since it was read.
func ErrMoved(service string) error {
	return &fault.Error{
		Kind: fault.Conflict, Op: opWrite, Err: errMoved,
		Message: "others have chosen values for instances of " + service + " meanwhile",
		Hint:    "compile again, with what they have now",
	}
}

// IsMoved reports whether an error is that of a generation that has moved.
func IsMoved(err error) bool { return errors.Is(err, errMoved) }

// Generations returns those under which changes are written, by service, each as it is after the
// write; revs are those of the records then.
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
