package jinja

import "southbound/shared/lang/types"

// scope holds the names that a part of a template set. Loops and macros have their own; if does
// not.
type scope struct {
	vars  []namedValue
	outer *scope
	top   bool
	held  bool // something besides the part that is run may still look names up here
}

// newRound returns a scope for one round of a loop: with room for the loop and its target, which
// every round has, in one piece.
func newRound(outer *scope) *scope {
	made := &struct {
		scope
		room [2]namedValue
	}{}
	made.outer, made.vars = outer, made.room[:0]
	return &made.scope
}

// nextRound returns a scope for the round behind that of c: c itself, empty, unless it is held.
func (c *scope) nextRound() *scope {
	if c.held {
		return newRound(c.outer)
	}
	clear(c.vars)
	c.vars = c.vars[:0]
	return c
}

// hold has a scope and those around it stay as they are when the part that is run has ended.
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
