package eval

import (
	"fmt"
	"strings"

	"southbound/shared/diag"
)

// fail is a problem of a model. It gets its position while it propagates up: the innermost
// statement with a position sets it.
type fail struct {
	code    string
	message string
	hint    string
	at      *diag.Pos // the reported position
	by      *diag.Pos // the position of its statement; nil until it is known
	mark    *diag.Pos // the position of the wrong word, if it differs from at
	cause   *fail
	related []related
	// weight is the sort key of problems. A probable root cause has a lower weight than its
	// consequences.
	weight int
	// whole marks a message that names its object, so that it gets no prefix.
	whole bool
	// unset are variables that a plugin waits for. If there are any, the value is not a problem,
	// and the call is repeated later.
	unset []*variable
}

// related is a related position with its message.
type related struct {
	at      *diag.Pos
	message string
}

func failed(code string, at *diag.Pos, format string, args ...any) *fail {
	return &fail{code: code, message: fmt.Sprintf(format, args...), at: at, by: at, weight: 100}
}

// Error implements error.
func (f *fail) Error() string { return f.message }

func (f *fail) with(at *diag.Pos, message string) *fail {
	if at != nil {
		f.related = append(f.related, related{at, message})
	}
	return f
}

func (f *fail) advise(format string, args ...any) *fail {
	f.hint = fmt.Sprintf(format, args...)
	return f
}

// marking sets the position of the wrong word.
func (f *fail) marking(at *diag.Pos) *fail {
	f.mark = at
	return f
}

// ofValue sets the position of the wrong word to that of a value whose type is wrong.
func (f *fail) ofValue(at *diag.Pos) *fail {
	if f != nil && f.whole && f.mark == nil && (f.code == CodeType || f.code == CodeTypeCondition) {
		f.mark = at
	}
	return f
}

func (f *fail) heavy(weight int) *fail {
	f.weight = weight
	return f
}

// in sets the position of the statement of a problem. It keeps the position of an inner statement
// unless replace is true.
func (f *fail) in(at *diag.Pos, replace bool) *fail {
	if f == nil || len(f.unset) > 0 {
		return f
	}
	if f.cause != nil {
		f.cause.in(at, replace)
	}
	if replace || f.by == nil {
		if f.at == nil || f.by != nil && f.at == f.by {
			f.at = at
		}
		f.by = at
	}
	return f
}

// setting wraps the problem of setting an attribute.
func setting(o *Instance, name string, at *diag.Pos, cause *fail) *fail {
	if cause == nil || len(cause.unset) > 0 {
		return cause
	}
	if cause.code == CodeLimit || cause.code == CodeEndless { // a limit is no problem of the value
		return cause.in(at, false).growing(o, name, at)
	}
	return &fail{
		code:    cause.code,
		message: fmt.Sprintf("the attribute %s of %s cannot be set", name, o),
		at:      at,
		by:      at,
		cause:   cause,
		weight:  cause.weight + 1,
	}
}

// growing adds the size of a relation to the problem of a limit that was exceeded while the
// relation got a value. A loop over the relation may be the cause, if it adds to the relation.
func (f *fail) growing(o *Instance, name string, at *diag.Pos) *fail {
	const large = 1000 // more values than people intend
	v := o.variable(name)
	if v == nil || v.attr == nil || v.kind != many || len(v.late.list.Items) < large {
		return f
	}
	f.hint = "look for a loop over " + name + " that adds to it: the loop also visits the added values"
	return o.engine.roomier(f).with(at, fmt.Sprintf("this adds to %s, which has %d values already", v.of(),
		len(v.late.list.Items)))
}

// problem converts a fail to a diag.Problem. The innermost cause gives the message, and the outer
// ones give the related positions.
func (f *fail) problem() diag.Problem {
	inner := f
	var places []related
	for ; inner.cause != nil; inner = inner.cause {
		places = append(places, related{inner.at, inner.message})
		places = append(places, inner.related...)
	}
	p := diag.Problem{Code: inner.code, Message: inner.message, Hint: inner.hint}
	at := inner.at
	if f.at != nil && f != inner {
		at = f.at
		text := inner.message
		if p.Message = f.message + ": " + text; inner.whole {
			p.Message, text = text, "the value comes from here"
		}
		places = append([]related{{inner.at, text}}, places...)
	}
	if at != nil {
		p.Pos = *at
	}
	seen := map[diag.Pos]bool{}
	if inner.mark != nil && (f == inner || inner.whole) && p.File == inner.mark.File {
		if p.Line != inner.mark.Line { // at has the line that the reference compiler reports
			places = append([]related{{at, "it belongs to this"}}, places...)
		} else {
			seen[p.Pos] = true
		}
		p.Pos = *inner.mark
	}
	seen[p.Pos] = true
	for _, r := range append(places, inner.related...) {
		if r.at != nil && !seen[*r.at] {
			seen[*r.at] = true
			p.Related = append(p.Related, diag.Related{Pos: *r.at, Message: plainly(r.message)})
		}
	}
	p.Message, p.Hint = plainly(p.Message), plainly(p.Hint)
	return p
}

// plainly removes the internal namespace of main.cf, which models never write.
func plainly(text string) string {
	text = strings.ReplaceAll(text, " in the namespace "+Main, "")
	return strings.ReplaceAll(text, Main+"::", "")
}
