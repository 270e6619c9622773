package source

import (
	"sort"

	"southbound/shared/diag"
)

// places implements model.Model.Where from the places that parts have recorded.
type places struct {
	parts []*part
	start []int // number of the first resource of each part
	total int
}

// resourceAt is the place of a resource; its members are consecutive in part.members.
type resourceAt struct {
	at       place
	from, to int32
}

// memberAt is the place of the value of a member or an attribute.
type memberAt struct {
	name string
	at   place
}

// add adds a part, which holds the next n resources.
func (w *places) add(p *part, n int) {
	if n > 0 {
		w.parts, w.start = append(w.parts, p), append(w.start, w.total)
		w.total += n
	}
}

// where returns the place of resource i, or of its named member or attribute, if it has one.
func (w *places) where(i int, name string) diag.Pos {
	if i < 0 || i >= w.total {
		return diag.Pos{}
	}
	n := sort.SearchInts(w.start, i+1) - 1
	p := w.parts[n]
	r := p.places[i-w.start[n]]
	at := r.at
	for _, m := range p.members[r.from:r.to] {
		if m.name == name && name != "" {
			at = m.at
		}
	}
	return at.in(p.file)
}
