package services

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

// wish is a request of a customer.
type wish struct {
	op      *Op
	version *int64 // the version that the customer has read
	// written counts the writes for the request.
	written int
	// The expected results: the attributes of an update, and whether the instance is deleted.
	gives   map[string]any
	deletes bool
}

// do performs an operation.
func (r *run) do(op *Op) {
	r.happened("op " + string(op.Kind))
	switch op.Kind {
	case opBreak:
		id := page(fmt.Sprintf("p%d", op.N%sites))
		r.world.broken[id] = true
		r.bench.Tracef("%s breaks", id)
	case opMend:
		r.bench.Tracef("mended: %v", r.world.mend())
	case opCrash:
		if x := r.alive(); x != nil && r.bench.Faulty() {
			x.Crash("by the plan")
		}
	case opApply, opRepair, opRelease, opTarget, opClaim, opStore:
		r.ask(op)
	default:
		r.customer(op)
	}
}

// ask sends a request to the engine that is not an order.
func (r *run) ask(op *Op) {
	x := r.alive()
	if x == nil {
		return
	}
	r.asking++
	x.Go(string(op.Kind), func(ctx context.Context) {
		defer func() { r.asking-- }()
		err := r.asked(ctx, x.engine, op)
		r.bench.Tracef("%s %d: %v", op.Kind, op.N, err)
		if err == nil {
			r.happened("done " + string(op.Kind))
		}
		if problems, _ := diag.Of(err); len(problems) > 0 {
			r.happened("refused " + string(op.Kind))
		}
	})
}

// asked performs the request to the engine.
func (r *run) asked(ctx context.Context, e *deploy.Engine, op *Op) error {
	x := deploy.Export{Model: whole(op.N)}
	switch op.Kind { // other kinds are no requests to the engine
	case opRepair:
		_, err := e.Deploy(ctx, env, deploy.Request{RetryFailed: true})
		return err
	case opRelease:
		now, err := r.bench.State.Env(ctx, env)
		if err != nil || now.Last == 0 {
			return err
		}
		r.released = true
		_, err = e.Release(ctx, env, 1+op.N%now.Last, state.Origin{})
		return err
	case opStore:
		x.NoRelease = true
		x.Model.Resources = append(x.Model.Resources, textPage(stored))
	case opTarget:
		x.Target.Type = typePage
	case opClaim:
		return r.claim(ctx, e, x, idOf(op.Slot))
	}
	_, err := e.Export(ctx, env, x)
	return err
}

// claim exports a model by hand with a page in the resource set of an instance: I5.
func (r *run) claim(ctx context.Context, e *deploy.Engine, x deploy.Export, id string) error {
	lives := func() bool {
		i := r.instances.look(env)[id]
		return i != nil && !i.record.Deleted
	}
	mine := textPage(claimed)
	mine.Set = id
	x.Model.Resources = append(x.Model.Resources, mine)
	began := lives()
	_, err := e.Export(ctx, env, x)
	if err == nil && began && lives() {
		r.bench.Violate("I5", "an export by hand has taken the resource set of %s", id)
	}
	return err
}

// claimed is the name of the page that manual exports put into sets of instances. stored is the
// name of the page in versions that are only stored.
const (
	claimed = "mine"
	stored  = "stored"
)

// textPage returns a page that shows its own name.
func textPage(name string) resource.Resource {
	return resource.Resource{ID: page(name), Type: typePage, Agent: "here",
		Attributes: map[string]any{"name": name, "text": name}}
}

// whole returns a model without instances, with or without the page that sites require.
func whole(n int) *model.Model {
	names := []string{"other"}
	if n%2 == 0 {
		names = append(names, "top")
	}
	m := &model.Model{Agents: []resource.Agent{{Name: "here", Transport: "local", Lanes: 1}}}
	for _, name := range names {
		m.Resources = append(m.Resources, textPage(name))
	}
	return m
}

// customer performs a request of a customer.
func (r *run) customer(op *Op) {
	if r.api == nil || r.api.Dead() {
		r.started++
		r.api = r.bench.Start(fmt.Sprintf("a%d", r.started))
	}
	p, w := r.api, &wish{op: op}
	var instances inventory.Store = &instancesPort{p: p, r: r, wish: w}
	var definitions definition.Store = &definitionsPort{p, r}
	if m := r.mutant.Instances; m != nil {
		instances = m(instances, false)
	}
	if m := r.mutant.Definitions; m != nil {
		definitions = m(definitions, r.models, false)
	}
	s := orders.New(orders.Config{
		Definitions: definitions, Instances: instances, Now: r.bench.Time, NewID: r.newInstance,
	})
	p.Go(string(op.Kind), func(ctx context.Context) {
		var err error
		if op.Kind == opOffer {
			o := &r.models.offers[op.N%len(r.models.offers)]
			err = definitions.Put(ctx, env, o.digest, o.services)
		} else {
			err = r.order(ctx, s, w)
		}
		r.bench.Tracef("%s %s %d %v: %v", op.Kind, serviceOf(op.Slot), op.Slot, op.Attributes, err)
		if err != nil {
			r.happened("refused " + string(op.Kind))
			return
		}
		r.happened("accepted " + string(op.Kind))
		again := op.Kind == opCreate && r.instances.look(env)[idOf(op.Slot)] != nil
		if moves := op.Kind == opRollout || op.Kind == opBack; w.written == 0 &&
			op.Kind != opOffer && !again && !moves { // there may be nothing to move
			r.bench.Violate("I1", "%s of %s was accepted, and nothing is written", op.Kind,
				idOf(op.Slot))
		}
	})
}

// order sends the request of an operation.
func (r *run) order(ctx context.Context, s *orders.Service, w *wish) error {
	op := w.op
	service, id := serviceOf(op.Slot), idOf(op.Slot)
	ask := orders.Wish{Ref: orders.Ref{Service: service, ID: id}}
	switch op.Kind { // other kinds concern an existing instance
	case opCreate:
		w.gives = op.Attributes
		_, err := s.Create(ctx, env, orders.Creation{
			Service: service, ID: id, Attributes: maps.Clone(op.Attributes),
		})
		return err
	case opSeveral:
		_, err := s.Order(ctx, env, orders.Order{Items: items(op.More)})
		return err
	}
	if !op.Blind {
		is, err := s.Instance(ctx, env, ask.Ref)
		if err != nil {
			return err
		}
		w.version = &is.Version
		if !r.mutant.Blind {
			ask.Version = &is.Version
		}
		if err := r.api.Clock().Sleep(ctx, op.Stale); err != nil {
			return err
		}
	}
	return r.change(ctx, s, w, ask)
}

// stateFor returns a state to request: mostly one that the current state allows.
func (r *run) stateFor(op *Op) string {
	if i := r.instances.look(env)[idOf(op.Slot)]; i != nil && op.N%5 > 0 {
		for from, to := range map[string]string{
			"update_failed": "rollback", "update_rejected": "up",
			"update_rejected_failed": "failed",
		} {
			if i.record.State == from {
				return to
			}
		}
	}
	return []string{"rollback", "up", "failed"}[op.N%3]
}

// change requests a change of an instance.
func (r *run) change(ctx context.Context, s *orders.Service, w *wish, ask orders.Wish) error {
	var err error
	op := w.op
	switch op.Kind { // other kinds are no changes
	case opUpdate:
		w.gives = op.Attributes
		_, err = s.Update(ctx, env, ask, maps.Clone(op.Attributes))
	case opEdit:
		w.gives = op.Attributes
		var edits []inventory.Edit
		for _, name := range slices.Sorted(maps.Keys(op.Attributes)) {
			edits = append(edits, inventory.Edit{
				ID: name, Operation: inventory.Replace, Target: name, Value: op.Attributes[name],
			})
		}
		_, err = s.Edit(ctx, env, ask, edits)
	case opDelete:
		w.deletes = true
		_, err = s.Delete(ctx, env, ask)
	case opRollout, opBack:
		_, err = s.Roll(ctx, env, ask, op.Kind == opBack)
	case opState:
		_, err = s.SetState(ctx, env, ask, r.stateFor(op))
	case opMetadata:
		text := "text"
		_, err = s.SetMetadata(ctx, env, ask, "key", &text)
	}
	return err
}

// items returns the items of an order.
func items(of []Op) []orders.Item {
	var out []orders.Item
	for i := range of {
		item := orders.Item{Name: idOf(of[i].Slot), Service: serviceOf(of[i].Slot)}
		switch of[i].Kind { // the drawer draws no other kinds
		case opCreate:
			item.Action, item.Attributes = orders.ActionCreate, maps.Clone(of[i].Attributes)
		case opUpdate:
			item.Action, item.Attributes = orders.ActionUpdate, maps.Clone(of[i].Attributes)
		case opDelete:
			item.Action = orders.ActionDelete
		}
		out = append(out, item)
	}
	return out
}
