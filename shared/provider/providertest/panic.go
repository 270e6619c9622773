package providertest

import (
	"fmt"
	"path"
	"runtime"
	"strings"
)

// panicError is a panic of a handler, told with the part of its stack that is not the suite's.
type panicError struct {
	call  string
	value any
	stack []string // innermost first
}

// Error names the call and shows the stack.
func (p *panicError) Error() string {
	at := ""
	if len(p.stack) > 0 {
		at = ", at\n\t" + strings.Join(p.stack, "\n\t")
	}
	in := ""
	if p.call != "" {
		in = " in " + p.call
	}
	return fmt.Sprintf("panic%s: %v%s", in, p.value, at)
}

// panicked returns what a deferred function has recovered as an error. call is "" when it was in no
// call of the handler, but in the case.
func panicked(call string, value any) error {
	if p, ok := value.(*panicError); ok {
		return p // a call within a call has named itself
	}
	return &panicError{call, value, stackOf()}
}

// stackOf returns the frames between the panic and the suite.
func stackOf() []string {
	pcs := make([]uintptr, 100)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var out []string
	for more, within := true, false; more; {
		var f runtime.Frame
		f, more = frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			within, out = true, nil
		case !within || strings.HasPrefix(f.Function, "runtime."):
		case ownFrame(f):
			return out
		default:
			out = append(out, fmt.Sprintf("%s (%s:%d)", path.Base(f.Function), path.Base(f.File),
				f.Line))
		}
	}
	return out
}

// ownFrame reports whether a frame is one by which the suite calls a handler.
func ownFrame(f runtime.Frame) bool {
	const packages = "southbound/shared/provider"
	if strings.HasSuffix(f.File, "_test.go") {
		return false
	}
	return strings.HasPrefix(f.Function, packages+"/providertest.") ||
		f.Function == packages+".Apply" || f.Function == packages+".ApplySync"
}
