package eval

import (
	"fmt"
	"strings"

	"southbound/shared/diag"
)

// fail is what is wrong with a model. It finds its place on its way up: the innermost statement
// that has one gives it.
type fail struct {
	code    string
	message string
	hint    string
	at      *diag.Pos // where it is reported
	by      *diag.Pos // the place of the statement that it belongs to; nil as long as none is known
	mark    *diag.Pos // the word that is wrong, where that is not where it is reported
	cause   *fail
	related []related
	// weight orders several problems: what is more likely the reason of the others comes first.
	weight int
	// whole says that the message names what it is about, so that nothing is put before it.
	whole bool
	// unset are variables without which a plugin cannot go on. It is not a problem then.
	unset []*variable
}

// related is another place that takes part.
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

// marking says which word is wrong.
func (f *fail) marking(at *diag.Pos) *fail {
	f.mark = at
	return f
}

func (f *fail) heavy(weight int) *fail {
	f.weight = weight
	return f
}

// in says to which statement a problem belongs, unless an inner one is known, or it has to replace
// that.
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

// setting wraps what is wrong with the setting of an attribute.
func setting(o *Instance, name string, at *diag.Pos, cause *fail) *fail {
	if cause == nil || len(cause.unset) > 0 {
		return cause
	}
	if cause.code == CodeLimit || cause.code == CodeEndless { // which says nothing of the value
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

// growing adds to a bound that was met while a relation got a value how large that has become: a
// loop over it may add to it.
func (f *fail) growing(o *Instance, name string, at *diag.Pos) *fail {
	const large = 1000 // more than people mean
	v := o.variable(name)
	if v == nil || v.attr == nil || v.kind != many || len(v.late.list.Items) < large {
		return f
	}
	f.hint = "look for a loop over " + name + " that adds to it: what it adds is gone over as well"
	return o.engine.roomier(f).with(at, fmt.Sprintf("this adds to %s, which has %d values so far", v.of(),
		len(v.late.list.Items)))
}

// problem returns a problem for people: what is innermost says what is wrong, and what is around it
// where.
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
	if inner.mark != nil && f == inner && p.File == inner.mark.File {
		if p.Line != inner.mark.Line { // of a long expression: the line that the reference names
			places = append(places, related{at, "it belongs to this"})
		}
		p.Pos = *inner.mark
	}
	seen := map[diag.Pos]bool{p.Pos: true}
	for _, r := range append(places, inner.related...) {
		if r.at != nil && !seen[*r.at] {
			seen[*r.at] = true
			p.Related = append(p.Related, diag.Related{Pos: *r.at, Message: plainly(r.message)})
		}
	}
	p.Message, p.Hint = plainly(p.Message), plainly(p.Hint)
	return p
}

// plainly leaves out the namespace of main.cf, which nobody writes.
func plainly(text string) string {
	text = strings.ReplaceAll(text, " in the namespace "+Main, "")
	return strings.ReplaceAll(text, Main+"::", "")
}
