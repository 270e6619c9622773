package problem

import (
	"strings"

	"southbound/shared/diag"
)

// PlaceMark begins the file of a position in a model without positions. The line is the index of
// the resource from 1, and an attribute of it follows; or the line is 0, and an agent follows.
const PlaceMark = "\x00"

// Placeless returns the position of a problem in a model without positions.
func Placeless(p diag.Pos) (at Place, is bool) {
	name, is := strings.CutPrefix(p.File, PlaceMark)
	if p.Line == 0 {
		return Place{Index: -1, Agent: name}, is
	}
	return Place{Index: p.Line - 1, Attribute: name}, is
}
