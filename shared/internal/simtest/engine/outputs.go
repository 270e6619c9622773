package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// keyName is the name of the secret output of a sim::Issuer.
const keyName = "key"

// longLimit is the time limit of a call for a sim::Issuer: longer than the span of a renewed lease.
const longLimit = 10 * time.Minute

// issuingHandler has objects whose identity the world chooses. It keeps a state of each object, and a
// key as its secret output.
type issuingHandler struct{ assignedHandler }

// Keeps implements provider.Keeper.
func (issuingHandler) Keeps(provider.Resource) bool { return true }

// Read implements provider.Handler. An object without a kept state differs from each intent, so that
// its run keeps one.
func (h issuingHandler) Read(
	c *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	out, err := keepingHandler{h.handler}.Read(c, req)
	if err == nil && out.Exists && c.Kept() == nil {
		out.Attributes["v"] = int64(0)
	}
	return out, err
}

// Create implements provider.Handler. The engine receives the identity of the object at the end of the
// call: until then, and if the answer is lost, it has to look the object up.
func (h issuingHandler) Create(
	c *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	out, err := h.assignedHandler.Create(c, req)
	if err != nil {
		return out, err
	}
	all := h.r.world.thing(req.Resource.ID).made
	made := all[len(all)-1]
	made.seen = false
	err = h.issue(c, req.Resource)
	if b := h.r.sched.cur.books; err == nil && !b.orphaned && !b.gaveUp {
		made.seen = true
	}
	return out, err
}

// Update implements provider.Handler.
func (h issuingHandler) Update(
	c *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	out, err := h.assignedHandler.Update(c, req)
	if err == nil {
		err = h.issue(c, req.Resource)
	}
	return out, err
}

// Delete implements provider.Handler; see keepingHandler.Delete.
func (h issuingHandler) Delete(
	c *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	out, err := keepingHandler{h.handler}.Delete(c, req)
	h.last(20 * time.Second)
	return out, err
}

// last makes one call in three take up to a time.
func (h issuingHandler) last(most time.Duration) {
	if r := h.r; r.faulty && r.sched.rng.IntN(3) == 0 {
		r.happened("long call")
		r.sched.pause(time.Duration(r.sched.rng.Int64N(int64(most))))
	}
}

// issue keeps the key of an object. The call may take minutes, and its process may crash after the
// key is kept.
func (h issuingHandler) issue(c *provider.Context, res provider.Resource) error {
	r, who := h.r, h.r.sched.cur
	if r.plan.renews {
		h.last(8 * time.Minute)
	}
	key := keyOf(res)
	if err := (keepingHandler{h.handler}).keep(c, res.ID, map[string]any{keyName: key}); err != nil {
		return err
	}
	who.books.log(res.ID)
	c.Info("sim issues " + key)
	if r.faulty && r.plan.rates[kindCrash] > 0 && r.sched.rng.IntN(8) == 0 {
		r.crash(who.proc, "a call that has kept a state")
		return canceled("keep")
	}
	return nil
}

// keyOf returns the key of an object. It changes with every second v, and with the text.
func keyOf(res provider.Resource) string {
	p := partsOf(res.Attributes)
	return fmt.Sprintf("%s-%s-%d/%s", marker, nameOf(res.ID), p.v/2, p.text)
}

// keyRef returns a reference to the key of an object.
func keyRef(id resource.ID) resource.Secret {
	return resource.Secret{Source: resource.Output{Of: id, Path: keyName}.Source()}
}

// outputIn returns the secret output to which a text refers, with the version of the reference, if it
// refers to one.
func outputIn(text any) (o resource.Output, version string, refers bool) {
	for _, ref := range resource.References(text) {
		if s, is := ref.(resource.Secret); is {
			if o, is := s.Output(); is {
				return o, s.Version, true
			}
		}
	}
	return resource.Output{}, "", false
}

// learnedFrom returns the resource to whose fact or secret output a text refers; "": none.
func learnedFrom(text any) resource.ID {
	if o, _, refers := outputIn(text); refers {
		return o.Of
	}
	f, _ := factIn(text)
	return f.Of
}

// plainKept opens a kept state; the zero value: there is none.
func plainKept(k state.Kept) state.Plain {
	sealed, err := sealer{}.Open(context.Background(), env, k.ID, k.Sealed)
	if err != nil {
		return state.Plain{}
	}
	plain, _ := state.DecodePlain(sealed)
	return plain
}

// keyKept returns the key in a kept state; "": there is none.
func keyKept(k state.Kept) string {
	v, _ := resource.DecodeValue(plainKept(k).Outputs)
	outputs, _ := v.(map[string]any)
	key, _ := outputs[keyName].(string)
	return key
}

// checkOutput checks that a row has followed the secret output to which its resource refers, and that
// its deployed object has the present value.
func checkOutput(r *run, row *state.Row, it *item) {
	o, _, refers := outputIn(it.res.Attributes["text"])
	res, err := resource.Decode(row.Body)
	k := r.state.read(env).kept[o.Of]
	if !refers || err != nil || k.Outputs == "" || row.Comparison() == state.Undefined {
		return // a row keeps the version of an output that no longer exists
	}
	_, version, _ := outputIn(res.Attributes["text"])
	thing := r.world.thing(row.ID)
	have, exists := thing.observe(r.sched.now)
	switch {
	case version != k.Outputs:
		r.violate("followed", "%s has version %q of the output of %s, which is %q", row.ID, version, o.Of,
			k.Outputs)
	case asWanted(row) && exists && !thing.drifted && !res.Purged && !res.ReportOnly &&
		!strings.Contains(have.text, keyKept(k)):
		r.violate("followed", "%s has %q, and the output of %s is %q", row.ID, have.text, o.Of, keyKept(k))
	}
}

// hasOutput reports whether a row refers to a secret output, in its present version.
func hasOutput(r *run, row *state.Row) bool {
	res, err := resource.Decode(row.Body)
	if err != nil {
		return false
	}
	o, version, refers := outputIn(res.Attributes["text"])
	return refers && version != "" && version == r.state.read(env).kept[o.Of].Outputs
}

// lacksOutput reports whether a row refers to a secret output that does not exist.
func lacksOutput(r *run, row *state.Row) bool {
	res, err := resource.Decode(row.Body)
	if err != nil {
		return false
	}
	o, _, refers := outputIn(res.Attributes["text"])
	return refers && r.state.read(env).kept[o.Of].Outputs == ""
}

// checkKeeps checks the kept states of a commit: equal outputs keep their version, and no person
// changes the state of a resource that is being run.
func checkKeeps(r *run, t *task, c *state.Commit, b before) {
	for _, k := range c.Keep {
		checkClaimer(r, t, k.ID)
		was, had := b.kept[k.ID]
		now := plainKept(k)
		if had && len(now.Outputs) > 0 && bytes.Equal(now.Outputs, plainKept(was).Outputs) &&
			k.Outputs != was.Outputs && !t.books.repairs && t.faults == 0 {
			r.violate("outputs", "%s gives the equal outputs of %s another version", t.name, k.ID)
		}
		if t.books.repairs {
			checkRepaired(r, t, k.ID)
			r.books.kept[k.ID] = []string{string(now.State)}
		}
	}
	for _, id := range c.DropKept {
		if t.books.repairs {
			checkRepaired(r, t, id)
			r.books.kept[id], r.books.unkept[id] = []string{""}, true
		}
	}
}

// checkClaimer checks that no task has claimed a thing since the claim of the task that keeps a state of
// it, and no person has changed the state: a late holder of a lease must not replace a newer state. A
// resource that was forgotten and created again does not know of a run that was under way.
func checkClaimer(r *run, t *task, id resource.ID) {
	b, last := r.books, r.books.claimer[thingOf(id)]
	// a worker waits for a state that its abandoned call stores, and claims nothing
	waited := last.by == t.books.leftBy.by && last.claim <= t.books.leftBy.claim
	if !t.books.repairs && last.by != t.books.worker && !waited && !b.split[thingOf(id)] &&
		!b.forgotten[id] {
		r.violate("kept", "%s keeps a state of %s, which another task has claimed since", t.name, id)
	}
}

// checkRepaired checks that no live holder of a lane is running a resource.
func checkRepaired(r *run, t *task, id resource.ID) {
	r.books.claimer[thingOf(id)] = claimer{by: t.books.worker}
	for key, h := range r.books.leases {
		l := r.state.read(env).leases[key]
		if h.by != t.books.worker && !h.freed && !h.proc.dead && r.time().Before(h.until) &&
			slices.Contains(h.claimed, id) && slices.Contains(l.Running, id) {
			r.violate("kept", "%s changes the state of %s, which is running in %s", t.name, id, key)
		}
	}
}

// repairKept removes the kept state of a resource, or imports it some time after it was exported, as a
// person does. A resource that is running, or that keeps no state, is refused.
func repairKept(r *run, p *process, o *op) {
	repair := func(p *process, name string, f func(t *task) error) {
		r.task(p, name, func(t *task) error {
			t.books.repairs = true
			err := f(t)
			r.happenedIf(err == nil, name)
			if fault.Is(err, fault.Busy) || fault.Is(err, fault.NotFound) {
				r.happened(name + " refused")
				return nil
			}
			return err
		})
	}
	if o.kind == opForgetKept {
		repair(p, "ForgetKept", func(t *task) error {
			return p.engine.ForgetKept(taskContext{t}, env, o.id)
		})
		return
	}
	repair(p, "Kept", func(t *task) error {
		k, err := p.engine.Kept(taskContext{t}, env, o.id)
		if err != nil {
			return err
		}
		r.sched.at(r.sched.now+o.d, func() {
			p := r.process()
			if p == nil || r.ended {
				return
			}
			repair(p, "ImportKept", func(t *task) error {
				_, verified, err := p.engine.ImportKept(taskContext{t}, env, o.id, k.Sealed, k.Outputs)
				if err == nil && !verified {
					r.violate("kept", "%s has not opened the state of %s", t.name, o.id)
				}
				return err
			})
		})
		return nil
	})
}
