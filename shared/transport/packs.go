package transport

import (
	"cmp"
	"context"
	"errors"
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
	"southbound/shared/transport/internal/options"
	"southbound/shared/transport/ssh"
)

// Packs are the transports that packs bring, by their names. The zero value has none. It is safe
// for concurrent use.
type Packs struct{ byName map[string]brought }

// brought is a transport with its options, compiled as the attributes of a type.
type brought struct {
	*provider.Transport
	options *schema.Compiled
}

// agentOption names the agent in the compiled options, which need a naming attribute; no option can
// have its name.
const agentOption = "agent_name"

// BroughtBy returns the transports that come with definitions. It returns all problems together, as
// diag.Problems in which Resource is the name of the type. These are problems of the transports,
// and types that name transports which do not exist. If there are any, the other problems of the
// types are added.
func BroughtBy(definitions []provider.Definition) (Packs, error) {
	out := Packs{map[string]brought{}}
	var problems diag.Problems
	for _, d := range definitions {
		t := d.Transport
		if t == nil {
			continue
		}
		if before, ok := out.byName[t.Name]; ok && before.Transport == t {
			continue
		}
		options, wrong := out.compile(t)
		for _, p := range wrong {
			p.Resource, p.Attribute = cmp.Or(d.Type.Name, t.Name), ""
			p.Message = fmt.Sprintf("the transport %q: %s", t.Name, p.Message)
			problems.Add(p)
		}
		if _, taken := out.byName[t.Name]; !taken {
			out.byName[t.Name] = brought{t, options} // so that the types can be checked, too
		}
	}
	for i := range definitions {
		problems = append(problems, out.missing(&definitions[i].Type)...)
	}
	if len(problems) == 0 {
		return out, nil
	}
	// Report all problems together, so that the author can fix them in one pass.
	var types diag.Problems
	if _, err := provider.NewRegistry(definitions); errors.As(err, &types) {
		problems = append(types, problems...)
	}
	return Packs{}, problems
}

// missing returns a problem for each transport that a type names and that does not exist. Names
// that are not valid are problems of the type.
func (p Packs) missing(t *schema.Type) diag.Problems {
	var problems diag.Problems
	for _, name := range t.Transports {
		if !schema.TransportName(name) || slices.Contains(p.Names(), name) {
			continue
		}
		hint := "there are " + strings.Join(p.Names(), ", ") + "; one that a pack brings stands in " +
			"Transport of a Definition"
		if near := schema.Nearest(name, p.Names()); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		problems.Add(diag.Problem{Resource: t.Name, Hint: hint,
			Message: fmt.Sprintf("no transport of this program is called %q", name)})
	}
	return problems
}

// Named returns the transport of a name, nil if no pack brings one.
func (p Packs) Named(name string) *provider.Transport { return p.byName[name].Transport }

// compile checks a declaration and returns all its problems.
func (p Packs) compile(t *provider.Transport) (*schema.Compiled, diag.Problems) {
	var problems diag.Problems
	bad := func(hint, format string, args ...any) {
		problems.Add(diag.Problem{Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	_, twice := p.byName[t.Name]
	switch {
	case slices.Contains(Names(), t.Name):
		bad("choose another one", "every program has a transport of this name")
	case twice:
		bad("types share a transport by the same pointer", "two have this name")
	case !schema.TransportName(t.Name):
		bad("names are like ssh: small letters, digits, - and _",
			"this is not a name of a transport")
	}
	if t.Connect == nil {
		bad("set Connect", "it cannot be connected with")
	}
	typ := schema.Type{Name: "pack::Transport",
		Attributes: []schema.Attribute{
			{Name: agentOption, Type: "String", Behaviour: schema.Namevar}}}
	for _, o := range t.Options {
		switch {
		case slices.Contains([]string{agentOption, "transport", "lanes"}, o.Name):
			bad("choose another name", "no option can be called %s", o.Name)
			continue
		case o.Behaviour != "" && o.Behaviour != schema.Property:
			bad("leave it out: options are given, and that is all",
				"the option %s has a behaviour", o.Name)
			o.Behaviour = schema.Property
		}
		typ.Attributes = append(typ.Attributes, o)
	}
	registry, err := schema.NewRegistry(typ)
	var wrong diag.Problems
	switch {
	case errors.As(err, &wrong):
		for _, w := range wrong {
			bad(w.Hint, "%s", optionText(w))
		}
	case err != nil:
		bad("", "%v", err)
	default:
		compiled, _ := registry.Type(typ.Name)
		return compiled, problems
	}
	return nil, problems
}

// optionText returns the text of an option's problem in the form for an attribute.
func optionText(p diag.Problem) string {
	if p.Attribute == "" {
		return p.Message
	}
	return fmt.Sprintf("the option %s: %s", p.Attribute, p.Message)
}

// Names returns the names of all transports, those of packs last.
func (p Packs) Names() []string { return append(Names(), slices.Sorted(maps.Keys(p.byName))...) }

// ByRunner reports whether a runner on a machine of users serves an agent in the AWS home, that is
// `southbound agent run`, because no function reaches its things.
func (p Packs) ByRunner(a resource.Agent) bool {
	switch a.Transport {
	case "", NameLocal:
		return true
	case NameSSH:
		return ssh.ByRunner(a.Options)
	}
	b, brought := p.byName[a.Transport]
	return brought && b.Runner
}

// Check is the function Check for a program that also has these transports.
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

// names returns the names of the options.
func (b brought) names() []string {
	var out []string
	for _, o := range b.Options {
		out = append(out, o.Name)
	}
	return out
}

// known returns the declared options of an agent, with its name as an option.
func (b brought) known(a resource.Agent) map[string]any {
	out := map[string]any{agentOption: a.Name}
	for _, o := range b.Options {
		if v, ok := a.Options[o.Name]; ok {
			out[o.Name] = v
		}
	}
	return out
}

// hint describes an option.
func (b brought) hint(p diag.Problem) string {
	o, ok := b.options.Attribute(p.Attribute)
	if !ok || o.Description == "" {
		return p.Hint
	}
	return fmt.Sprintf("%s is %s: %s", p.Attribute, o.Type, o.Description)
}

// limit is how long a connection may take to open.
func (b brought) limit(fallback time.Duration) time.Duration {
	if b.Limit > 0 {
		return b.Limit
	}
	return fallback
}

// fitting returns the value of an option, if it is of its type. The value of a resolved reference
// is text, which may be that of a number, or JSON.
func fitting(t *schema.DataType, v any) (any, bool) {
	text, is := v.(string)
	if err := t.Check(v); err == nil || !is {
		return v, err == nil
	}
	v, err := t.Coerce(text)
	return v, err == nil
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
		default:
			var ok bool
			if options[o.Name], ok = fitting(compiled.DataType, v); !ok { // the value may be a secret
				return nil, fault.New(fault.Invalid, "connect", "the option %s is not a valid %s",
					o.Name, o.Type).WithHint("%s", b.hint(diag.Problem{Attribute: o.Name}))
			}
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
			if p := recover(); p != nil { // the text of the panic may contain an option
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
		go func() { // close a connection that is made too late
			o := <-done
			if c, ok := o.conn.(io.Closer); ok && o.err == nil {
				_ = c.Close()
			}
		}()
		return nil, fault.New(fault.Unavailable, "connect",
			"the transport %s did not connect in time", b.Name)
	}
}
