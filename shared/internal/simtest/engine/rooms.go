package engine

import (
	"math/rand/v2"
	"slices"
	"strings"

	"southbound/shared/resource"
)

// roomOf returns the room of a file or a folder, or "" for other types. A room holds either a file
// or a folder.
func roomOf(id resource.ID) string {
	if t := id.Type(); t != typeFile && t != typeFolder {
		return ""
	}
	return id.Agent() + "/" + room(nameOf(id))
}

// room returns the room in the name of a file or a folder. Their names differ in the last letter,
// as all names are unique.
func room(name string) string { return strings.TrimRight(name, "fd") }

// inRoom returns the id of the object of the given type in the same room.
func inRoom(typ string, id resource.ID) resource.ID {
	name := room(nameOf(id)) + map[string]string{typeFile: "f", typeFolder: "d"}[typ]
	return resource.NewID(typ, id.Agent(), resource.Key{Name: "name", Value: name})
}

// otherOf returns the alternative to an object: the other occupant of the room of a file or folder,
// or the other label. It returns "" for other types.
func otherOf(id resource.ID) resource.ID {
	switch id.Type() {
	case typeFile:
		return inRoom(typeFolder, id)
	case typeFolder:
		return inRoom(typeFile, id)
	case typeLabel:
		return relabelled(id)
	}
	return ""
}

// rooms adds the folders that may replace files.
func (d *drawer) rooms(rng *rand.Rand) {
	for i := range d.pool {
		s := &d.pool[i]
		if s.id.Type() != typeFile {
			continue
		}
		s.flags.PurgeOnDelete = rng.IntN(5) > 0
		folder := *s
		folder.id, folder.requires, folder.mouth = otherOf(s.id), slices.Clone(s.requires), ""
		folder.flags.PurgeOnDelete = rng.IntN(5) > 0
		d.pool, d.in = append(d.pool, folder), append(d.in, false)
	}
}

// swap exchanges the occupants of a room after resource i has entered or left the model.
func (d *drawer) swap(i int) {
	j := slices.IndexFunc(d.pool, func(o spec) bool { return o.id == otherOf(d.pool[i].id) })
	if j < 0 {
		return
	}
	d.in[j] = !d.in[i] && !d.one(4)
}

// instead replaces requirements by the current occupants of their rooms.
func instead(requires []resource.ID, in map[resource.ID]bool) []resource.ID {
	out := slices.Clone(requires)
	for i, id := range out {
		if other := otherOf(id); other != "" && in[other] && !in[id] {
			out[i] = other
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// room adds the order within rooms: the new occupant waits for the removal of the old one. The old
// occupant no longer waits for a resource that waits for its removal.
func (e *effective) room(c *content, removing map[resource.ID]map[resource.ID]bool) {
	leaves := map[string]int{}
	for i, id := range e.ids {
		if of := roomOf(id); c.entries[id] == nil && of != "" {
			leaves[of] = i
		}
	}
	if len(leaves) == 0 {
		return
	}
	for i, id := range e.ids {
		if j, ok := leaves[roomOf(id)]; ok && c.entries[id] != nil {
			e.needs[i] |= 1 << j
		}
	}
	e.close()
	for i, id := range e.ids {
		for j, other := range e.ids {
			if c.entries[id] == nil && c.entries[other] != nil && e.all[j]&(1<<i) != 0 {
				e.needs[i] &^= 1 << j
				delete(removing[id], other)
			}
		}
	}
	e.close()
}
