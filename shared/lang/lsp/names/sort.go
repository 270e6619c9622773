package names

import (
	"maps"
	"slices"
)

// sortedKeys returns the sorted keys of a map.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// sorted returns the sorted values of a map.
func sorted(m map[string]string) []string { return slices.Sorted(maps.Values(m)) }
