package planner

import (
	"crypto/sha256"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// The next version, and the export that results in it.

// next is the version that an export would store.
type next struct {
	version, last state.Version
	fresh         bool                // it differs from the last one
	sums          [][sha256.Size]byte // of the texts of its chunks
	entries       []version.Entry
	blobs         []state.Blob
	volatile      bool
	stays         map[resource.ID]bool // entries that are unchanged, but for requirements
	delta         *delta               // the differences, if known; then there are no entries
	// the entries of the version in force, if the edit has read them
	base     map[resource.ID]version.Entry
	contents *version.Contents // its contents to cache; nil: none
}

// exporting is the part of an export that is serialised with other exports.
type exporting struct {
	*planning
	targets *targets       // the resources that the export selects; nil: all
	all     bool           // the caller needs all entries of the version
	check   bool           // the caller needs only the problems, and no version
	places  version.Places // of the resources of the export
	since   bool           // the export has only the changes since the last one
}

// delta is the difference of a version to the previous one that a bounded edit makes.
type delta struct {
	before map[resource.ID]version.Entry
	after  []version.Entry
	put    []*resource.Resource // the resources that the edit puts, also the unchanged ones
	stays  bool                 // their nodes in the graph stay as they are, and none leaves
	done   []resource.ID        // nodes of resources that left earlier and are purged by now
}

// setsOf returns the names of the sets of resources, sorted and without the shared set.
func setsOf(resources []resource.Resource) []string {
	seen := map[string]bool{}
	var sets []string
	for i := range resources {
		if s := resources[i].Set; s != "" && !seen[s] {
			seen[s] = true
			sets = append(sets, s)
		}
	}
	slices.Sort(sets)
	return sets
}
