package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/types"
)

// Plugin is a function that models can call.
type Plugin struct {
	Name   string // with its namespace: std::count
	Doc    string // the effect and the result, in a sentence or more; parameters by their names
	Params []Param
	Rest   *Param // *args: the type of further positional values; nil if the plugin accepts none
	Named  *Param // **kwargs: the type of further named values; nil if the plugin accepts none
	Result string // type of the result, in the syntax of Param.Type
	// AllowUnknown passes unknown arguments to the plugin. Otherwise, if an argument is unknown,
	// the result is unknown without a call.
	AllowUnknown bool
	// InContext marks a plugin that needs the Context of a call in a model. A typedef cannot call
	// such a plugin.
	InContext  bool
	Deprecated bool
	ReplacedBy string // the plugin to use instead of a deprecated one
	Call       func(c *Context, a Args) (types.Value, error)
	// At is the position of the definition; nil for a built-in plugin.
	At *diag.Pos
}

// pos returns the position of the definition. For a built-in plugin, the name takes the place of
// the file.
func (p *Plugin) pos() *diag.Pos {
	if p.At != nil {
		return p.At
	}
	return &diag.Pos{File: p.Name}
}

// PluginError is the error of a plugin that reports positions of its own.
type PluginError struct {
	Message string
	Hint    string
	// Code is the code of the problem; "" stands for CodePlugin. CodeArguments marks a call that is
	// invalid for all values.
	Code   string
	Places []diag.Related // the position of the error first
}

// Error implements error.
func (e *PluginError) Error() string { return e.Message }

// Param is a parameter of a plugin.
type Param struct {
	Name string
	// Type is a type in the syntax of models (string, int[], std::Host, port?), or list, dict, any
	// or null. The character | separates alternatives.
	Type string
	// Default is the value for calls without this argument; nil if the argument is required.
	Default types.Value
	// ByName marks a parameter that callers can only pass by name.
	ByName bool
}

// Args are the arguments of a call. Values has one value for each of Plugin.Params, in the same
// order. Rest has the values for Plugin.Rest. Named has the values for Plugin.Named, or is nil.
type Args struct {
	Values []types.Value
	Rest   []types.Value
	Named  *types.Dict

	from []origin // the origins of Values
}

// origin is the place of an argument in the text of a call.
type origin struct {
	literal bool      // the value stands there as a literal
	at      *diag.Pos // nil if the value stands in no text
}

// Literal reports whether the text of the call contains the argument as a literal, so that the
// value comes from the author of the model. Variables, attributes and interpolated texts are not
// literals. Neither are the arguments of a call from another plugin or a template.
func (a Args) Literal(i int) bool { return i < len(a.from) && a.from[i].literal }

// Text returns a string argument; "" for null.
func (a Args) Text(i int) string { s, _ := a.Values[i].(string); return s }

// Int returns an int argument, or the nearest int64 if the argument does not fit; 0 for null.
// Number returns the exact value.
func (a Args) Int(i int) int64 {
	switch n := a.Number(i); {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// Number returns an int argument as a copy that the caller may change; 0 for null.
func (a Args) Number(i int) *big.Int {
	switch v := a.Values[i].(type) {
	case int64:
		return big.NewInt(v)
	case *big.Int:
		return new(big.Int).Set(v)
	case bool:
		if v {
			return big.NewInt(1)
		}
	}
	return new(big.Int)
}

// Bool returns a bool argument; false for null.
func (a Args) Bool(i int) bool { b, _ := a.Values[i].(bool); return b }

// List returns a list argument; an empty list for null.
func (a Args) List(i int) *types.List {
	if l, ok := a.Values[i].(*types.List); ok {
		return l
	}
	return &types.List{}
}

// Dict returns a dict argument; an empty dict for null.
func (a Args) Dict(i int) *types.Dict {
	if d, ok := a.Values[i].(*types.Dict); ok {
		return d
	}
	return types.NewDict(0)
}

// Null reports whether an argument is null.
func (a Args) Null(i int) bool { _, ok := a.Values[i].(types.Null); return ok }

// size returns the number of items and bytes that the arguments hold.
func (a Args) size() int {
	n := len(a.Rest)
	for _, v := range a.Values {
		switch v := v.(type) {
		case *types.List:
			n += len(v.Items)
		case *types.Dict:
			n += v.Len()
		case string:
			n += len(v)
		}
	}
	return n
}

// ErrUnset is the error of Context for a value that is not known yet.
var ErrUnset = errors.New("not known yet")

// ErrUnknown is the error of a plugin that needs an unknown value inside of an argument, such as an
// item of a list. The result of the call is unknown then.
var ErrUnknown = errors.New("a value is unknown")

// Context is the place from which a plugin is called.
type Context struct {
	Ctx context.Context
	// Namespace is the namespace of the call, and At the position of the call.
	Namespace string
	At        diag.Pos
	// Env is Program.Env.
	Env any

	engine *engine
	scope  *scope
	block  *block
	waits  []*variable
}

// Print appends text to the output of the model.
func (c *Context) Print(text string) {
	if c.engine != nil {
		c.engine.print(text)
	}
}

// ErrMissing is the error of Context for a variable or an attribute that is not defined, and for an
// optional relation that is empty.
var ErrMissing = errors.New("missing")

// missing is ErrMissing with a description of the missing object.
type missing struct{ text string }

func (m missing) Error() string   { return m.text }
func (m missing) Is(e error) bool { return e == ErrMissing } // it is a sentinel

// Attribute returns the value of an attribute of an instance. It returns ErrUnset if the value is
// not known yet. It returns ErrMissing if an optional relation is empty or the attribute does not
// exist. A relation to many accepts no further values once Attribute has returned its value.
func (c *Context) Attribute(of types.Object, name string) (types.Value, error) {
	v := of.(*Instance).variable(name)
	if v == nil {
		return nil, missing{fmt.Sprintf("%s has no attribute %s", of.Type().FullName(), name)}
	}
	return c.read(v)
}

// Variable returns the value of a variable that is visible to the caller, including attributes of
// self. It returns ErrUnset if the value is not known yet, and ErrMissing if the variable does not
// exist.
func (c *Context) Variable(name string) (types.Value, error) {
	var v *variable
	if c.block != nil { // nil in the condition of a typedef
		v = c.block.dynamic(name, c.scope)
	}
	if v == nil {
		return nil, missing{fmt.Sprintf("the variable %s is not defined", name)}
	}
	return c.read(v)
}

func (c *Context) read(v *variable) (types.Value, error) {
	if !v.isReady() {
		c.waits = append(c.waits, v)
		return nil, ErrUnset
	}
	out, f := v.get()
	switch {
	case f != nil && f.code == CodeOptional:
		return nil, missing{f.message}
	case f != nil:
		return nil, errors.New(f.message)
	}
	return out, nil
}

// Await replaces the set of values that the call waits for. If of[i] is an instance, names[i] is an
// attribute of it; if of[i] is nil, names[i] is a variable of the caller. Await returns nil if all
// values are known, and ErrUnset if one of them is not. It returns any other error of Attribute and
// Variable.
func (c *Context) Await(of []types.Object, names []string) error {
	c.waits = nil
	for i, name := range names {
		var err error
		if of[i] == nil {
			_, err = c.Variable(name)
		} else {
			_, err = c.Attribute(of[i], name)
		}
		if err != nil && !errors.Is(err, ErrUnset) {
			return err
		}
	}
	if len(c.waits) == 0 {
		return nil
	}
	return ErrUnset
}

// Instances returns the instances of an entity, and of entities that extend it, that exist so far.
func (c *Context) Instances(of *types.Entity) []types.Object {
	var out []types.Object
	for _, o := range c.engine.instances {
		if o.entity.Is(of) {
			out = append(out, o)
		}
	}
	return out
}

// Make returns an instance with these attributes, like a constructor at the position of the call.
func (c *Context) Make(of *types.Entity, values *types.Dict) (types.Object, error) {
	n := &constructNode{shape: shape{at: &c.At}, entity: of}
	given := make([]named, 0, values.Len())
	for _, k := range values.Keys() {
		v, _ := values.Get(k)
		if of.Attribute(k) == nil {
			return nil, missing{fmt.Sprintf("%s has no attribute %s", of.FullName(), k)}
		}
		given = append(given, named{name: k, value: v})
	}
	o, f := n.instance(c.engine, c.scope, given)
	if f == nil {
		f = c.engine.build(o)
	}
	if f != nil {
		return nil, f
	}
	return o, nil
}

// HasPlugin reports whether a plugin with this name exists.
func (c *Context) HasPlugin(name string) bool { return c.engine.program.pluginNamed(name) != nil }

// Apply calls another plugin with positional arguments. It returns ErrUnset if that plugin waits
// for a value.
func (c *Context) Apply(name string, args []types.Value) (types.Value, error) {
	return c.ApplyNamed(name, args, nil)
}

// ApplyNamed is Apply with additional named arguments; more may be nil.
func (c *Context) ApplyNamed(
	name string, args []types.Value, more *types.Dict,
) (types.Value, error) {
	p := c.engine.program.pluginNamed(name)
	if p == nil {
		return nil, missing{fmt.Sprintf("there is no plugin %s", name)}
	}
	g := &given{positional: args}
	if more != nil {
		for _, k := range more.Keys() {
			v, _ := more.Get(k)
			g.named = append(g.named, named{name: k, value: v})
		}
	}
	arranged, unknown, f := p.arrange(g, &c.At)
	if f != nil {
		return nil, errors.New(f.message)
	}
	if unknown && !p.AllowUnknown {
		return &types.Unknown{}, nil
	}
	v, f := p.call(c, arranged, &c.At)
	switch {
	case f != nil && f.code == CodeLimit:
		return nil, f
	case f != nil && len(f.unset) > 0:
		return nil, ErrUnset
	case f != nil:
		return nil, f.ofPlugin()
	}
	return v, nil
}

// ofPlugin converts the problem of a nested call to an error of the calling plugin.
func (f *fail) ofPlugin() *PluginError {
	out := &PluginError{Message: f.message, Hint: f.hint}
	for _, r := range f.related {
		out.Places = append(out.Places, diag.Related{Pos: *r.at, Message: r.message})
	}
	return out
}

// Work counts work that the plugin does in Go, in units of about one microsecond. If it returns an
// error, a limit is exceeded, and the plugin must return that error.
func (c *Context) Work(pieces int) error {
	if c.engine == nil {
		return nil
	}
	if f := c.engine.work(pieces, &c.At); f != nil {
		return f
	}
	return nil
}

// Room returns the number of bytes that the model may still use.
func (c *Context) Room() int64 {
	if c.engine == nil {
		return DefaultLimits().Memory
	}
	u := &c.engine.used
	return max(c.engine.limits.Memory-u.live-u.bytes, 0)
}

// Fits returns an error if a list with this many items, and texts with this many bytes, would
// exceed the limits. The plugin must return that error.
func (c *Context) Fits(items, bytes int) error {
	if c.engine == nil {
		return nil
	}
	if f := c.engine.fits(itemSize*items+bytes, &c.At); f != nil {
		return f
	}
	return nil
}

// Type returns the entity or typedef with this full name; nil if it does not exist.
func (c *Context) Type(name string) types.Type { return c.engine.program.named(name) }

// Signature returns the signature of the plugin in readable form.
func (p *Plugin) Signature() string {
	var parts []string
	for _, a := range p.Params {
		text := a.Name + ": " + a.Type
		if a.Default != nil {
			text += " = " + types.Repr(a.Default)
		}
		parts = append(parts, text)
	}
	if p.Rest != nil {
		parts = append(parts, "*"+p.Rest.Name+": "+p.Rest.Type)
	}
	if p.Named != nil {
		parts = append(parts, "**"+p.Named.Name+": "+p.Named.Type)
	}
	return p.Name + "(" + strings.Join(parts, ", ") + ")"
}
