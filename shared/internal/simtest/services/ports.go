package services

import (
	"context"
	"time"

	"southbound/shared/internal/simtest/engine"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// call calls f as a call of a port that returns a value. If the call fails, the value is lost.
func call[T any](
	ctx context.Context, p *engine.Process, op string, f func() (T, error),
) (T, error) {
	var out, none T
	err := p.Call(ctx, op, func() (err error) {
		out, err = f()
		return err
	})
	if err != nil {
		return none, err
	}
	return out, nil
}

// instancesPort is inventory.Store as a process calls it.
type instancesPort struct {
	p    *engine.Process
	r    *run
	wish *wish   // nil: used by a worker
	by   *runner // the process of that worker; nil: used by a customer
}

// see records that a worker has read an instance.
func (s *instancesPort) see(rec inventory.Record) {
	if s.by != nil {
		s.by.seen[rec.ID] = append(s.by.seen[rec.ID], &rec)
	}
}

// Write implements inventory.Store.
func (s *instancesPort) Write(
	ctx context.Context, env string, changes []inventory.Change,
) ([]int64, error) {
	return call(ctx, s.p, "Write", func() ([]int64, error) {
		before := s.r.instances.look(env)
		out, err := s.r.instances.Write(ctx, env, changes)
		if err == nil {
			for i := range changes {
				s.see(s.r.instances.look(env)[changes[i].Record.ID].shown())
			}
			s.r.wrote(s.wish, s.by, before, changes)
		}
		return out, err
	})
}

// Instance implements inventory.Store.
func (s *instancesPort) Instance(ctx context.Context, env, id string) (inventory.Record, error) {
	return call(ctx, s.p, "Instance", func() (inventory.Record, error) {
		rec, err := s.r.instances.Instance(ctx, env, id)
		if err == nil {
			s.see(rec)
		}
		return rec, err
	})
}

// ByIdentity implements inventory.Store.
func (s *instancesPort) ByIdentity(
	ctx context.Context, env, service, identity string,
) (inventory.Record, error) {
	return call(ctx, s.p, "ByIdentity", func() (inventory.Record, error) {
		return s.r.instances.ByIdentity(ctx, env, service, identity)
	})
}

// Instances implements inventory.Store.
func (s *instancesPort) Instances(
	ctx context.Context, env string, q inventory.Query,
) ([]inventory.Record, error) {
	return call(ctx, s.p, "Instances", func() ([]inventory.Record, error) {
		return s.r.instances.Instances(ctx, env, q)
	})
}

// ReferredBy implements inventory.Store.
func (s *instancesPort) ReferredBy(ctx context.Context, env, id string) ([]string, error) {
	return call(ctx, s.p, "ReferredBy", func() ([]string, error) {
		return s.r.instances.ReferredBy(ctx, env, id)
	})
}

// Count implements inventory.Store.
func (s *instancesPort) Count(
	ctx context.Context, env string, q inventory.Query,
) (inventory.Count, error) {
	return call(ctx, s.p, "Count", func() (inventory.Count, error) {
		return s.r.instances.Count(ctx, env, q)
	})
}

// ByState implements inventory.Store.
func (s *instancesPort) ByState(
	ctx context.Context, env, service string,
) (map[inventory.Standing]int, error) {
	return call(ctx, s.p, "ByState", func() (map[inventory.Standing]int, error) {
		return s.r.instances.ByState(ctx, env, service)
	})
}

// Events implements inventory.Store.
func (s *instancesPort) Events(
	ctx context.Context, env, id string, after int64, limit int,
) ([]inventory.Event, error) {
	return call(ctx, s.p, "Events", func() ([]inventory.Event, error) {
		return s.r.instances.Events(ctx, env, id, after, limit)
	})
}

// Versions implements inventory.Store.
func (s *instancesPort) Versions(
	ctx context.Context, env, id string, after int64, limit int,
) ([]inventory.Record, error) {
	return call(ctx, s.p, "Versions", func() ([]inventory.Record, error) {
		return s.r.instances.Versions(ctx, env, id, after, limit)
	})
}

// Followers implements inventory.Followers.
func (s *instancesPort) Followers(
	ctx context.Context, env string,
) (map[string]inventory.Following, error) {
	return call(ctx, s.p, "Followers", func() (map[string]inventory.Following, error) {
		out := map[string]inventory.Following{}
		for id, one := range s.r.instances.look(env) {
			if of, some := one.record.Following(); some {
				out[id] = of
			}
		}
		return out, nil
	})
}

// Generation implements inventory.Store.
func (s *instancesPort) Generation(
	ctx context.Context, env, service string,
) (inventory.Generation, error) {
	return call(ctx, s.p, "Generation", func() (inventory.Generation, error) {
		return s.r.instances.Generation(ctx, env, service)
	})
}

// Due implements inventory.Store.
func (s *instancesPort) Due(
	ctx context.Context, env string, now time.Time, limit int,
) ([]inventory.Record, error) {
	return call(ctx, s.p, "Due", func() ([]inventory.Record, error) {
		due, err := s.r.instances.Due(ctx, env, now, limit)
		for i := range due {
			s.see(due[i])
		}
		return due, err
	})
}

// definitionsPort is definition.Store as a process calls it.
type definitionsPort struct {
	p *engine.Process
	r *run
}

// Put implements definition.Store.
func (d *definitionsPort) Put(
	ctx context.Context, env, bundle string, services []definition.Service,
) error {
	return d.p.Call(ctx, "Put", func() error {
		err := d.r.definitions.Put(ctx, env, bundle, services)
		if err == nil {
			d.r.offered(bundle)
		}
		return err
	})
}

// All implements definition.Store.
func (d *definitionsPort) All(ctx context.Context, env string) ([]definition.Service, error) {
	return call(ctx, d.p, "All", func() ([]definition.Service, error) {
		return d.r.definitions.All(ctx, env)
	})
}

// One implements definition.Store.
func (d *definitionsPort) One(
	ctx context.Context, env, name string, version int,
) (definition.Service, error) {
	return call(ctx, d.p, "One", func() (definition.Service, error) {
		return d.r.definitions.One(ctx, env, name, version)
	})
}

// Of implements definition.Store.
func (d *definitionsPort) Of(
	ctx context.Context, env, name string, version int, digest string,
) (definition.Kept, error) {
	return call(ctx, d.p, "Of", func() (definition.Kept, error) {
		return d.r.definitions.Of(ctx, env, name, version, digest)
	})
}

// Bundle implements definition.Store.
func (d *definitionsPort) Bundle(ctx context.Context, env string) (string, error) {
	return call(
		ctx,
		d.p,
		"Bundle",
		func() (string, error) { return d.r.definitions.Bundle(ctx, env) },
	)
}

// Models implements definition.Store.
func (d *definitionsPort) Models(ctx context.Context, env string) ([]string, error) {
	return call(ctx, d.p, "Models", func() ([]string, error) {
		return d.r.definitions.Models(ctx, env)
	})
}

// Bundles implements definition.Store.
func (d *definitionsPort) Bundles(ctx context.Context) ([]string, error) {
	return call(ctx, d.p, "Bundles", func() ([]string, error) {
		return d.r.definitions.Bundles(ctx)
	})
}
