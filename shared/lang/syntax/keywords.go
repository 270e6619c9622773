package syntax

import (
	"maps"
	"slices"
)

// Keywords returns the words of the language in order.
func Keywords() []string { return slices.Sorted(maps.Keys(keywords)) }
