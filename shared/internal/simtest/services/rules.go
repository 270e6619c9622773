package services

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"southbound/shared/compile"
	"southbound/shared/lang/lsm"
	"southbound/shared/resource"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// compiled is a compile of the worker.
type compiled struct {
	in   []lsm.Instance
	err  error     // the problems of the model with these instances
	made *compiler // the resources of these instances
}

// compiler returns the compiler of a worker. A compile is a call of a port, and is checked.
func (r *run) compiler(x *runner) Compile {
	do := Compile(r.models.compile)
	if r.mutant.Compile != nil {
		do = r.mutant.Compile(do)
	}
	return func(
		ctx context.Context, digest string, s *lsm.Services,
	) (*compile.Compiled, error) {
		return call(ctx, x.Process, "compile", func() (*compile.Compiled, error) {
			x.compiles(digest, s.Instances())
			return do(ctx, digest, s)
		})
	}
}

// compiles checks which instances take part in a compile: I4 and I6.
func (x *runner) compiles(digest string, in []lsm.Instance) {
	r := x.r
	r.happened("compile")
	o := r.models.byDigest[digest]
	c := newCompiler(o, lsm.NewServices(in))
	x.last = compiled{in: in, made: c, err: c.all()}
	var begins []string
	fits := false
	known := x.known()
	for id, records := range known {
		for _, t := range tasksOf(records) {
			if t.Kind != inventory.TaskValidate && t.Kind != inventory.TaskExport &&
				t.Kind != inventory.TaskRollout {
				continue
			}
			begins = append(begins, id)
			if slices.ContainsFunc(in, func(l lsm.Instance) bool { return l.ID == id }) {
				fits = fits || slices.ContainsFunc(records, func(rec *inventory.Record) bool {
					return o.texts[rec.Service] == digestOf(rec, t)
				})
			}
		}
	}
	x.follows(known, in)
	slices.Sort(begins)
	near := near(known, begins)
	for i := range in {
		if !near[in[i].ID] {
			r.bench.Violate("I4", "%s takes part in a compile for %v", in[i].ID, begins)
		}
	}
	if len(in) > 0 && !fits {
		r.bench.Violate("I6", "instances are compiled with a model that has another definition")
	}
	r.bench.Tracef("compile of %.6s with %v: %v", digest, slices.Collect(ids(in)), x.last.err)
}

// follows records the pages that exported notes follow from now on.
func (x *runner) follows(known map[string][]*inventory.Record, in []lsm.Instance) {
	for i := range in {
		if id := in[i].ID; in[i].Service == "note" && slices.ContainsFunc(known[id], exports) {
			x.r.followed[id] = x.last.made.followed[id]
		}
	}
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

// digestOf returns the digest of the definition that applies to a task.
func digestOf(r *inventory.Record, t inventory.Task) string {
	of := r.Made.Active
	switch {
	case t.Kind == inventory.TaskRollout:
		if of = ""; r.Rolling != nil {
			of = r.Rolling.Definition
		}
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

// known returns instances in their current form, and in the forms that the worker has read since it
// began its round. The earlier forms count if another worker runs concurrently, or if a rollout
// requests a move: the worker may not know of the change yet.
func (x *runner) known() map[string][]*inventory.Record {
	out := map[string][]*inventory.Record{}
	for id, i := range x.r.instances.look(env) {
		out[id] = append(out[id], &i.record)
		for _, rec := range x.seen[id] {
			if len(x.r.runners) > 1 || rec.Rolling != nil {
				out[id] = append(out[id], rec)
			}
		}
	}
	return out
}

// tasksOf returns the tasks of an instance in all its known forms.
func tasksOf(records []*inventory.Record) []inventory.Task {
	var out []inventory.Task
	for _, rec := range records {
		out = append(out, rec.Tasks...)
	}
	return out
}

// near returns the instances that an order may affect: its own, the instances that these refer to,
// and those of the same owner.
func near(known map[string][]*inventory.Record, begins []string) map[string]bool {
	out := map[string]bool{}
	for open := slices.Clone(begins); len(open) > 0; {
		id := open[0]
		if open = open[1:]; out[id] || known[id] == nil {
			continue
		}
		out[id] = true
		for _, rec := range known[id] {
			open = append(open, rec.References...)
		}
		for by, records := range known {
			for _, rec := range records {
				if rec.Service == "part" && slices.Contains(rec.References, id) {
					open = append(open, by)
				}
			}
		}
	}
	return out
}

// checkFailure checks that an instance fails for a compile only if it is itself at fault, and that
// it records the reason: I3.
func (r *run) checkFailure(c *change) {
	if c.wish != nil || c.was == nil {
		return
	}
	wrong := len(c.events) > 0 && c.events[0].Error
	validation := wrong && c.was.Validating != "" && c.is.Validating == ""
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
	near := near(c.by.known(), []string{c.is.ID})
	last := &c.by.last
	for i := range last.in {
		if !near[last.in[i].ID] {
			r.bench.Violate("I3", "%s fails in a compile with %s", c.is.ID, last.in[i].ID)
		}
	}
	if last.err == nil && !r.conflicts(last) && !r.contended(last) {
		r.bench.Violate("I3", "%s fails, and nothing is wrong with it: %s", c.is.ID, c.is.Problems)
	}
}

// exports reports whether an instance has a task to export it.
func exports(r *inventory.Record) bool {
	return slices.ContainsFunc(r.Tasks, func(t inventory.Task) bool {
		return t.Kind == inventory.TaskExport
	})
}

// forbidden reports whether modifiers forbid the promotion of an instance.
func (r *run) forbidden(c *change) bool {
	return inventory.Allowed(&c.service, c.was.Active, c.was.Candidate, inventory.Promotion) != nil
}

// conflicts reports whether the result of a compile cannot be deployed beside the other resources.
func (r *run) conflicts(last *compiled) bool {
	owner := map[string]string{}
	for id, row := range r.rows() {
		if !row.Orphaned {
			owner[string(id)] = row.set
		}
	}
	seen := map[string]bool{}
	for i := range last.in {
		set := last.in[i].ID
		for _, id := range last.made.owns(set) {
			have, taken := owner[string(id)]
			if seen[string(id)] || taken && have != set {
				return true
			}
			seen[string(id)] = true
		}
	}
	return false
}

// contended reports whether another instance was ever to have a page of a compile. With two
// workers, that instance may have released the page since.
func (r *run) contended(last *compiled) bool {
	if len(r.runners) == 1 {
		return false
	}
	paths := map[resource.ID][]string{} // with the instances that have had them
	for id, i := range r.instances.look(env) {
		for n := range i.versions {
			v := &i.versions[n]
			for _, set := range []map[string]any{v.Candidate, v.Active, v.Rollback} {
				if v.Service == "site" && set != nil {
					of := page(fmt.Sprint(set["path"]))
					paths[of] = append(paths[of], id)
				}
			}
		}
	}
	for i := range last.in {
		for _, id := range last.made.owns(last.in[i].ID) {
			if slices.ContainsFunc(paths[id], func(by string) bool { return by != last.in[i].ID }) {
				return true
			}
		}
	}
	return false
}

// modifiersOf returns the modifiers of the attributes and relations of a service.
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

// checkModifiers checks that only permitted parties have changed attributes: I2.
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

// checkDefinition checks that an instance changes its definition only with an update of a customer
// or a move of a rollout: I6.
func (r *run) checkDefinition(c *change) {
	if c.was == nil || c.was.Definition == c.is.Definition &&
		c.was.ServiceVersion == c.is.ServiceVersion {
		return
	}
	updates := c.wish != nil && (c.wish.op.Kind == opUpdate || c.wish.op.Kind == opEdit ||
		c.wish.op.Kind == opSeveral)
	moved := c.by != nil && c.was.Rolling != nil && c.is.Rolling == nil &&
		c.is.Definition == c.was.Rolling.Definition
	if !updates && !moved {
		r.bench.Violate("I6", "%s gets another definition, and nobody has updated it", c.is.ID)
	}
	r.happened("update to another definition")
}

// offered checks that the services of all instances are still offered: I6.
func (r *run) offered(bundle string) {
	r.bench.Tracef("offered: %.6s", bundle)
	o := r.models.byDigest[bundle]
	for id, i := range r.instances.look(env) {
		if rec := &i.record; !rec.Deleted && o.texts[rec.Service] == "" {
			r.bench.Violate("I6", "%s lives, and its service %s is not offered", id, rec.Service)
		}
	}
}
