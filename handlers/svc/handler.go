package svc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"southbound/shared/provider"
)

// handler manages the services of one service manager.
type handler struct{ system system }

func nameOf(r provider.Resource) string { s, _ := r.Attributes["name"].(string); return s }

// of returns the service manager of a resource.
func (h handler) of(r provider.Resource) system {
	if users, is := h.system.(scoped); is && r.Attributes["scope"] == scopeUser {
		return users.ofUser()
	}
	return h.system
}

// Read implements provider.Handler.
func (h handler) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	known, err := h.of(req.Resource).states(ctx, []string{nameOf(req.Resource)})
	if err != nil {
		return provider.Observation{}, provider.Errorf(provider.Retryable, "read the service: %w",
			err)
	}
	return observe(req.Resource, known), nil
}

// observe describes a service for its resource. A service that neither runs nor is enabled counts
// as purged, unless that state is the desired one.
func observe(r provider.Resource, known map[string]state) provider.Observation {
	s, defined := known[nameOf(r)]
	s = s.seenBy(r)
	asked := r.Attributes["running"] == true || r.Attributes["enabled"] == true || r.Purged
	if !defined || !s.running && !s.enabled && asked {
		return provider.Observation{}
	}
	return provider.Observation{Exists: true, Attributes: map[string]any{"running": s.running,
		"enabled": s.enabled}}
}

// seenBy returns a state as it counts for a resource. A service whose state is changing counts as
// not in its desired state, whichever that is. A service that cannot be disabled counts as disabled
// if it should be.
func (s state) seenBy(r provider.Resource) state {
	if s.changing {
		s.running = r.Attributes["running"] != true || r.Purged
	}
	if s.fixed && (r.Attributes["enabled"] == false || r.Purged) {
		s.enabled = false
	}
	return s
}

// ReadBatch implements provider.BatchReader: it queries each service manager once.
func (h handler) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	for _, scope := range []string{scopeSystem, scopeUser} {
		var names []string
		var of system
		for i := range items {
			if is(items[i].Resource, scope) {
				names, of = append(names, nameOf(items[i].Resource)), h.of(items[i].Resource)
			}
		}
		if len(names) == 0 {
			continue
		}
		known, err := of.states(ctx, names)
		for i := range items {
			switch {
			case !is(items[i].Resource, scope):
			case err != nil:
				out[i].Err = provider.Errorf(provider.Retryable, "read the services: %w", err)
			default:
				out[i].Observation = observe(items[i].Resource, known)
			}
		}
	}
	return out
}

func is(r provider.Resource, scope string) bool {
	return (r.Attributes["scope"] == scopeUser) == (scope == scopeUser)
}

// Create implements provider.Handler: it starts and enables the service as desired. It cannot
// create a service that is not defined.
func (h handler) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	return h.bring(ctx, req.Resource)
}

// Update implements provider.Handler.
func (h handler) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	return h.bring(ctx, req.Resource)
}

// fresh returns the state of a service. If the service will be started, or is in an unexpected
// state, the manager first reloads the definitions.
func (h handler) fresh(
	ctx *provider.Context, r provider.Resource, starts func(state) bool,
) (now state, defined bool, err error) {
	of, name := h.of(r), nameOf(r)
	read := func(ask func(context.Context, []string) (map[string]state, error)) {
		var known map[string]state
		if known, err = ask(ctx, []string{name}); err == nil {
			now, defined = known[name]
			now = now.seenBy(r)
		}
	}
	read(of.states)
	if system, can := of.(refresher); can && err == nil &&
		(!defined && !r.Purged || now.problem != "" || starts(now)) {
		read(system.refresh)
	}
	if err != nil {
		err = provider.Errorf(provider.Retryable, "read the service: %w", err)
	}
	return now, defined, err
}

// bring brings a service from any state to the desired one.
func (h handler) bring(ctx *provider.Context, r provider.Resource) (provider.Result, error) {
	of, name := h.of(r), nameOf(r)
	now, defined, err := h.fresh(ctx, r,
		func(now state) bool {
			return r.Attributes["running"] == true && !now.running && !now.changing
		})
	if err != nil {
		return provider.Result{}, err
	}
	if !defined && r.Purged {
		return provider.Result{}, nil
	}
	if !defined {
		return provider.Result{}, provider.Errorf(provider.Retryable,
			"there is no service %s: install the package or file that defines it", name)
	}
	type step struct {
		needed bool
		what   string
		do     func(context.Context, string) error
	}
	running, enabled := r.Attributes["running"], r.Attributes["enabled"]
	steps := []step{
		{enabled == true && !now.enabled, "enable", of.enable},
		{running == true && !now.running, "start", of.start},
		{running == false && now.running, "stop", of.stop},
		{enabled == false && now.enabled, "disable", of.disable},
	}
	if now.problem != "" && (steps[0].needed || steps[1].needed) {
		return provider.Result{}, provider.Errorf(provider.NeedsChange,
			"the service %s cannot be used: %s", name, now.problem)
	}
	for _, s := range steps {
		if !s.needed {
			continue
		}
		starts := 0
		if s.what == "start" {
			starts, err = begun(ctx.State(), now)
		}
		if err == nil {
			err = s.do(ctx, name)
		}
		if errors.As(err, &errBusy{}) {
			ctx.Info(s.what+": under way", "service", name)
			return provider.Result{Again: &provider.Again{After: checkAfter,
				State: []byte(strconv.Itoa(starts))}}, nil
		}
		if err != nil {
			return provider.Result{}, provider.Errorf(provider.ClassOf(err), "%s %s: %w", s.what,
				name, err)
		}
		ctx.Info(s.what, "service", name)
	}
	return provider.Result{}, nil
}

// begun returns how often a service will have been started. Calls that return Again pass the number
// to the next call. Otherwise a service that was started and has ended between two calls would be
// restarted forever.
func begun(before []byte, now state) (int, error) {
	starts, _ := strconv.Atoi(string(before)) // 0 in a first call
	switch {
	case starts > 0 && now.ended != nil:
		return 0, now.ended
	case starts > 0 && now.changing:
		return starts, nil // the service is still changing
	case starts >= maxStarts:
		return 0, fmt.Errorf("it was started %d times and does not stay up", starts)
	}
	return starts + 1, nil
}

// maxStarts is how often a service is started until it runs, if its manager does not report the
// result of a start.
const maxStarts = 2

// checkAfter is when a service that takes long is checked again.
const checkAfter = 2 * time.Second

// Delete implements provider.Handler.
func (h handler) Delete(
	ctx *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	r := req.Resource
	r.Purged = true
	r.Attributes = map[string]any{"name": nameOf(r), "scope": r.Attributes["scope"],
		"running": false, "enabled": false}
	return h.bring(ctx, r)
}

// Reload implements provider.Reloader.
func (h handler) Reload(ctx *provider.Context, req provider.ReadRequest) error {
	r := req.Resource
	of, name := h.of(r), nameOf(r)
	how, _ := r.Attributes["on_change"].(string)
	if how == "nothing" {
		return nil
	}
	now, _, err := h.fresh(ctx, r, func(now state) bool { return now.running })
	if err != nil || !now.running {
		return err
	}
	do := of.restart
	if how == "reload" {
		do = of.reload
	}
	if err := do(ctx, name); err != nil {
		return provider.Errorf(provider.ClassOf(err), "%s %s: %w", how, name, err)
	}
	ctx.Info(how, "service", name)
	return nil
}

// List implements provider.Lister: the services that run, or that start with the machine.
func (h handler) List(ctx *provider.Context, found func(provider.Found) error) error {
	known, err := h.system.states(ctx, nil)
	if err != nil {
		return provider.Errorf(provider.Retryable, "list the services: %w", err)
	}
	for name, s := range known {
		if s.changing || !s.running && !s.enabled {
			continue
		}
		if err := found(provider.Found{Attributes: map[string]any{"name": name,
			"running": s.running, "enabled": s.enabled}}); err != nil {
			return err
		}
	}
	return nil
}
