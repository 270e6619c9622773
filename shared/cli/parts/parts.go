// Package parts creates and connects the parts that the commands of one run share.
package parts

import (
	"southbound/shared/cli/actions"
	"southbound/shared/cli/batch"
	"southbound/shared/cli/home"
	"southbound/shared/cli/input"
	"southbound/shared/cli/output"
	"southbound/shared/cli/work"
)

// Parts is one run of the program: the parts that its commands share. root gives each command the
// parts that it needs.
type Parts struct {
	*output.Console
	*home.Location
	*home.Program
	*home.Session
	Docs    *input.Documents
	Waiter  *work.Waiter
	Results *work.Results
	Waves   *batch.Waves
	Actions *actions.Printer
	Orders  *home.OrderServer
}

// New creates an app and connects its parts.
func New(c *output.Console, l *home.Location, p *home.Program) *Parts {
	d := &input.Documents{Console: c, Location: l, Program: p}
	s := &home.Session{
		Console: c, Location: l, Program: p, FindPython: d.FindPython,
		Conns: &home.Connections{Program: p},
	}
	w := &work.Waiter{Console: c, Location: l, Session: s}
	return &Parts{
		Console: c, Location: l, Program: p, Session: s, Docs: d, Waiter: w,
		Results: &work.Results{Console: c, Location: l, Session: s, Docs: d},
		Waves:   &batch.Waves{Console: c, Location: l, Session: s, Waiter: w},
		Actions: &actions.Printer{Console: c, Location: l, Session: s},
		Orders:  &home.OrderServer{Console: c, Location: l, Session: s, Program: p},
	}
}
