package fulfil

import (
	"context"

	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// keptKey identifies a definition of an instance.
type keptKey struct {
	service string
	version int
	digest  string
}

// definitions caches the definitions of instances. Each round or visit starts with an empty cache,
// because the model of a definition may have changed.
type definitions struct {
	*Config
	kept  map[keptKey]definition.Kept
	known rulebook
	// models are the bundles that are kept; nil: they were not read yet.
	models []string
}

// of returns the definition with a digest, for an instance.
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

// rulebook caches definitions for their rules, which never change.
type rulebook map[keptKey]*definition.Service

// maxRules is the size of a rulebook.
const maxRules = 100

// remember adds a definition. Few definitions are in use at a time, so a full rulebook is simply
// cleared.
func (b rulebook) remember(key keptKey, s *definition.Service) {
	if len(b) >= maxRules {
		clear(b)
	}
	b[key] = s
}

// rules returns the definition whose rules apply to an instance. Unlike the model of a definition,
// its rules never change. So definitions from earlier visits are reused.
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
