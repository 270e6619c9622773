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

// Source is a file of a program, and the namespace that it defines.
type Source struct {
	Namespace string
	Path      string
	File      *syntax.File
}

// Rule requires the first relation to be complete before the second (relation_precedence_policy).
type Rule struct {
	FirstEntity, First string
	ThenEntity, Then   string
	At                 diag.Pos
}

// Program is the input of Run.
type Program struct {
	// Sources are the files of the program: the file of Main first, then the imported files in the
	// order of the imports.
	Sources []Source
	Plugins []Plugin
	// Dataclasses are the Python classes that represent entities.
	Dataclasses []Dataclass
	// Types are types that files cannot define. The keys are their full names, in the namespace of
	// a file.
	Types map[string]types.Type
	Rules []Rule
	// Importable are the full names of types in installed modules that the program does not import.
	// Hints suggest them.
	Importable []string
	Env        any          // passed to plugins as Context.Env
	Print      func(string) // receives the output of the model immediately; may be nil
	Limits     Limits
}

// Result is the outcome of a program.
type Result struct {
	// Variables are the variables of Main that have a value.
	Variables map[string]types.Value
	// Instances are all instances, in the order of their creation.
	Instances []*Instance
	// Counts are the numbers of instances of each entity, including instances of entities that
	// extend it. Entities without instances have no entry.
	Counts   map[string]int
	Entities []*types.Entity
	Output   string // the printed text
	// Annotations are the values that a relation has instead of --. Both ends of the relation have
	// an entry.
	Annotations map[*types.Attribute][]types.Value
	// Conditions are the conditions of typedefs, as parsed.
	Conditions map[*types.Typedef]syntax.Expression
	// Taken is the consumption that counts against Limits.Memory.
	Taken int64
}

// Run runs a program. It returns errors as diag.Problems, and warnings in either case. If the
// program fails, the result has only the output.
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

// problems sorts problems by weight, so that probable root causes come first.
func problems(fails []*fail) diag.Problems {
	slices.SortStableFunc(fails, func(a, b *fail) int { return cmp.Compare(a.weight, b.weight) })
	var out diag.Problems
	for _, f := range fails[:min(len(fails), diag.Limit)] {
		out = append(out, f.problem())
	}
	return out
}

// program is the state of a program, from its definitions to its run.
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

// findings are the errors and warnings of a program.
type findings struct {
	fails    []*fail
	warnings diag.Problems
}

// implementations are the implementations of entities.
type implementations struct {
	implements map[*types.Entity][]*subConstructor
	inherits   map[*types.Entity]bool
	built      map[*types.Entity][]*subConstructor // cache of the results of builders
}

// textUnit is a file with its namespace.
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

// warn adds a warning, and returns it. It returns nil if the warning exists already or there are
// too many warnings.
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

// named returns the type with a full name; nil if it does not exist.
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

// builders returns the `implement` statements of an entity. If one of them has `using parents`, the
// result includes those of its parents.
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

// run runs the statements of all files, and returns the problems.
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

// annotated returns the values of annotations, for both ends of each relation.
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

// conditions returns the conditions of typedefs.
func (p *program) conditions() map[*types.Typedef]syntax.Expression {
	out := map[*types.Typedef]syntax.Expression{}
	for _, d := range p.definitions {
		if st, ok := d.syntax.(*syntax.Typedef); ok {
			out[d.def] = st.Matching
		}
	}
	return out
}
