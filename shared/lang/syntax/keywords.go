package syntax

import (
	"maps"
	"slices"
)

// Keywords returns the sorted keywords of the language.
func Keywords() []string { return slices.Sorted(maps.Keys(keywords)) }
