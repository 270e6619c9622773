package cli

// app is one run of the program: the parts that its commands share. root gives each command the
// parts that it needs.
type app struct {
	*console
	*location
	*program
	*session
	docs    *documents
	waiter  *waiter
	results *results
	waves   *waves
	actions *actionPrinter
	orders  *orderServer
}

// newApp creates an app and connects its parts.
func newApp(c *console, l *location, p *program) *app {
	d := &documents{console: c, location: l, program: p}
	s := &session{
		console: c, location: l, program: p, findPython: d.findPython,
		conns: &connections{program: p},
	}
	w := &waiter{console: c, location: l, session: s}
	return &app{
		console: c, location: l, program: p, session: s, docs: d, waiter: w,
		results: &results{console: c, location: l, session: s, docs: d},
		waves:   &waves{console: c, location: l, session: s, waiter: w},
		actions: &actionPrinter{console: c, location: l, session: s},
		orders:  &orderServer{console: c, location: l, session: s, program: p},
	}
}
