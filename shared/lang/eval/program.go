package eval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// Main is the namespace of the statements of main.cf.
const Main = "__config__"

// Source is a text of a program, and the namespace that it gives.
type Source struct {
	Namespace string
	Path      string
	File      *syntax.File
}

// Rule wants a relation to be complete before another one (relation_precedence_policy).
type Rule struct {
	FirstEntity, First string
	ThenEntity, Then   string
	At                 diag.Pos
}

// Program is what Run runs.
type Program struct {
	// Sources are the texts, that of Main first, the others in the order in which imports led to
	// them.
	Sources []Source
	Plugins []Plugin
	// Dataclasses are the classes in Python that stand for entities.
	Dataclasses []Dataclass
	// Types are types that texts cannot define, by their names with the namespace of a text.
	Types map[string]types.Type
	Rules []Rule
	// Importable are the full names of types of modules that are there and were not imported, for
	// hints.
	Importable []string
	Env        any          // what plugins find in their Context
	Print      func(string) // gets what the model prints, at once; may be nil
	Limits     Limits
}

// Result is what a program came to.
type Result struct {
	// Variables are those of Main that have a value.
	Variables map[string]types.Value
	// Instances are all of them, in the order in which they were made.
	Instances []*Instance
	// Counts are the numbers of instances of each entity, those of entities that extend it among
	// them; none are 0.
	Counts   map[string]int
	Entities []*types.Entity
	Output   string // what the model printed
	// Annotations are what stands in the place of -- in relations, at both of their ends.
	Annotations map[*types.Attribute][]types.Value
	// Conditions are those of types, as they were written.
	Conditions map[*types.Typedef]syntax.Expression
	// Taken is what the model has taken of Limits.Memory.
	Taken int64
}

// Run runs a program. Its problems are returned as diag.Problems; warnings also when it went well.
// The result is nil when it did not, but for what was printed.
func Run(ctx context.Context, in Program) (result *Result, warnings diag.Problems, err error) {
	if in.Limits == (Limits{}) {
		in.Limits = DefaultLimits()
	}
	p := newProgram(&in)
	e := &engine{program: p, scheduler: scheduler{ctx: ctx, limits: in.Limits}}
	p.engine = e
	fails := p.define()
	if len(fails) == 0 {
		fails = p.run(e)
	}
	if len(fails) > 0 {
		return &Result{Output: e.out.String()}, p.warnings, problems(fails).Err()
	}
	return p.result(e), p.warnings, nil
}

// problems puts what is wrong in order: what is more likely the reason of the others first.
func problems(fails []*fail) diag.Problems {
	slices.SortStableFunc(fails, func(a, b *fail) int { return cmp.Compare(a.weight, b.weight) })
	var out diag.Problems
	for _, f := range fails[:min(len(fails), diag.Limit)] {
		out = append(out, f.problem())
	}
	return out
}

// program is a program whose definitions are being read, or are.
type program struct {
	input       *Program
	engine      *engine
	root        *namespace
	units       []*textUnit
	entities    []*types.Entity
	base        *types.Entity // std::Entity
	plugins     map[*Plugin]*boundPlugin
	definitions []definition
	implementations
	defaults    map[*types.Entity][]pendingDefault
	annotations map[*types.Attribute][]*variable
	order       []*types.Attribute
	findings
}

// findings are what is wrong with a program, or may be.
type findings struct {
	fails    []*fail
	warnings diag.Problems
}

// implementations are those of entities.
type implementations struct {
	implements map[*types.Entity][]*subConstructor
	inherits   map[*types.Entity]bool
	built      map[*types.Entity][]*subConstructor // what builders has returned
}

// textUnit is a text with its namespace.
type textUnit struct {
	*file
	ns   *namespace
	main *body
}

func newProgram(in *Program) *program {
	p := &program{
		input: in, root: &namespace{children: map[string]*namespace{}, types: map[string]any{}},
		plugins: map[*Plugin]*boundPlugin{},
		implementations: implementations{
			implements: map[*types.Entity][]*subConstructor{},
			inherits:   map[*types.Entity]bool{},
			built:      map[*types.Entity][]*subConstructor{},
		},
		defaults:    map[*types.Entity][]pendingDefault{},
		annotations: map[*types.Attribute][]*variable{},
	}
	for _, s := range in.Sources {
		u := &textUnit{file: &file{path: s.Path, syntax: s.File}, ns: p.namespaceOf(s.Namespace)}
		u.ns.file = u.file
		u.ns.block = &block{
			names: names(s.File.Body, map[string]int{}), ns: u.ns, statements: s.File.Body,
		}
		p.units = append(p.units, u)
	}
	p.root.importable = in.Importable
	for name, t := range in.Types {
		ns, last := within(name)
		p.namespaceOf(ns).types[last] = t
	}
	return p
}

func (p *findings) problem(f *fail) { p.fails = append(p.fails, f) }

// warn adds a warning, and returns it; nil if it is there already, or there are too many.
func (p *findings) warn(
	code string, at *diag.Pos, hint, format string, args ...any,
) *diag.Problem {
	w := diag.Problem{Code: code, Pos: *at, Hint: hint, Message: fmt.Sprintf(format, args...)}
	if !slices.ContainsFunc(
		p.warnings,
		func(o diag.Problem) bool { return o.Pos == w.Pos && o.Message == w.Message },
	) &&
		len(p.warnings) < diag.Limit {
		p.warnings = append(p.warnings, w)
		return &p.warnings[len(p.warnings)-1]
	}
	return nil
}

// named returns the type of a full name; nil if there is none.
func (p *program) named(name string) types.Type {
	ns, last := within(name)
	n := p.root
	for part := range strings.SplitSeq(ns, "::") {
		if n = n.children[part]; n == nil {
			return nil
		}
	}
	t, _ := n.types[last].(types.Type)
	return t
}

// builders returns what selects the implementations of an entity.
func (p *implementations) builders(e *types.Entity) []*subConstructor {
	out, ok := p.built[e]
	if !ok {
		out = p.collect(e)
		p.built[e] = out
	}
	return out
}

func (p *implementations) collect(e *types.Entity) []*subConstructor {
	out := slices.Clone(p.implements[e])
	if p.inherits[e] {
		for _, parent := range e.Parents {
			out = append(out, p.collect(parent)...)
		}
	}
	return out
}

// run runs the statements.
func (p *program) run(e *engine) []*fail {
	e.perEntity = make([]entityData, len(p.entities))
	e.waiting = newCandidates(p.order)
	for _, u := range p.units {
		u.ns.scope = u.ns.block.open(nil)
	}
	for _, u := range p.units {
		if f := u.main.emit(e, u.ns.scope); f != nil {
			return []*fail{f}
		}
	}
	if f := e.loop(); f != nil {
		return []*fail{f}
	}
	return e.finish()
}

func (p *program) result(e *engine) *Result {
	out := &Result{
		Variables: map[string]types.Value{},
		Instances: e.instances,
		Counts:    map[string]int{},
		Entities:  p.entities,
		Output:    e.out.String(),
		Taken:     e.used.live + e.used.bytes,

		Annotations: p.annotated(), Conditions: p.conditions(),
	}
	main := p.units[0].ns
	for name, i := range main.block.names {
		if v := &main.scope.vars[i]; v.ready && !strings.Contains(name, "::") {
			out.Variables[name] = v.value
		}
	}
	for _, entity := range p.entities {
		if n := e.data(entity).count; n > 0 {
			out.Counts[entity.FullName()] = n
		}
	}
	return out
}

// annotated returns the values of annotations.
func (p *program) annotated() map[*types.Attribute][]types.Value {
	out := map[*types.Attribute][]types.Value{}
	for a, of := range p.annotations {
		for _, v := range of {
			out[a] = append(out[a], v.value)
			if other := a.Relation.Inverse; other != nil && other != a {
				out[other] = append(out[other], v.value)
			}
		}
	}
	return out
}

// conditions returns those of types.
func (p *program) conditions() map[*types.Typedef]syntax.Expression {
	out := map[*types.Typedef]syntax.Expression{}
	for _, d := range p.definitions {
		if st, ok := d.syntax.(*syntax.Typedef); ok {
			out[d.def] = st.Matching
		}
	}
	return out
}
