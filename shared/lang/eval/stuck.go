package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// gives is a task that sets the value of a variable.
type gives interface{ gives() *variable }

func (c *compute) gives() *variable { return c.result.of }
func (c *calling) gives() *variable { return c.result }
func (l *later) gives() *variable   { return l.result }

// wait is a link of a chain of dependencies: a unit, and the variable that it waits for.
type wait struct {
	unit *unit
	on   *variable
}

// stuck returns the problem of a run that stopped with waiting statements: the chain of
// dependencies from a statement to the root cause.
func (e *scheduler) stuck() *fail {
	makers := e.makers()
	var statements []*unit
	for u := e.first; u != nil; u = u.next {
		if _, ok := u.task.(*compute); ok {
			statements = append(statements, u)
		}
	}
	if len(statements) == 0 {
		const text = "a statement waits for a value that never comes"
		return failed(CodeStuck, e.first.task.pos(), text)
	}
	chain, circle := longest(statements, makers)
	f := explained(chain, circle)
	const limit = 20
	for _, u := range statements[:min(len(statements), limit)] {
		f.with(u.task.pos(), "this waits too")
	}
	return f
}

// makers returns the unit that would set each variable, for the units that are left after the run
// has stopped.
func (e *scheduler) makers() map[*variable]*unit {
	if e.left == nil {
		e.left = map[*variable]*unit{}
		for u := e.first; u != nil; u = u.next {
			if g, ok := u.task.(gives); ok && g.gives() != nil {
				e.left[g.gives()] = u
			}
		}
	}
	return e.left
}

// why adds the dependencies of a variable without a value to its problem.
func (e *scheduler) why(f *fail, v *variable) {
	u := e.makers()[v]
	if u == nil {
		return
	}
	chain, circle := longest([]*unit{u}, e.makers())
	if len(chain) == 0 {
		return
	}
	for _, r := range explained(chain, circle).related {
		f.with(r.at, r.message)
	}
	f.hint = "a value was given, and waits for another one that never comes; follow the places"
}

// longest returns a chain of dependencies, and whether the chain is a cycle. If it finds a cycle,
// the chain has only the links of that cycle. Otherwise it returns the longest chain that ends at a
// variable which no unit sets.
func longest(from []*unit, makers map[*variable]*unit) ([]wait, bool) {
	var best []wait
	const limit = 100
	for _, u := range from[:min(len(from), limit)] {
		var chain []wait
		for u != nil {
			at := slices.IndexFunc(chain, func(w wait) bool { return w.unit == u })
			if at >= 0 {
				return firstFirst(assignments(chain[at:])), true
			}
			v := u.unset()
			chain = append(chain, wait{u, v})
			if v == nil {
				break
			}
			u = maker(v, makers)
		}
		if chain = assignments(chain); len(chain) > len(best) {
			best = chain
		}
	}
	return best, false
}

// maker returns the unit that will set a variable; nil if it is not known.
func maker(v *variable, makers map[*variable]*unit) *unit {
	for v.kind == proxy && v.far().to != nil {
		v = v.far().to
	}
	if v.kind == proxy {
		return v.far().by
	}
	return makers[v]
}

// unset returns the first variable that a unit waits for; nil if it is not known.
func (u *unit) unset() *variable {
	for _, v := range u.frame.vars {
		if v != nil && !v.isReady() {
			return v
		}
	}
	return nil
}

// assignments removes links that are parts of statements from a chain.
func assignments(chain []wait) []wait {
	return slices.DeleteFunc(slices.Clone(chain), func(w wait) bool {
		c, ok := w.unit.task.(*compute)
		return !ok || c.title() == ""
	})
}

// firstFirst rotates a cycle so that the statement with the lowest position is first.
func firstFirst(circle []wait) []wait {
	if len(circle) == 0 {
		return circle
	}
	first := slices.MinFunc(circle, func(a, b wait) int {
		x, y := a.unit.task.pos(), b.unit.task.pos()
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line),
			cmp.Compare(x.Column, y.Column))
	})
	i := slices.Index(circle, first)
	return append(slices.Clone(circle[i:]), circle[:i]...)
}

// title names the target of a statement: a variable, or an attribute of an instance.
func (c *compute) title() string {
	if c.instance != nil {
		return c.name + " of " + c.instance.String()
	}
	return c.name
}

// explained returns the problem that describes a chain.
func explained(chain []wait, circle bool) *fail {
	if len(chain) == 0 {
		const text = "statements wait for each other, or for values that never come"
		return failed(CodeStuck, nil, text)
	}
	titles := make([]string, len(chain))
	for i, w := range chain {
		titles[i] = w.unit.task.(*compute).title()
	}
	f := failed(CodeStuck, chain[0].unit.task.pos(), "")
	last := "a value that nothing gives"
	if circle {
		last = titles[0]
		f.hint = "give one of them a value that does not need the others"
	} else if v := chain[len(chain)-1].on.real(); v != nil && v.attr != nil {
		last = v.of() + ", which nothing sets"
		f.hint = "set " + v.attr.Name + ", or ask with `is defined` before"
	}
	for i, title := range titles {
		next := last
		if i+1 < len(titles) {
			next = titles[i+1]
		}
		f.with(chain[i].unit.task.pos(), title+" waits for "+next)
	}
	const limit = 5
	if len(titles) > limit {
		titles = append(titles[:limit], fmt.Sprintf("%d more", len(titles)-limit))
	}
	text := "never gets a value, because it waits for "
	if len(titles) == 1 && circle {
		f.message = titles[0] + " " + text + "itself"
		return f
	}
	f.message = titles[0] + " " + text + strings.Join(append(titles[1:], last),
		", which waits for ")
	return f
}
