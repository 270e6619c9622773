package names

import (
	"maps"
	"slices"
)

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// sorted returns the values of a map in order.
func sorted(m map[string]string) []string { return slices.Sorted(maps.Values(m)) }
