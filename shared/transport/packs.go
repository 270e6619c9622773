package transport

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/transport/options"
)

// Packs are the transports that packs bring, by their names. The zero value has none. It may be
// used by any number of goroutines.
type Packs struct{ byName map[string]brought }

// brought is a transport with its options, compiled as the attributes of a type.
type brought struct {
	*provider.Transport
	options *schema.Compiled
}

// agentOption names the agent in what options are compiled to, which has to be named by something;
// no option can have its name.
const agentOption = "agent_name"

// BroughtBy returns the transports that come with definitions. The error says what is wrong in the
// declaration of which.
func BroughtBy(definitions []provider.Definition) (Packs, error) {
	out := Packs{map[string]brought{}}
	for _, d := range definitions {
		t := d.Transport
		if t == nil {
			continue
		}
		if before, ok := out.byName[t.Name]; ok && before.Transport == t {
			continue
		}
		options, err := out.compile(t)
		if err != nil {
			return Packs{}, fmt.Errorf("the transport %q of %s: %w", t.Name, d.Type.Name, err)
		}
		out.byName[t.Name] = brought{t, options}
	}
	return out, nil
}

// Named returns the transport of a name, nil if no pack brings one.
func (p Packs) Named(name string) *provider.Transport { return p.byName[name].Transport }

// compile checks a declaration.
func (p Packs) compile(t *provider.Transport) (*schema.Compiled, error) {
	_, twice := p.byName[t.Name]
	switch {
	case slices.Contains(Names(), t.Name):
		return nil, declared("choose another one", "every program has a transport of this name")
	case twice:
		return nil, declared("types share a transport by the same pointer", "two have this name")
	case !schema.TransportName(t.Name):
		return nil, declared("names are like ssh: small letters, digits, - and _",
			"this is not a name of a transport")
	case t.Connect == nil:
		return nil, declared("set Connect", "it cannot be connected with")
	}
	typ := schema.Type{Name: "pack::Transport",
		Attributes: []schema.Attribute{
			{Name: agentOption, Type: "String", Behaviour: schema.Namevar}}}
	for _, o := range t.Options {
		if slices.Contains([]string{agentOption, "transport", "lanes"}, o.Name) {
			return nil, declared("choose another name", "no option can be called %s", o.Name)
		}
		if o.Behaviour != "" && o.Behaviour != schema.Property {
			return nil, declared("leave it out: options are given, and that is all",
				"the option %s has a behaviour", o.Name)
		}
		typ.Attributes = append(typ.Attributes, o)
	}
	registry, err := schema.NewRegistry(typ)
	if err != nil {
		return nil, err // it says what is wrong
	}
	compiled, _ := registry.Type(typ.Name)
	return compiled, nil
}

// declared is an error in a declaration.
func declared(hint, format string, args ...any) error {
	return fault.New(fault.Invalid, "", format, args...).WithHint("%s", hint)
}

// Names returns the names of all transports, those that packs bring last.
func (p Packs) Names() []string { return append(Names(), slices.Sorted(maps.Keys(p.byName))...) }

// Check is the function Check for a program that has these transports, too.
func (p Packs) Check(a resource.Agent) []diag.Problem {
	b, ok := p.byName[a.Transport]
	if !ok {
		return check(a, p.Names())
	}
	problems := options.Unknown(b.Name, a.Options, b.names())
	_, wrong := b.options.Check(b.known(a))
	for _, w := range wrong {
		w.Hint = b.hint(w)
		if a.Options[w.Attribute] != nil {
			w.Message = fmt.Sprintf("the option %s: %s", w.Attribute, w.Message)
		} else {
			w.Message = fmt.Sprintf("the option %s is missing", w.Attribute)
		}
		problems = append(problems, w)
	}
	slices.SortStableFunc(problems, func(a, b diag.Problem) int {
		return strings.Compare(a.Attribute, b.Attribute)
	})
	return problems
}

// names returns those of the options.
func (b brought) names() []string {
	var out []string
	for _, o := range b.Options {
		out = append(out, o.Name)
	}
	return out
}

// known returns the options of an agent that are declared, with what names it.
func (b brought) known(a resource.Agent) map[string]any {
	out := map[string]any{agentOption: a.Name}
	for _, o := range b.Options {
		if v, ok := a.Options[o.Name]; ok {
			out[o.Name] = v
		}
	}
	return out
}

// hint says what an option is.
func (b brought) hint(p diag.Problem) string {
	o, ok := b.options.Attribute(p.Attribute)
	if !ok || o.Description == "" {
		return p.Hint
	}
	return fmt.Sprintf("%s is %s: %s", p.Attribute, o.Type, o.Description)
}

// limit is how long connecting may take.
func (b brought) limit(fallback time.Duration) time.Duration {
	if b.Limit > 0 {
		return b.Limit
	}
	return fallback
}

// connect opens the connection of an agent with options whose references are resolved.
func (b brought) connect(ctx context.Context, agent string, given map[string]any) (any, error) {
	options := map[string]any{}
	for _, o := range b.Options {
		compiled, _ := b.options.Attribute(o.Name)
		switch v := given[o.Name]; {
		case v == nil && o.Default != nil:
			options[o.Name] = o.Default
		case v == nil:
		case compiled.DataType.Check(v) != nil: // it may be a secret, so it is not shown
			return nil, fault.New(fault.Invalid, "connect", "the option %s is not a valid %s",
				o.Name,
				o.Type).WithHint("%s", b.hint(diag.Problem{Attribute: o.Name}))
		default:
			options[o.Name] = v
		}
	}
	type opened struct {
		conn any
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		var o opened
		defer func() {
			if p := recover(); p != nil { // its text may hold an option
				o = opened{nil, fault.New(fault.Internal, "connect",
					"the transport %s panicked", b.Name)}
			}
			done <- o
		}()
		o.conn, o.err = b.Connect(ctx, agent, options)
	}()
	select {
	case o := <-done:
		return o.conn, o.err
	case <-ctx.Done():
		go func() { // what comes too late is not left open
			o := <-done
			if c, ok := o.conn.(io.Closer); ok && o.err == nil {
				_ = c.Close()
			}
		}()
		return nil, fault.New(fault.Unavailable, "connect",
			"the transport %s did not connect in time", b.Name)
	}
}
