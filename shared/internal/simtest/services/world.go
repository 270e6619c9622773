package services

import (
	"slices"
	"time"

	"southbound/shared/internal/simtest/engine"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// typePage is the type of the resources of instances.
const typePage = "sim::Page"

// callLimit is the maximum duration of a call of a handler.
const callLimit = 5 * time.Second

// newTypes returns a registry with the type.
func newTypes() (*schema.Registry, error) {
	return schema.NewRegistry(schema.Type{
		Name: typePage, Timeout: callLimit, Transports: []string{"local"},
		Attributes: []schema.Attribute{
			{Name: "name", Type: "String", Behaviour: schema.Namevar},
			{Name: "text", Type: "String"},
		},
	})
}

// page returns the id of a page.
func page(name string) resource.ID {
	return resource.NewID(typePage, "here", resource.Key{Name: "name", Value: name})
}

// world holds the resources that handlers manage: the texts of pages.
type world struct {
	r      *run
	pages  map[resource.ID]string // of the pages that exist
	broken map[resource.ID]bool   // the pages that cannot be changed
	// late are the pages that a process changed after its lease may have expired. No engine can
	// undo such changes.
	late map[resource.ID]bool
	// ran are the pages that each process has run since its last notice.
	ran map[*engine.Process][]resource.ID
}

// ranSets returns the resource sets of the pages that a process has run, including the empty set,
// and forgets them.
func (w *world) ranSets(p *engine.Process) []string {
	var out []string
	rows := w.r.rows()
	for _, id := range w.ran[p] {
		if row, known := rows[id]; known {
			out = append(out, row.set)
		}
	}
	delete(w.ran, p)
	slices.Sort(out)
	return slices.Compact(out)
}

// act is a call of the world.
func (w *world) act(c *provider.Context, what string, id resource.ID, effect func()) error {
	p, name := w.r.bench.Calling()
	w.ran[p] = append(w.ran[p], id)
	began := w.r.bench.Now()
	err := p.Call(c.Context, what+" "+string(id), func() error {
		if w.broken[id] && what != "read" {
			return provider.Errorf(provider.Terminal, "the page is broken")
		}
		if what != "read" && w.r.bench.Now()-began > callLimit {
			w.late[id] = true
		}
		effect()
		return nil
	})
	if err == nil && w.r.bench.Refused() {
		err = provider.Errorf(provider.Retryable, "refused")
	}
	w.r.bench.Tracef("%s: %s %s: %v", name, what, id, err)
	return err
}

// Read implements provider.Handler.
func (w *world) Read(
	c *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	var out provider.Observation
	err := w.act(c, "read", req.Resource.ID, func() {
		if text, ok := w.pages[req.Resource.ID]; ok {
			out.Exists, out.Attributes = true, map[string]any{"text": text}
		}
	})
	return out, err
}

// Create implements provider.Handler.
func (w *world) Create(
	c *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	return provider.Result{}, w.put(c, "create", &req.Resource)
}

// Update implements provider.Handler.
func (w *world) Update(
	c *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	return provider.Result{}, w.put(c, "update", &req.Resource)
}

func (w *world) put(c *provider.Context, what string, res *provider.Resource) error {
	return w.act(c, what, res.ID, func() { w.pages[res.ID], _ = res.Attributes["text"].(string) })
}

// Delete implements provider.Handler.
func (w *world) Delete(
	c *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	return provider.Result{}, w.act(c, "delete", req.Resource.ID, func() {
		delete(w.pages, req.Resource.ID)
	})
}

// mend repairs all broken pages, and returns them.
func (w *world) mend() []resource.ID {
	var out []resource.ID
	for id := range w.broken {
		out = append(out, id)
	}
	slices.Sort(out)
	clear(w.broken)
	return out
}
