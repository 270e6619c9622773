package jinja

import "southbound/shared/lang/types"

// scope holds the names that a part of a template set. Loops and macros have scopes of their own;
// if statements do not.
type scope struct {
	vars  []namedValue
	outer *scope
	top   bool
	held  bool // other users than the running part may still read it
}

// newRound returns a scope for one round of a loop. It allocates space for the two names that every
// round sets, loop and its target, together with the scope.
func newRound(outer *scope) *scope {
	made := &struct {
		scope
		room [2]namedValue
	}{}
	made.outer, made.vars = outer, made.room[:0]
	return &made.scope
}

// nextRound returns a scope for the round after that of c: c itself, cleared, unless it is held.
func (c *scope) nextRound() *scope {
	if c.held {
		return newRound(c.outer)
	}
	clear(c.vars)
	c.vars = c.vars[:0]
	return c
}

// hold keeps a scope and its outer scopes unchanged after the running part has ended.
func (c *scope) hold() {
	for ; c != nil && !c.held; c = c.outer {
		c.held = true
	}
}

func (c *scope) set(name string, v types.Value) {
	for i := range c.vars {
		if c.vars[i].name == name {
			c.vars[i].value = v
			return
		}
	}
	c.vars = append(c.vars, namedValue{name, v})
}

func (c *scope) get(name string) (types.Value, bool) {
	for ; c != nil; c = c.outer {
		for i := range c.vars {
			if c.vars[i].name == name {
				return c.vars[i].value, true
			}
		}
	}
	return nil, false
}
