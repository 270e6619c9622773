package fs

import (
	"hash/maphash"
	"strings"
	"sync"

	"southbound/handlers/internal/disk"
	"southbound/handlers/internal/held"
	"southbound/shared/diff"
	"southbound/shared/provider"
)

// claim is a compact form of a resource's description of a whole file, directory or link.
type claim struct {
	path   string
	purged bool
	values [5]uint64 // hashes of claimed; 0: not described
}

// hashSeed is shared by all claims of this process.
var hashSeed = sync.OnceValue(maphash.MakeSeed)

func claimed() [5]string { return [5]string{"content", "target", "mode", "owner", "group"} }

func claimOf(r provider.Resource, purged bool) *claim {
	c := &claim{path: text(r, "path"), purged: purged}
	for i, name := range claimed() {
		if name == "content" && r.Attributes["replace"] == false {
			continue // it only sets the content of a new file
		}
		switch v := r.Attributes[name].(type) {
		case nil:
		case string:
			if name == "mode" {
				v = strings.TrimLeft(v, "0")
			}
			c.values[i] = maphash.String(hashSeed(), v)
		default:
			c.values[i] = maphash.Comparable(hashSeed(), v)
		}
	}
	return c
}

// isRight reports whether a whole file, directory or link has its described state.
func isRight(r provider.Resource, got provider.Reading) bool {
	switch {
	case got.Err != nil:
		return false
	case r.Purged || !got.Observation.Exists:
		return r.Purged && !got.Observation.Exists
	}
	names := claimed()
	return len(differences(r, got.Observation, names[:]...)) == 0
}

// contradicts returns the attribute in which a change would undo a claim on the same thing;
// "purged" if exactly one of the two removes it; "" if the change undoes nothing.
func (c *claim) contradicts(t *provider.BatchChange) string {
	own := claimOf(t.Resource, t.Change == diff.Purged)
	switch {
	case own.purged != c.purged:
		return "purged"
	case own.purged:
		return ""
	}
	for i, name := range claimed() {
		_, differs := t.Changes[name]
		if (differs || t.Change == diff.Created) && c.values[i] != 0 && own.values[i] != 0 &&
			c.values[i] != own.values[i] {
			return name
		}
	}
	return ""
}

// claim rejects a change that would undo the description of another resource of the same thing,
// which the other one reaches by another path. Otherwise it records the claim of this resource.
func (t *task) claim(table *held.Table[*claim], place string) error {
	for _, other := range table.At(place) {
		if other.ID == t.Resource.ID {
			continue
		}
		if disk.RealOf(other.Described.path) != place { // another directory has its number now
			table.Release(place, other.ID)
			continue
		}
		if name := other.Described.contradicts(t.BatchChange); name != "" {
			return provider.Errorf(provider.NeedsChange,
				"%s is the same thing as that of %s by another path, which describes another %s; "+
					"describe it once", t.Path, other.ID, name)
		}
	}
	t.place = place
	table.Hold(t.Ctx, t.Resource.ID, place, claimOf(t.Resource, t.Change == diff.Purged))
	return nil
}
