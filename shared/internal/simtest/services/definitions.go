package services

import (
	"context"
	"slices"
	"sync"

	"southbound/shared/service/definition"
)

// Definitions implements definition.Store in memory, exactly according to its contract. Its
// operations are instantaneous and inject no faults.
type Definitions struct {
	// Versions counts the instances that are not deleted, by service and version.
	Versions func(env string) map[Version]int

	// known are the kept definitions of bundles. They save an encoding and decoding for each Put.
	known map[string][]definition.Kept

	mu   sync.Mutex
	envs map[string]*offered
}

// Version is a version of a service.
type Version struct {
	Service string
	Version int
}

// offered holds the current and earlier offers of an environment.
type offered struct {
	bundle string
	models []string // the kept models, newest first
	now    []definition.Kept
	texts  map[string]definition.Kept // by digest, with the latest bundle of each
}

// NewDefinitions returns an empty store that checks the instances of a store.
func NewDefinitions(of *Instances) *Definitions {
	return &Definitions{envs: map[string]*offered{}, Versions: func(env string) map[Version]int {
		out := map[Version]int{}
		for _, i := range of.look(env) {
			if r := &i.record; !r.Deleted {
				out[Version{r.Service, r.ServiceVersion}]++
			}
		}
		return out
	}}
}

// Put implements definition.Store.
func (d *Definitions) Put(
	_ context.Context, env, bundle string, services []definition.Service,
) error {
	if err := definition.CheckPut(bundle, services); err != nil {
		return err
	}
	next := &offered{bundle: bundle, models: []string{bundle}, texts: map[string]definition.Kept{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	if was := d.envs[env]; was != nil {
		for k, v := range was.texts {
			next.texts[k] = v
		}
		next.models = definition.Newest(bundle, was.models)
	}
	live := d.Versions(env)
	all, ok := d.known[bundle]
	if !ok {
		var err error
		if all, err = kept(env, bundle, services); err != nil {
			return err
		}
	}
	for _, k := range all {
		next.now, next.texts[k.Digest] = append(next.now, k), k
		delete(live, Version{k.Service.Name, k.Service.Version})
	}
	for v, n := range live {
		return definition.ErrLive(v.Service, v.Version, n)
	}
	d.envs[env] = next
	return nil
}

// kept returns definitions in their stored form.
func kept(env, bundle string, services []definition.Service) ([]definition.Kept, error) {
	out := make([]definition.Kept, 0, len(services))
	for i := range services {
		digest, body, err := services[i].Text()
		if err != nil {
			return nil, err
		}
		one, err := definition.Parse(body)
		if err != nil {
			return nil, err
		}
		one.Name, one.Version = services[i].Name, services[i].Version
		one.Default, one.Environment = services[i].Default, env
		out = append(out, definition.Kept{Service: one, Digest: digest, Bundle: bundle})
	}
	return out, nil
}

func (d *Definitions) look(env string) *offered {
	d.mu.Lock()
	defer d.mu.Unlock()
	if o := d.envs[env]; o != nil {
		return o
	}
	return &offered{}
}

// All implements definition.Store.
func (d *Definitions) All(_ context.Context, env string) ([]definition.Service, error) {
	out := []definition.Service{}
	for _, k := range d.look(env).now {
		out = append(out, k.Service)
	}
	definition.Sort(out)
	return out, nil
}

// One implements definition.Store.
func (d *Definitions) One(
	_ context.Context, env, name string, version int,
) (definition.Service, error) {
	for _, k := range d.look(env).now {
		if s := &k.Service; s.Name == name && (s.Version == version || version < 0 && s.Default) {
			return *s, nil
		}
	}
	return definition.Service{}, definition.ErrNone(name, version)
}

// Of implements definition.Store.
func (d *Definitions) Of(
	_ context.Context, env, name string, version int, digest string,
) (definition.Kept, error) {
	o := d.look(env)
	for _, k := range o.now {
		s := &k.Service
		if s.Name == name && s.Version == version && (digest == "" || digest == k.Digest) {
			k.Bundle = o.texts[k.Digest].Bundle
			return k, nil
		}
	}
	k, ok := o.texts[digest]
	if !ok {
		return definition.Kept{}, definition.ErrNone(name, version)
	}
	k.Service.Name, k.Service.Version, k.Service.Default = name, version, false
	return k, nil
}

// Bundle implements definition.Store.
func (d *Definitions) Bundle(_ context.Context, env string) (string, error) {
	if o := d.look(env); o.bundle != "" {
		return o.bundle, nil
	}
	return "", definition.ErrNoBundle()
}

// Models implements definition.Store.
func (d *Definitions) Models(_ context.Context, env string) ([]string, error) {
	return slices.Clone(d.look(env).models), nil
}

// Bundles implements definition.Store.
func (d *Definitions) Bundles(context.Context) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := []string{}
	for _, o := range d.envs {
		out = append(out, o.models...)
		for _, k := range o.texts {
			out = append(out, k.Bundle)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
