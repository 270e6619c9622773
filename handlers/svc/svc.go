// Package svc manages services: programs that run all the time, and those that are started with the machine.
package svc

import (
	"context"
	"time"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// system is what looks after the services of a machine.
type system interface {
	// states returns what is known of services; those that are not defined are left out. No names: of all there are.
	states(ctx context.Context, names []string) (map[string]state, error)
	start(ctx context.Context, name string) error
	stop(ctx context.Context, name string) error
	enable(ctx context.Context, name string) error
	disable(ctx context.Context, name string) error
	restart(ctx context.Context, name string) error
	reload(ctx context.Context, name string) error
}

// state is how a service is.
type state struct{ running, enabled bool }

// Service declares svc::Service.
func Service() provider.Definition { return define(systemd{}, runit{}, sysvinit{}) }

func define(d systemd, r runit, i sysvinit) provider.Definition {
	t := schema.Type{
		Name: "svc::Service",
		Description: "A service of the machine: whether it runs, and whether it is started with the machine. What defines it (a unit, a script) comes from a package, or is a file. " +
			"Purged, it is stopped and not started with the machine; its definition stays.",
		Attributes: []schema.Attribute{
			{Name: "name", Type: `Pattern[/\A[A-Za-z0-9_][A-Za-z0-9_.:@\\-]*\z/]`, Behaviour: schema.Namevar, Description: "its name; for systemd with or without .service"},
			{Name: "running", Type: "Optional[Boolean]", Description: "whether it runs; left out, that is left alone"},
			{Name: "enabled", Type: "Optional[Boolean]", Description: "whether it is started with the machine; left out, that is left alone"},
			{Name: "on_change", Type: "Enum[restart, reload, nothing]", Default: "restart", Behaviour: schema.Parameter,
				Description: "what is done with it, when it runs, after something it requires has changed and sends events"},
		},
		Features: []string{"batch", "reload", "discover"},
		Timeout:  2 * time.Minute,
		Machine:  true,
		Validate: func(attrs map[string]any) []diag.Problem {
			if attrs["running"] == nil && attrs["enabled"] == nil {
				return []diag.Problem{{Attribute: "running", Message: "neither running nor enabled is said, so there is nothing to see to", Hint: "add running: true, enabled: true or both"}}
			}
			return nil
		},
		Relations: func(agent string, attrs map[string]any) []string {
			name, _ := attrs["name"].(string)
			return []string{
				string(resource.NewID("pkg::Package", agent, resource.Key{Name: "name", Value: name})),
				string(resource.NewID("fs::File", agent, resource.Key{Name: "path", Value: "/etc/systemd/system/" + unit(name)})),
				string(resource.NewID("fs::File", agent, resource.Key{Name: "path", Value: "/etc/init.d/" + name})),
				string(resource.NewID("fs::File", agent, resource.Key{Name: "path", Value: "/etc/sv/" + name + "/run"})),
			}
		},
	}
	def, err := provider.Define(t,
		provider.Provider{Name: "systemd", Description: "units of systemd", Preference: 30, Handler: handler{d},
			Needs: provider.Needs{Commands: []string{"systemctl"}, Facts: map[string]string{"init": "systemd"}}},
		provider.Provider{Name: "runit", Description: "directories of runit, in a container for instance", Preference: 20, Handler: handler{r},
			Needs: provider.Needs{Check: r.lack}},
		provider.Provider{Name: "sysvinit", Description: "scripts in /etc/init.d", Preference: 10, Handler: handler{i},
			Needs: provider.Needs{Check: i.lack}})
	if err != nil {
		return provider.Definition{Type: schema.Type{Name: err.Error()}} // the registry refuses it and says why
	}
	return def
}

// handler manages services of one system.
type handler struct{ system system }

func nameOf(r provider.Resource) string { s, _ := r.Attributes["name"].(string); return s }

// Read implements provider.Handler.
func (h handler) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	known, err := h.system.states(ctx, []string{nameOf(req.Resource)})
	if err != nil {
		return provider.Observation{}, provider.Errorf(provider.Retryable, "look at the service: %w", err)
	}
	return observe(req.Resource, known), nil
}

// observe says what a service is to its resource. One that neither runs nor is enabled is what a purge leaves, unless that is what is wanted.
func observe(r provider.Resource, known map[string]state) provider.Observation {
	s, defined := known[nameOf(r)]
	asked := r.Attributes["running"] == true || r.Attributes["enabled"] == true || r.Purged
	if !defined || !s.running && !s.enabled && asked {
		return provider.Observation{}
	}
	return provider.Observation{Exists: true, Attributes: map[string]any{"running": s.running, "enabled": s.enabled}}
}

// ReadBatch implements provider.BatchReader: the system is asked once.
func (h handler) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	names := make([]string, len(items))
	for i := range items {
		names[i] = nameOf(items[i].Resource)
	}
	known, err := h.system.states(ctx, names)
	for i := range items {
		if err != nil {
			out[i].Err = provider.Errorf(provider.Retryable, "look at the services: %w", err)
			continue
		}
		out[i].Observation = observe(items[i].Resource, known)
	}
	return out
}

// Create implements provider.Handler: it starts and enables what is wanted. What is not defined cannot be made.
func (h handler) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	return provider.Result{}, h.bring(ctx, req.Resource)
}

// Update implements provider.Handler.
func (h handler) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	return provider.Result{}, h.bring(ctx, req.Resource)
}

// bring brings a service into its state, from whatever state it is in.
func (h handler) bring(ctx *provider.Context, r provider.Resource) error {
	name := nameOf(r)
	known, err := h.system.states(ctx, []string{name})
	if err != nil {
		return provider.Errorf(provider.Retryable, "look at the service: %w", err)
	}
	now, defined := known[name]
	if !defined {
		return provider.Errorf(provider.Retryable, "there is no service %s: what defines it, a package or a file, is not there", name)
	}
	type step struct {
		needed bool
		what   string
		do     func(context.Context, string) error
	}
	running, enabled := r.Attributes["running"], r.Attributes["enabled"]
	for _, s := range []step{
		{enabled == true && !now.enabled, "enable", h.system.enable},
		{running == true && !now.running, "start", h.system.start},
		{running == false && now.running, "stop", h.system.stop},
		{enabled == false && now.enabled, "disable", h.system.disable},
	} {
		if !s.needed {
			continue
		}
		if err := s.do(ctx, name); err != nil {
			return provider.Errorf(provider.Retryable, "%s %s: %w", s.what, name, err)
		}
		ctx.Info(s.what, "service", name)
	}
	return nil
}

// Delete implements provider.Handler.
func (h handler) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	r := req.Resource
	r.Attributes = map[string]any{"name": nameOf(r), "running": false, "enabled": false}
	known, err := h.system.states(ctx, []string{nameOf(r)})
	if _, defined := known[nameOf(r)]; err == nil && !defined {
		return provider.Result{}, nil
	}
	return provider.Result{}, h.bring(ctx, r)
}

// Reload implements provider.Reloader.
func (h handler) Reload(ctx *provider.Context, req provider.ReadRequest) error {
	name := nameOf(req.Resource)
	how, _ := req.Resource.Attributes["on_change"].(string)
	known, err := h.system.states(ctx, []string{name})
	if err != nil {
		return provider.Errorf(provider.Retryable, "look at the service: %w", err)
	}
	if how == "nothing" || !known[name].running {
		return nil
	}
	do := h.system.restart
	if how == "reload" {
		do = h.system.reload
	}
	if err := do(ctx, name); err != nil {
		return provider.Errorf(provider.Retryable, "%s %s: %w", how, name, err)
	}
	ctx.Info(how, "service", name)
	return nil
}

// List implements provider.Lister: what runs, or is started with the machine.
func (h handler) List(ctx *provider.Context, found func(provider.Found) error) error {
	known, err := h.system.states(ctx, nil)
	if err != nil {
		return provider.Errorf(provider.Retryable, "list the services: %w", err)
	}
	for name, s := range known {
		if !s.running && !s.enabled {
			continue
		}
		if err := found(provider.Found{Attributes: map[string]any{"name": name, "running": s.running, "enabled": s.enabled}}); err != nil {
			return err
		}
	}
	return nil
}
