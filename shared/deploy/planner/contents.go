package planner

import (
	"crypto/sha256"
	"sync"

	"southbound/shared/deploy/model"
	"southbound/shared/resource"
)

// Contents remembers of the versions that were made last what an export that only adds to one has
// to know of all of its resources. It never lies, as it goes by the digest of a version.
type Contents struct {
	mu       sync.Mutex
	byDigest map[string]*contents
}

// Bounds of what is remembered.
const (
	maxContents = 4
	maxKnown    = 50_000 // resources of a version
)

// NewContents returns a memory that is empty.
func NewContents() *Contents { return &Contents{byDigest: map[string]*contents{}} }

// contents is what is known of a version.
type contents struct {
	*index
	sums [][sha256.Size]byte // of the texts of its chunks
	more []resource.Resource // that the index has not yet
}

// index says what concerns others of the resources of a version. Those that follow from one another
// by additions share it: that one of them knows more than is in it only has it decline more.
type index struct {
	mu     sync.Mutex
	things map[model.Thing]bool // for which a resource stands
	wanted map[resource.ID]bool // to which a resource is related by its type
}

// add adds resources.
func (x *index) add(c *model.Checker, some []resource.Resource) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range some {
		if of, is := c.ThingOf(&some[i]); is {
			x.things[of] = true
		}
		for _, to := range c.Related(&some[i]) {
			x.wanted[to.ID] = true
		}
	}
}

// concerns reports whether a resource that is added may concern one that is there.
func (x *index) concerns(c *model.Checker, r *resource.Resource) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	of, is := c.ThingOf(r)
	return is && x.things[of] || x.wanted[r.ID]
}

func (c *Contents) get(digest string) *contents {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byDigest[digest]
}

// keep remembers what is known of a version. Few are in use at a time, so the memory is simply
// emptied when it is full.
func (c *Contents) keep(digest string, known *contents, by *model.Checker) {
	if c == nil || known == nil {
		return
	}
	known.add(by, known.more)
	known.more = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byDigest) >= maxContents {
		clear(c.byDigest)
	}
	c.byDigest[digest] = known
}

// contentsOf returns what there is to know of a version; nil if what is added to it may concern
// more than itself: references that may come to something else, and what is completed from others.
func contentsOf(
	c *model.Checker, resources []resource.Resource, sums [][sha256.Size]byte,
) *contents {
	if len(resources) > maxKnown {
		return nil
	}
	for i := range resources {
		if !known(&resources[i]) || c.Gathers(&resources[i]) {
			return nil
		}
	}
	x := &index{things: map[model.Thing]bool{}, wanted: map[resource.ID]bool{}}
	return &contents{x, sums, resources}
}
