package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// The types of a simulation.
const (
	typeThing  = "sim::Thing"  // the author chooses names; has facts and reloads
	typeBatch  = "sim::Batch"  // read and changed in batches
	typeListed = "sim::Listed" // read from a list of all objects
	// listed: a resource is read individually only where the list is not sufficient
	typeShelf = "sim::Shelf"
	typeSlow  = "sim::Slow" // a change takes minutes: the handler asks for another call
	// the world chooses the identity; the result of a create can be looked up
	typeAssigned = "sim::Assigned"
	typeLonely   = "sim::Lonely" // as typeAssigned, without look-up
	typeRigid    = "sim::Rigid"  // a change of its fixed part replaces it: deleted first
	// as typeRigid, but created first: the world chooses the identity, and a create can be looked
	// up
	typeSwap   = "sim::Swap"
	typeFile   = "sim::File" // shares rooms with folders: each room holds one object
	typeFolder = "sim::Folder"
	typeLabel  = "sim::Label" // an object has several names, and a version has one of them
	// as typeAssigned; keeps a state with a secret output, in calls that may take minutes
	typeIssuer = "sim::Issuer"
)

// The time limits of a handler call. The limit of slow types exceeds the margin of a lane's lease.
const (
	callLimit = 5 * time.Second
	slowLimit = 40 * time.Second
)

// limitOf returns the time limit of a handler call for a resource.
func limitOf(id resource.ID) time.Duration {
	switch id.Type() {
	case typeSlow:
		return slowLimit
	case typeIssuer:
		return longLimit
	}
	return callLimit
}

// newTypes returns the registry of the types.
func newTypes() (*schema.Registry, error) {
	var types []schema.Type
	for _, name := range []string{typeThing, typeBatch, typeSlow, typeAssigned, typeLonely,
		typeRigid,
		typeSwap, typeFile, typeFolder, typeListed,
		typeShelf, typeLabel, typeIssuer} {
		types = append(types, schema.Type{
			Name: name, Timeout: callLimit, Transports: []string{"local", "http",
				"wire"}, Assigned: name == typeAssigned || name == typeLonely || name == typeIssuer,
			Attributes: []schema.Attribute{
				{Name: "name", Type: "String", Behaviour: schema.Namevar},
				{Name: "v", Type: "Integer"},
				{Name: "text", Type: "Optional[String]"},
				{Name: "fixed", Type: "Optional[Integer]", Behaviour: schema.InitOnly},
			},
		})
	}
	types[2].Timeout, types[len(types)-1].Timeout = slowLimit, longLimit
	for i := range types {
		t := &types[i]
		if !reached(t.Name, "wire") {
			t.Transports = t.Transports[:2]
		}
		if t.Name == typeFile || t.Name == typeFolder {
			t.Space = "rooms"
			t.Thing = func(attrs map[string]any) schema.Thing {
				return schema.NewThing(room(fmt.Sprint(attrs["name"])))
			}
		}
		if t.Name == typeLabel {
			t.Thing = func(attrs map[string]any) schema.Thing {
				return schema.NewThing(strings.TrimRight(fmt.Sprint(attrs["name"]), labelEnds+agentEnds))
			}
		}
		if t.Name == typeRigid || t.Name == typeSwap {
			t.Attributes[3].Behaviour = schema.Replace
			if t.Assigned = t.Name == typeSwap; t.Assigned {
				t.Attributes = append(t.Attributes, schema.Attribute{
					Name: schema.CreateBeforeDestroy, Type: "Boolean", Default: true,
					Behaviour: schema.Parameter,
				})
			}
			t.Attributes = append(t.Attributes,
				schema.Attribute{Name: "serial", Type: "Integer", Behaviour: schema.ReadOnly},
				schema.Attribute{Name: "key", Type: "Optional[Integer]",
					Behaviour: schema.WriteOnly})
		}
	}
	thing := &types[0]
	for _, name := range []string{"ear", "ear_agent", "mouth", "mouth_agent"} {
		thing.Attributes = append(thing.Attributes,
			schema.Attribute{Name: name, Type: "Optional[String]", Behaviour: schema.Parameter})
	}
	thing.Relations = []schema.Relation{
		{Kind: schema.Subscribe, Type: typeThing, Agent: "$ear_agent",
			Keys: map[string]string{"name": "$ear"}},
		{Kind: schema.Notify, Type: typeThing, Agent: "$mouth_agent",
			Keys: map[string]string{"name": "$mouth"}},
	}
	return schema.NewRegistry(types...)
}

// newHandlers returns the handlers of one run.
func newHandlers(r *run) map[string]provider.Handler {
	h := handler{r}
	return map[string]provider.Handler{
		typeThing: thingHandler{h}, typeBatch: batchHandler{h}, typeSlow: slowHandler{h},
		typeAssigned: assignedHandler{lonelyHandler{h}}, typeLonely: lonelyHandler{h},
		typeFile: h, typeFolder: h, typeLabel: keepingHandler{h}, typeListed: listHandler{h}, typeShelf: shelfHandler{h},
		typeRigid: rigidHandler{h}, typeSwap: swapHandler{assignedHandler{lonelyHandler{h}}},
		typeIssuer: issuingHandler{assignedHandler{lonelyHandler{h}}},
	}
}

// handler is the common part of all handlers.
type handler struct{ r *run }

// act performs one call to the world. The call is logged and takes time. It may fail before or
// after effect has done its work, and the process may crash during the call.
func (h handler) act(
	c *provider.Context, what string, res provider.Resource, effect func(t *thing) error,
) error {
	r := h.r
	who := r.sched.cur
	r.books.started(r, who, what, c, res)
	defer r.books.ended(who, res.ID, what)
	checkAlone(r, who, what, res.ID)
	who.books.log(res.ID)
	c.Info(fmt.Sprintf("sim %s with %v", what, res.Attributes["text"]), "v", res.Attributes["v"],
		"text", res.Attributes["text"])
	hurryAlong(r)
	th := r.world.thing(res.ID)
	if r.faulty && r.sched.rng.Float64() < r.plan.faults.panics {
		r.happened("call panics")
		panic(fmt.Sprintf("panic in %s of %v", what, res.Attributes["text"]))
	}
	err := who.proc.call(c.Context, what+" "+string(res.ID), &r.plan.faults.world, func() error {
		if what != "read" && what != "find" && what != "facts" && !r.books.live(r, who) {
			th.drifted, th.rekeyed = true, true
			r.tracef("%s: %s of %s by a holder that lost its lane", who.name, what, res.ID)
		}
		if err := th.fail(what == "read" || what == "facts"); err != nil && what != "find" {
			return err
		}
		if (what == "create" || what == "update") && r.books.live(r, who) {
			th.rekeyed = false
		}
		return effect(th)
	})
	refuses := r.plan.faults.refuses
	if what == "find" {
		refuses *= 5 // this call is rare
	}
	if replaces(res.ID) && what != "read" && what != "find" {
		// these types test half-finished replacements and uncertain writes
		refuses = max(refuses, 0.2)
	}
	if err == nil && r.faulty && r.sched.rng.Float64() < refuses {
		classes := []provider.Class{provider.Retryable, provider.Retryable, provider.Terminal,
			provider.NeedsChange}
		err = provider.Errorf(classes[r.sched.rng.IntN(len(classes))], "refused, with %v",
			res.Attributes["text"])
	}
	r.happened("call " + what)
	if err != nil {
		r.happened("call fails: " + string(provider.ClassOf(err)))
		who.books.failed(res.ID, err)
		r.tracef("%s: %s %s: %v", who.name, what, res.ID, err)
	} else {
		who.books.did(res.ID, what)
		if (what == "create" || what == "update" || what == "delete") && r.books.live(r, who) {
			listChanged(r, who, res.ID)
		}
		r.tracef("%s: %s %s v=%v", who.name, what, res.ID, res.Attributes["v"])
	}
	return err
}

// Read implements provider.Handler.
func (h handler) Read(
	c *provider.Context, req provider.ReadRequest,
) (out provider.Observation, err error) {
	err = h.act(c, "read", req.Resource, func(t *thing) error {
		if p, ok := t.observe(h.r.sched.now); ok {
			out = provider.Observation{Exists: true, Attributes: p.attributes()}
		}
		return nil
	})
	if err != nil {
		return provider.Observation{}, err
	}
	return out, nil
}

// Create implements provider.Handler.
func (h handler) Create(c *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	return h.set(c, "create", req.Resource)
}

// Update implements provider.Handler.
func (h handler) Update(c *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	return h.set(c, "update", req.Resource)
}

func (h handler) set(
	c *provider.Context, what string, res provider.Resource,
) (provider.Result, error) {
	return provider.Result{}, h.act(c, what, res, func(t *thing) error {
		fixed := t.fixed
		t.parts = partsOf(res.Attributes)
		if what == "update" && t.exists {
			t.fixed = fixed
		}
		t.exists = true
		h.r.books.changed(h.r, res.ID, what)
		return nil
	})
}

// Delete implements provider.Handler.
func (h handler) Delete(c *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	return provider.Result{}, h.act(c, "delete", req.Resource, func(t *thing) error {
		checkPreserved(h.r, h.r.sched.cur, req.Resource.ID, req.Resource, req.Observed)
		t.parts, t.exists, t.pending = parts{}, false, nil
		t.made = dropSeen(t.made)
		h.r.books.changed(h.r, req.Resource.ID, "delete")
		return nil
	})
}

func dropSeen(made []*copyOf) []*copyOf {
	var out []*copyOf
	for _, c := range made {
		if !c.seen {
			out = append(out, c)
		}
	}
	return out
}

// thingHandler supports facts and reloads.
type thingHandler struct{ handler }

// Facts implements provider.FactReader.
func (h thingHandler) Facts(
	c *provider.Context, req provider.ReadRequest,
) (map[string]any, error) {
	var out map[string]any
	err := h.act(c, "facts", req.Resource, func(t *thing) error {
		text, is := req.Resource.Attributes["text"].(string)
		addr := factOf(nameOf(req.Resource.ID), t.v, text)
		endpoints := []any{}
		if !closed(t.v) {
			endpoints = append(endpoints, map[string]any{factName: addr, "v": t.v})
		}
		out = map[string]any{factName: addr, endpointsName: endpoints}
		if is {
			out["text"] = text // may be a secret
		}
		return nil
	})
	return out, err
}

// factOf returns the fact of a sim::Thing: it depends on what the thing is made of.
func factOf(name string, v int64, text string) string {
	return fmt.Sprintf("%s-%d/%s", name, v, text)
}

// factName is the name of the fact of a sim::Thing.
const factName = "addr"

// endpointsName is the name of a fact of a sim::Thing that is a list of maps. endpointPath leads to a
// member of it, which has the value of factName, or leads nowhere if the thing is closed.
const (
	endpointsName = "endpoints"
	endpointPath  = endpointsName + "/0/" + factName
)

// closed reports whether a sim::Thing with this v has no endpoints.
func closed(v int64) bool { return v%4 == 3 }

// Reload implements provider.Reloader.
func (h thingHandler) Reload(c *provider.Context, req provider.ReadRequest) error {
	return h.act(c, "reload", req.Resource, func(t *thing) error {
		delete(h.r.books.events, req.Resource.ID)
		return nil
	})
}

// batchHandler reads and changes in batches.
type batchHandler struct{ handler }

// ReadBatch implements provider.BatchReader.
func (h batchHandler) ReadBatch(_ context.Context, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	for i, it := range items {
		out[i].Observation, out[i].Err = h.Read(it.Context, it.ReadRequest)
	}
	return out
}

// ApplyBatch implements provider.BatchApplier.
func (h batchHandler) ApplyBatch(
	_ context.Context, items []provider.BatchChange,
) []provider.Applied {
	out := make([]provider.Applied, len(items))
	for i, it := range items {
		switch it.Change {
		case diff.Purged:
			out[i].Result, out[i].Err = h.Delete(it.Context,
				provider.DeleteRequest{Resource: it.Resource, Observed: it.Observed})
		case diff.Created:
			out[i].Result, out[i].Err = h.set(it.Context, "create", it.Resource)
		default:
			out[i].Result, out[i].Err = h.set(it.Context, "update", it.Resource)
		}
	}
	return out
}

// slowState is the state that a slow handler receives back at its next call.
const slowState = "under way"

// slowHandler begins operations that complete later.
type slowHandler struct{ handler }

// Create implements provider.Handler.
func (h slowHandler) Create(
	c *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	return h.begin(c, "create", req.Resource)
}

// Update implements provider.Handler.
func (h slowHandler) Update(
	c *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	return h.begin(c, "update", req.Resource)
}

func (h slowHandler) begin(
	c *provider.Context, what string, res provider.Resource,
) (provider.Result, error) {
	var out provider.Result
	err := h.act(c, what, res, func(t *thing) error {
		now, want := h.r.sched.now, partsOf(res.Attributes)
		if t.exists {
			want.fixed = t.fixed
		}
		if t.pending == nil || *t.pending != want {
			t.pending = &want
			t.busyUntil = now + time.Duration(h.r.sched.rng.Int64N(int64(40*time.Second)))
			h.r.books.changed(h.r, res.ID, what)
		}
		if t.complete(now); t.pending != nil {
			out.Again = &provider.Again{After: t.busyUntil - now + time.Millisecond,
				State: []byte(slowState)}
		}
		return nil
	})
	if err != nil {
		return provider.Result{}, err
	}
	if out.Again != nil {
		h.r.sched.cur.books.again(res.ID, out.Again.After)
	}
	return out, nil
}

// lonelyHandler creates objects whose identity the world chooses, and that cannot be looked up.
type lonelyHandler struct{ handler }

// Create implements provider.Handler.
func (h lonelyHandler) Create(
	c *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	var made *copyOf
	err := h.act(c, "create", req.Resource, func(t *thing) error {
		checkCreate(h.r, t, req.Resource.ID, req.Token)
		made = &copyOf{parts: partsOf(req.Resource.Attributes), token: req.Token, at: h.r.sched.now,
			late: !h.r.books.live(h.r, h.r.sched.cur)}
		t.made = append(t.made, made)
		h.r.books.changed(h.r, req.Resource.ID, "create")
		return nil
	})
	if err == nil && !h.r.sched.cur.books.orphaned {
		made.seen = true // the engine has received its identity
	}
	return provider.Result{}, err
}

// Update implements provider.Handler.
func (h lonelyHandler) Update(
	c *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	return provider.Result{}, h.act(c, "update", req.Resource, func(t *thing) error {
		for _, m := range t.made {
			if m.seen {
				fixed := m.fixed
				m.parts = partsOf(req.Resource.Attributes)
				m.fixed = fixed
			}
		}
		h.r.books.changed(h.r, req.Resource.ID, "update")
		return nil
	})
}

// assignedHandler can look up the result of a create.
type assignedHandler struct{ lonelyHandler }

// FindCreated implements provider.Finder.
func (h assignedHandler) FindCreated(
	c *provider.Context, req provider.CreateRequest,
) (found bool, err error) {
	var made []*copyOf
	err = h.act(c, "find", req.Resource, func(t *thing) error {
		for _, m := range t.made {
			if m.token == req.Token {
				made = append(made, m)
			}
		}
		return nil
	})
	if err != nil || h.r.sched.cur.books.orphaned {
		return false, err // the engine has not received its identity
	}
	for _, m := range made {
		m.seen = true
	}
	return len(made) > 0, nil
}

// isAssigned reports whether the world chooses the identity of a resource's object.
func isAssigned(id resource.ID) bool {
	return id.Type() == typeAssigned || id.Type() == typeLonely || id.Type() == typeSwap ||
		id.Type() == typeIssuer
}
