package engine

import (
	"bytes"
	"maps"
	"slices"

	"github.com/klauspost/compress/zstd"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// content is the content of a version, as the checks read it.
type content struct {
	number  int
	ids     []resource.ID // ascending
	entries map[resource.ID]*item
	agents  []resource.Agent
	problem string // the reason why it cannot be read completely
}

// item is one resource of a version.
type item struct {
	res  *resource.Resource
	hash string
	body string
}

// readContent reads a version from its files.
func readContent(r *run, v *state.Version) *content {
	c := &content{number: v.Number, entries: map[resource.ID]*item{}, agents: v.Agents}
	for _, h := range v.Chunks {
		c.chunk(r, h)
	}
	c.ids = slices.Sorted(maps.Keys(c.entries))
	if c.problem == "" && len(c.ids) != v.Resources {
		c.problem = "its files hold another number of resources than it says"
	}
	for _, h := range v.Files {
		if _, ok := r.files.stored[h]; !ok {
			c.problem = "its file " + h + " is not stored"
		}
	}
	return c
}

func (c *content) chunk(r *run, hash string) {
	s, ok := r.files.stored[hash]
	if !ok {
		c.problem = "its file " + hash + " is not stored"
		return
	}
	text, err := r.unpack.DecodeAll(s.data, nil)
	if err != nil {
		c.problem = "its file " + hash + " cannot be read: " + err.Error()
		return
	}
	checkText(r, "a version", string(text))
	for line := range bytes.Lines(text) {
		h, body, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte("\t"))
		res, err := resource.Decode(body)
		if err != nil {
			c.problem = "its file " + hash + " does not decode: " + err.Error()
			return
		}
		c.entries[res.ID] = &item{res: res, hash: string(h), body: string(body)}
	}
}

// same reports whether two versions have the same content.
func (c *content) same(o *content) bool {
	return len(c.ids) == len(o.ids) && slices.EqualFunc(c.agents, o.agents, sameAgent) &&
		!slices.ContainsFunc(c.ids, func(id resource.ID) bool {
			a, b := c.entries[id], o.entries[id]
			return b == nil || a.hash != b.hash || a.body != b.body
		})
}

// newUnpacker returns the decoder of compressed files.
func newUnpacker() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
}

// effective is the graph of the released version, by the rules of the architecture. Requirements
// come first. Between two objects that must not exist, the order is reversed. A resource that left
// the model is purged after all of its former dependants.
type effective struct {
	ids   []resource.ID
	index map[resource.ID]int
	needs []uint64 // direct requirements
	all   []uint64 // direct and indirect requirements
}

// maxNodes is the maximum number of resources in a graph, one bit each.
const maxNodes = 64

// effectiveOf computes the graph of a version and of the resources being removed.
func effectiveOf(c *content, removing map[resource.ID]map[resource.ID]bool) *effective {
	e := orderOf(c, removing)
	e.room(c, removing)
	return e
}

// orderOf is effectiveOf without the order between objects that share a room.
func orderOf(c *content, removing map[resource.ID]map[resource.ID]bool) *effective {
	e := &effective{ids: slices.Clone(c.ids), index: map[resource.ID]int{}}
	for _, id := range slices.Sorted(maps.Keys(removing)) {
		if c.entries[id] == nil && len(e.ids) < maxNodes {
			e.ids = append(e.ids, id)
		}
	}
	for i, id := range e.ids {
		e.index[id] = i
	}
	if !e.fill(c, removing, func(int, int) bool { return false }) {
		circle := e.all // the nodes that require each other
		e.fill(c, removing, func(i, j int) bool {
			return circle[i]&(1<<j) != 0 && circle[j]&(1<<i) != 0
		})
	}
	return e
}

// fill computes the edges. It reverses edges between purged resources, unless stays returns true
// for them. It returns false if this results in a cycle.
func (e *effective) fill(
	c *content, removing map[resource.ID]map[resource.ID]bool, stays func(i, j int) bool,
) bool {
	e.needs = make([]uint64, len(e.ids))
	for i, id := range e.ids {
		en := c.entries[id]
		if en == nil {
			for of := range removing[id] {
				if j, ok := e.index[of]; ok {
					e.needs[i] |= 1 << j
				}
			}
			continue
		}
		for _, q := range en.res.Requires {
			j, ok := e.index[q]
			switch {
			case !ok:
			case en.res.Purged && c.entries[q] != nil && c.entries[q].res.Purged && !stays(i, j):
				e.needs[j] |= 1 << i
			default:
				e.needs[i] |= 1 << j
			}
		}
	}
	return e.close()
}

// close computes the indirect requirements. It returns false if there is a cycle.
func (e *effective) close() bool {
	e.all = slices.Clone(e.needs)
	for range e.ids {
		changed := false
		for i := range e.all {
			was := e.all[i]
			for j := range e.ids {
				if was&(1<<j) != 0 {
					e.all[i] |= e.all[j]
				}
			}
			changed = changed || e.all[i] != was
		}
		if !changed {
			break
		}
	}
	for i := range e.all {
		if e.all[i]&(1<<i) != 0 {
			return false
		}
	}
	return true
}
