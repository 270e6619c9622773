package fulfil

import (
	"context"

	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// keptKey names a definition of an instance.
type keptKey struct {
	service string
	version int
	digest  string
}

// definitions reads the definitions of instances, each once. It is new with each round or visit, as
// the model that belongs to a definition may be another one then.
type definitions struct {
	*Config
	kept  map[keptKey]definition.Kept
	known rulebook
	// models are those that are kept; nil: they were not read yet.
	models []string
}

// of returns the definition of a digest, for an instance.
func (d *definitions) of(
	ctx context.Context, rec *inventory.Record, digest string,
) (definition.Kept, error) {
	key := keptKey{rec.Service, rec.ServiceVersion, digest}
	if k, ok := d.kept[key]; ok {
		return k, nil
	}
	k, err := d.Definitions.Of(ctx, d.Env, key.service, key.version, digest)
	if err == nil {
		d.kept[key] = k
		d.known.remember(key, &k.Service)
	}
	return k, err
}

// rulebook are definitions that a worker has read, of which the rules never change.
type rulebook map[keptKey]*definition.Service

// maxRules is of how many definitions a worker remembers the rules.
const maxRules = 100

// remember remembers a definition that was read. Few are in use at a time, so the memory is simply
// emptied when it is full.
func (b rulebook) remember(key keptKey, s *definition.Service) {
	if len(b) >= maxRules {
		clear(b)
	}
	b[key] = s
}

// rules returns the definition whose rules hold for an instance. It never changes, other than the
// model that belongs to it, so one that was read in an earlier visit is not asked for again.
func (d *definitions) rules(
	ctx context.Context, rec *inventory.Record,
) (*definition.Service, error) {
	s := d.known[keptKey{rec.Service, rec.ServiceVersion, rec.Definition}]
	if s != nil && rec.Definition != "" {
		return s, nil
	}
	k, err := d.of(ctx, rec, rec.Definition)
	return &k.Service, err
}
