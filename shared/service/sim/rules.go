package sim

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"southbound/shared/compile"
	"southbound/shared/deploy/sim"
	"southbound/shared/lang/lsm"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// compiled is a compile of the worker.
type compiled struct {
	in   []lsm.Instance
	err  error     // what is wrong with the model for these instances
	made *compiler // what they become
}

// compiler returns what compiles for a worker: it is a call of a port, and checked.
func (r *run) compiler(p *sim.Process) Compile {
	do := Compile(r.models.compile)
	if r.mutant.Compile != nil {
		do = r.mutant.Compile(do)
	}
	return func(
		ctx context.Context, digest string, s *lsm.Services,
	) (*compile.Compiled, error) {
		return call(ctx, p, "compile", func() (*compile.Compiled, error) {
			r.compiles(digest, s.Instances())
			return do(ctx, digest, s)
		})
	}
}

// compiles checks who takes part in a compile: I4 and I6.
func (r *run) compiles(digest string, in []lsm.Instance) {
	r.happened("compile")
	o := r.models.byDigest[digest]
	c := newCompiler(o, lsm.NewServices(in))
	r.last = compiled{in: in, made: c, err: c.all()}
	all := r.instances.look(env)
	var begins []string
	fits := false
	for id, i := range all {
		for _, t := range i.record.Tasks {
			if t.Kind != inventory.TaskValidate && t.Kind != inventory.TaskExport {
				continue
			}
			begins = append(begins, id)
			if slices.ContainsFunc(in, func(l lsm.Instance) bool { return l.ID == id }) {
				fits = fits || o.texts[i.record.Service] == digestOf(&i.record, t)
			}
		}
	}
	near := r.near(begins)
	for i := range in {
		if !near[in[i].ID] {
			r.bench.Violate("I4", "%s takes part in a compile for %v", in[i].ID, begins)
		}
	}
	if len(in) > 0 && !fits {
		r.bench.Violate("I6", "instances are compiled with a model that has another definition")
	}
	r.bench.Tracef("compile of %.6s with %v: %v", digest, slices.Collect(ids(in)), r.last.err)
}

func ids(in []lsm.Instance) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range in {
			if !yield(fmt.Sprint(in[i].ID, " ", in[i].State, " ", in[i].Attributes)) {
				return
			}
		}
	}
}

// digestOf returns the digest of the definition that a task is done with.
func digestOf(r *inventory.Record, t inventory.Task) string {
	of := r.Made.Active
	switch {
	case t.Kind == inventory.TaskValidate && t.Set == "candidate":
		of = r.Made.Candidate
	case t.Kind == inventory.TaskValidate && t.Set == "":
		of = ""
	case t.Kind == inventory.TaskExport && r.Active == nil:
		of = r.Made.Candidate
	}
	if of == "" {
		return r.Definition
	}
	return of
}

// near returns those whom an order may cost anything: whoever it is for, what these lead to, and
// what belongs to the same owner.
func (r *run) near(begins []string) map[string]bool {
	all := r.instances.look(env)
	out := map[string]bool{}
	for open := slices.Clone(begins); len(open) > 0; {
		id := open[0]
		if open = open[1:]; out[id] || all[id] == nil {
			continue
		}
		out[id] = true
		open = append(open, all[id].record.References...)
		for _, by := range referredBy(all, id) {
			if all[by].record.Service == "part" {
				open = append(open, by)
			}
		}
	}
	return out
}

// checkFailure checks that an instance that goes its error way for a compile is itself what is
// wrong, and says so: I3.
func (r *run) checkFailure(c *change) {
	if c.wish != nil || c.was == nil {
		return
	}
	wrong := len(c.events) > 0 && c.events[0].Error
	validation := wrong && c.was.Validating != ""
	fails := validation || wrong && len(c.is.Problems) > 0 && exports(c.was) && !exports(c.is) &&
		c.is.Desired == c.was.Desired
	if validation && len(c.is.Problems) == 0 {
		r.bench.Violate("I3", "%s does not say what is wrong with it", c.is.ID)
	}
	if !fails {
		return
	}
	r.happened("compile that fails")
	if c.events[0].Message == "" {
		r.bench.Violate("I3", "the event of %s does not say what is wrong with it", c.is.ID)
	}
	if validation && c.is.Candidate != nil && r.forbidden(c) {
		r.happened("promotion that is forbidden")
		return
	}
	near := r.near([]string{c.is.ID})
	for i := range r.last.in {
		if !near[r.last.in[i].ID] {
			r.bench.Violate("I3", "%s fails in a compile with %s", c.is.ID, r.last.in[i].ID)
		}
	}
	if r.last.err == nil && !r.conflicts() {
		r.bench.Violate("I3", "%s fails, and nothing is wrong with it: %s", c.is.ID, c.is.Problems)
	}
}

// exports reports whether an instance is to be exported.
func exports(r *inventory.Record) bool {
	return slices.ContainsFunc(r.Tasks, func(t inventory.Task) bool {
		return t.Kind == inventory.TaskExport
	})
}

// forbidden reports whether modifiers forbid the promotion of an instance.
func (r *run) forbidden(c *change) bool {
	return inventory.Allowed(&c.service, c.was.Active, c.was.Candidate, inventory.Promotion) != nil
}

// conflicts reports whether what the last compile came to cannot be deployed beside what is there.
func (r *run) conflicts() bool {
	owner := map[string]string{}
	for id, row := range r.rows() {
		if !row.Orphaned {
			owner[string(id)] = row.set
		}
	}
	seen := map[string]bool{}
	for i := range r.last.in {
		set := r.last.in[i].ID
		for _, id := range r.last.made.owns(set) {
			have, taken := owner[string(id)]
			if seen[string(id)] || taken && have != set {
				return true
			}
			seen[string(id)] = true
		}
	}
	return false
}

// modifiersOf returns the modifiers of what a service has.
func modifiersOf(s *definition.Service) map[string]definition.Modifier {
	out := map[string]definition.Modifier{}
	for i := range s.Attributes {
		out[s.Attributes[i].Name] = s.Attributes[i].Modifier
	}
	for i := range s.Relations {
		out[s.Relations[i].Name] = s.Relations[i].Modifier
	}
	return out
}

// checkModifiers checks that nobody has set what they may not: I2.
func (r *run) checkModifiers(c *change) {
	if c.was == nil {
		if v := c.is.Candidate["port"]; v != nil {
			r.bench.Violate("I2", "%s was ordered with the port %v", c.is.ID, v)
		}
		return
	}
	modifiers := modifiersOf(&c.service)
	differ := func(was, is map[string]any, what string, bad ...definition.Modifier) {
		for _, name := range slices.Sorted(maps.Keys(modifiers)) {
			a, had := was[name]
			b, has := is[name]
			if had && has && !reflect.DeepEqual(a, b) && slices.Contains(bad, modifiers[name]) {
				r.bench.Violate("I2", "%s: %s changes %s (%s) from %v to %v",
					c.is.ID, what, name, modifiers[name], a, b)
			}
		}
	}
	promoted := c.is.Version != c.was.Version && c.was.Candidate != nil && c.is.Candidate == nil &&
		c.was.Active != nil && reflect.DeepEqual(c.is.Rollback, c.was.Active)
	switch {
	case c.wish != nil && (c.wish.op.Kind == opUpdate || c.wish.op.Kind == opEdit ||
		c.wish.op.Kind == opSeveral) && c.is.Candidate != nil:
		differ(c.was.Current(), c.is.Candidate, "a customer", definition.ReadOnly, definition.Once)
	case c.wish != nil:
	case promoted:
		r.happened("promotion")
		differ(c.was.Active, c.is.Active, "a promotion", definition.Once)
	case c.is.Version == c.was.Version:
		differ(c.was.Candidate, c.is.Candidate, "the model", definition.Once, definition.ReadWrite)
		differ(c.was.Active, c.is.Active, "the model", definition.Once, definition.ReadWrite)
	}
}

// checkDefinition checks that an instance has another definition only when a customer updates it:
// I6.
func (r *run) checkDefinition(c *change) {
	if c.was == nil || c.was.Definition == c.is.Definition &&
		c.was.ServiceVersion == c.is.ServiceVersion {
		return
	}
	updates := c.wish != nil && (c.wish.op.Kind == opUpdate || c.wish.op.Kind == opEdit ||
		c.wish.op.Kind == opSeveral)
	if !updates {
		r.bench.Violate("I6", "%s gets another definition, and nobody has updated it", c.is.ID)
	}
	r.happened("update to another definition")
}

// offered checks that what instances have is still offered: I6.
func (r *run) offered(bundle string) {
	r.bench.Tracef("offered: %.6s", bundle)
	o := r.models.byDigest[bundle]
	for id, i := range r.instances.look(env) {
		if rec := &i.record; !rec.Deleted && o.texts[rec.Service] == "" {
			r.bench.Violate("I6", "%s lives, and its service %s is not offered", id, rec.Service)
		}
	}
}
