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

// Plugin is a function that models call.
type Plugin struct {
	Name   string // with its namespace: std::count
	Doc    string // what it does and returns, in a sentence or more; parameters by their names
	Params []Param
	Rest   *Param // *args: what further values are; nil where there are none
	Named  *Param // **kwargs: what further named values are
	Result string // its type, as Param.Type
	// AllowUnknown calls the plugin for unknown arguments too. Without it the result is unknown if
	// an argument is.
	AllowUnknown bool
	// InContext says that the plugin needs the Context of a call in a model; a typedef cannot call
	// it.
	InContext  bool
	Deprecated bool
	ReplacedBy string // the plugin to use instead of a deprecated one
	Call       func(c *Context, a Args) (types.Value, error)
	// At is where it is defined; nil for one of the program.
	At *diag.Pos
}

// pos returns where it is defined, or its name where that is in the program.
func (p *Plugin) pos() *diag.Pos {
	if p.At != nil {
		return p.At
	}
	return &diag.Pos{File: p.Name}
}

// PluginError is an error of a plugin that knows places of its own.
type PluginError struct {
	Message string
	Hint    string
	// Code is CodePlugin if it is empty. CodeArguments marks a call that is wrong whatever its values
	// are.
	Code   string
	Places []diag.Related // the one where it happened first
}

// Error implements error.
func (e *PluginError) Error() string { return e.Message }

// Param is a parameter of a plugin.
type Param struct {
	Name string
	// Type is a type as models write it (string, int[], std::Host, port?), or list, dict, any,
	// null, or several with | between them.
	Type string
	// Default is what it is when a call does not say; nil where it has to.
	Default types.Value
	// ByName says that it is only given by its name.
	ByName bool
}

// Args are the arguments of a call: one for each of Params, in their order, then those for Rest;
// Named has those for Named, or is nil.
type Args struct {
	Values []types.Value
	Rest   []types.Value
	Named  *types.Dict

	literal []bool // of Values
}

// Literal reports whether an argument is a literal in the text of the call, so that it comes from
// the author of the model. A variable, an attribute and a text with values in it are no literals,
// and neither is an argument of a call by another plugin or a template.
func (a Args) Literal(i int) bool { return i < len(a.literal) && a.literal[i] }

// Text returns an argument that is a string; "" for null.
func (a Args) Text(i int) string { s, _ := a.Values[i].(string); return s }

// Int returns an argument that is an int, or the int64 nearest to it; 0 for null. Number returns
// all of it.
func (a Args) Int(i int) int64 {
	switch n := a.Number(i); {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// Number returns an argument that is an int, which the caller may change; 0 for null.
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

// Bool returns an argument that is a bool; false for null.
func (a Args) Bool(i int) bool { b, _ := a.Values[i].(bool); return b }

// List returns an argument that is a list; an empty one for null.
func (a Args) List(i int) *types.List {
	if l, ok := a.Values[i].(*types.List); ok {
		return l
	}
	return &types.List{}
}

// Dict returns an argument that is a dict; an empty one for null.
func (a Args) Dict(i int) *types.Dict {
	if d, ok := a.Values[i].(*types.Dict); ok {
		return d
	}
	return types.NewDict(0)
}

// Null reports whether an argument is null.
func (a Args) Null(i int) bool { _, ok := a.Values[i].(types.Null); return ok }

// size returns how many items and bytes the arguments hold.
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

// ErrUnset is what Context returns for what has no value yet.
var ErrUnset = errors.New("not known yet")

// ErrUnknown is what a plugin returns that needs an unknown value inside of an argument: an item of
// a list, an attribute of an instance. The result of the call is unknown then.
var ErrUnknown = errors.New("a value is unknown")

// Context is the place from which a plugin is called.
type Context struct {
	Ctx context.Context
	// Namespace is that of the call, and At its place.
	Namespace string
	At        diag.Pos
	// Env is what the program was given for its plugins (Program.Env).
	Env any

	engine *engine
	scope  *scope
	block  *block
	waits  []*variable
}

// Print writes what the model prints.
func (c *Context) Print(text string) {
	if c.engine != nil {
		c.engine.print(text)
	}
}

// ErrMissing is what Context returns for what does not exist: a variable or an attribute without a
// definition, and an optional relation that is empty.
var ErrMissing = errors.New("missing")

// missing is ErrMissing with what is missing.
type missing struct{ text string }

func (m missing) Error() string   { return m.text }
func (m missing) Is(e error) bool { return e == ErrMissing } // it is a sentinel

// Attribute returns what an instance holds. It returns ErrUnset if that is not known yet, and
// ErrMissing if an optional relation is empty or there is no such attribute. A relation to many is
// complete with this.
func (c *Context) Attribute(of types.Object, name string) (types.Value, error) {
	v := of.(*Instance).variable(name)
	if v == nil {
		return nil, missing{fmt.Sprintf("%s has no attribute %s", of.Type().FullName(), name)}
	}
	return c.read(v)
}

// Variable returns what the caller sees under a name, attributes of self among it. It returns
// ErrUnset if that is not known yet, and ErrMissing if there is no such variable.
func (c *Context) Variable(name string) (types.Value, error) {
	var v *variable
	if c.block != nil { // there is none in the condition of a type
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

// Await says that the call cannot go on without these alone: attributes of instances, and variables
// of the caller where there is no instance. It returns ErrUnset, or nil if all of them are known.
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

// Instances returns what there is of an entity and of those that extend it, so far.
func (c *Context) Instances(of *types.Entity) []types.Object {
	var out []types.Object
	for _, o := range c.engine.instances {
		if o.entity.Is(of) {
			out = append(out, o)
		}
	}
	return out
}

// Make returns an instance with these attributes, as a constructor at the place of the call does.
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

// HasPlugin reports whether there is a plugin of a name.
func (c *Context) HasPlugin(name string) bool { return c.engine.program.pluginNamed(name) != nil }

// Apply calls another plugin with values. Its error is ErrUnset where that waits for something.
func (c *Context) Apply(name string, args []types.Value) (types.Value, error) {
	return c.ApplyNamed(name, args, nil)
}

// ApplyNamed is Apply with named arguments too; more may be nil.
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

// ofPlugin returns what is wrong with a call as an error of the plugin that has called.
func (f *fail) ofPlugin() *PluginError {
	out := &PluginError{Message: f.message, Hint: f.hint}
	for _, r := range f.related {
		out.Places = append(out.Places, diag.Related{Pos: *r.at, Message: r.message})
	}
	return out
}

// Work counts work that a plugin does by itself, in pieces that take about a microsecond. Its error
// ends the call: the plugin returns it.
func (c *Context) Work(pieces int) error {
	if c.engine == nil {
		return nil
	}
	if f := c.engine.work(pieces, &c.At); f != nil {
		return f
	}
	return nil
}

// Room is how many bytes the model may still take.
func (c *Context) Room() int64 {
	if c.engine == nil {
		return DefaultLimits().Memory
	}
	u := &c.engine.used
	return max(c.engine.limits.Memory-u.live-u.bytes, 0)
}

// Fits reports that a plugin would make more than a model may: a list of so many items, with so
// many bytes of texts. Its error ends the call: the plugin returns it.
func (c *Context) Fits(items, bytes int) error {
	if c.engine == nil {
		return nil
	}
	if f := c.engine.fits(itemSize*items+bytes, &c.At); f != nil {
		return f
	}
	return nil
}

// Type returns the entity or the typedef of a name with its namespace; nil if there is none.
func (c *Context) Type(name string) types.Type { return c.engine.program.named(name) }

// Signature returns how the plugin is called, for people.
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
