package providertest

import (
	"fmt"
	"runtime/debug"

	"southbound/shared/provider"
)

// callOf returns the name of a method call in messages.
func callOf(method string, r provider.Resource) string {
	return fmt.Sprintf("%s of %s", method, r.ID)
}

// call runs f, a call of a method for a resource.
func (e *env) call(method string, r provider.Resource, f func() error) error {
	return e.named(callOf(method, r), f)
}

// named runs f, the call with a name. It records the call's error, and adds the name to a panic.
func (e *env) named(name string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			panic(panicked(name, p))
		}
	}()
	if err = f(); err != nil {
		e.host.say(name, "an error", err.Error())
	}
	return err
}

// panicError is a panic of a handler.
type panicError struct {
	call  string
	value any
	stack []byte
}

// Error names the call and shows the stack.
func (p *panicError) Error() string {
	in := ""
	if p.call != "" {
		in = " in " + p.call
	}
	return fmt.Sprintf("panic%s: %v\n%s", in, p.value, p.stack)
}

// panicked returns a recovered panic as an error. call is "" for a panic in the case.
func panicked(call string, value any) error {
	if p, ok := value.(*panicError); ok {
		return p // recovered before, with its call
	}
	return &panicError{call, value, debug.Stack()}
}
