package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
)

// Digest returns a digest of the data in all declarations. Within one program, two registries with
// the same digest relate resources in the same way. The parts of a declaration that are code belong
// to the program.
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

// digest adds the declaration of a type. JSON orders the keys of maps.
func (c *Compiled) digest(h hash.Hash) {
	out := json.NewEncoder(h)
	put := func(values ...any) {
		// fails for a default that JSON cannot represent, such as NaN
		if err := out.Encode(values); err != nil {
			_, _ = fmt.Fprintf(h, "%v\n", values)
		}
	}
	put(c.Name, c.Space, c.Aliases, c.Features, c.Titles, c.Rules, c.Assigned, c.Thing != nil,
		c.Gather != nil, c.Whole != nil, c.Within != nil, c.Keeps != nil, c.Outputs != nil)
	for i := range c.Attributes {
		a := &c.Attributes[i]
		put(a.Name, a.Type, a.Default, a.Behaviour)
	}
	for i := range c.Relations {
		d := &c.Relations[i]
		put(d.Kind, d.Type, d.Titles, d.Keys, d.Agent, d.Names != nil)
	}
}
