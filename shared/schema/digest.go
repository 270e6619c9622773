package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
)

// Digest returns a digest of all declarations, as far as these are data: two registries of one
// program that have the same relate resources in the same way. What a declaration has in code is
// the program's.
func (r *Registry) Digest() string {
	r.digest.once.Do(func() {
		h := sha256.New()
		for _, name := range r.names {
			r.types[name].digest(h)
		}
		r.digest.text = hex.EncodeToString(h.Sum(nil)[:8])
	})
	return r.digest.text
}

// digest adds what a type declares. JSON has the keys of maps in order.
func (c *Compiled) digest(h hash.Hash) {
	out := json.NewEncoder(h)
	put := func(values ...any) {
		if err := out.Encode(values); err != nil { // a default that JSON does not have, such as NaN
			_, _ = fmt.Fprintf(h, "%v\n", values)
		}
	}
	put(c.Name, c.Space, c.Aliases, c.Features, c.Titles, c.Rules, c.Assigned, c.Thing != nil,
		c.Gather != nil, c.Whole != nil, c.Within != nil, c.Keeps != nil)
	for i := range c.Attributes {
		a := &c.Attributes[i]
		put(a.Name, a.Type, a.Default, a.Behaviour)
	}
	for i := range c.Relations {
		d := &c.Relations[i]
		put(d.Kind, d.Type, d.Titles, d.Keys, d.Agent, d.Names != nil)
	}
}
