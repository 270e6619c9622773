// Package svc manages services: programs that run all the time, and those that start with the
// machine.
package svc

import (
	"context"
	"strings"
	"time"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// system is the service manager of a machine, or of a user.
type system interface {
	// states returns the state of services; undefined ones are omitted. No names: of all services.
	states(ctx context.Context, names []string) (map[string]state, error)
	start(ctx context.Context, name string) error
	stop(ctx context.Context, name string) error
	enable(ctx context.Context, name string) error
	disable(ctx context.Context, name string) error
	restart(ctx context.Context, name string) error
	reload(ctx context.Context, name string) error
}

// state is the state of a service.
type state struct {
	running, enabled bool
	// starting or stopping: it does not run yet, and is not stopped either
	changing bool
	// whether it starts with the machine is not configurable: it can be neither enabled nor
	// disabled
	fixed   bool
	problem string // why it cannot be started
	// the error of a start that led to this state; nil if the service may still come to run
	ended error
}

// errBusy means that the service is still changing to the requested state.
type errBusy struct{}

func (errBusy) Error() string { return "it is on its way" }

// refresher is a system that reads definitions only on request. refresh does so, and returns the
// state of services then, as states does.
type refresher interface {
	refresh(ctx context.Context, names []string) (map[string]state, error)
}

// scoped is a system that also manages the services of users.
type scoped interface {
	ofUser() system
}

// The owners of services.
const (
	scopeSystem = "system"
	scopeUser   = "user"
)

// Service declares svc::Service.
func Service() provider.Definition { return define(systemd{}, runit{}, supervisor{}, sysvinit{}) }

// thingOf names a service. A service of a user belongs to the user that handlers run as, which only
// the machine knows.
func thingOf(attrs map[string]any) schema.Thing {
	name, _ := attrs["name"].(string)
	if name == "" {
		return schema.Thing{}
	}
	out := schema.NewThing("the service " + strings.TrimSuffix(unit(name), ".service"))
	if attrs["scope"] == scopeUser {
		out.Names[0] += " of a user"
		out.Shared = true
	}
	return out
}

func define(d systemd, r runit, u supervisor, i sysvinit) provider.Definition {
	t := schema.Type{
		Listed: []string{"scope"},
		Name:   "svc::Service",
		Description: "A service of the machine: whether it runs, and whether it starts at boot. A package or a " +
			"file provides its definition (a unit, a script). A purge stops and disables it; its " +
			"definition stays.",
		Attributes: []schema.Attribute{
			{Name: "name", Type: `Pattern[/\A[A-Za-z0-9_][A-Za-z0-9_.:@\\-]*\z/]`,
				Behaviour:   schema.Namevar,
				Description: "its name; for systemd with or without .service"},
			{Name: "running", Type: "Optional[Boolean]",
				Description: "whether it runs; absent: left unchanged"},
			{Name: "enabled", Type: "Optional[Boolean]",
				Description: "whether it starts at boot; absent: left unchanged"},
			{Name: "scope", Type: "Enum[system, user]", Default: scopeSystem,
				Behaviour: schema.Parameter,
				Description: "user: a systemd service of the user that handlers run as; enabled is then whether " +
					"it starts with that user's services"},
			{Name: "on_change", Type: "Enum[restart, reload, nothing]", Default: "restart",
				Behaviour: schema.Parameter,
				Description: "the action on a running service after a required resource changed and sent an " +
					"event"},
		},
		Features: []string{"batch", "reload", "discover"},
		Timeout:  2 * time.Minute,
		Machine:  true,
		Thing:    thingOf,
		Validate: func(attrs map[string]any) []diag.Problem {
			if attrs["running"] == nil && attrs["enabled"] == nil {
				return []diag.Problem{{Attribute: "running",
					Message: "neither running nor enabled is given, so there is nothing to manage",
					Hint:    "add running: true, enabled: true or both"}}
			}
			return nil
		},
		Relations: []schema.Relation{
			{Kind: schema.Require, Type: "pkg::Package", Keys: map[string]string{"name": "$name"}},
			{Kind: schema.Require, Type: "fs::File", Names: filesOf},
		},
	}
	needs := provider.Needs{Commands: []string{"systemctl"},
		Facts: map[string]string{"init": "systemd"}}
	if d.before != nil {
		needs = provider.Needs{} // it is on another machine
	}
	return provider.Define(t,
		provider.Provider{Name: "systemd", Description: "systemd units", Preference: 30,
			Handler: handler{d}, Needs: needs},
		provider.Provider{Name: "runit",
			Description: "runit directories, for example in a container", Preference: 20,
			Handler: handler{r},
			Needs:   provider.Needs{Check: onlySystem(r.lack)}},
		provider.Provider{Name: "supervisord",
			Description: "supervisord programs, for example in a container", Preference: 15,
			Handler: handler{u},
			Needs: provider.Needs{Commands: []string{"supervisorctl"},
				Check: onlySystem(u.lack)}},
		provider.Provider{Name: "sysvinit", Description: "scripts in /etc/init.d", Preference: 10,
			Handler: handler{i},
			Needs:   provider.Needs{Check: onlySystem(i.lack)}})
}

// filesOf names the files that may describe a service: its unit, and the scripts of other systems.
func filesOf(attrs map[string]any) []map[string]any {
	name, _ := attrs["name"].(string)
	units := "/etc/systemd/system/"
	if attrs["scope"] == scopeUser {
		units = "/etc/systemd/user/"
	}
	return []map[string]any{
		{"path": units + file(unit(name))},
		{"path": "/etc/init.d/" + name},
		{"path": "/etc/sv/" + name + "/run"},
	}
}

// onlySystem is a check for a system that has no services of users.
func onlySystem(lack func(*provider.Context) string) func(*provider.Context) string {
	return func(ctx *provider.Context) string {
		if ctx.Desired().Attributes["scope"] == scopeUser {
			return "it has no services of users"
		}
		return lack(ctx)
	}
}
