package orders

import (
	"context"

	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// definitions caches the definitions of the instances of a list.
type definitions struct {
	of   Definitions
	env  string
	read map[definitionKey]definition.Kept
}

// definitionKey identifies a definition. Without a digest, it is the offered definition.
type definitionKey struct {
	service string
	version int
	digest  string
}

func (s *core) definitions(env string) *definitions {
	return &definitions{s.Definitions, env, map[definitionKey]definition.Kept{}}
}

// kept returns the definition with a digest for the version of an instance. If digest is "", it
// returns the offered definition.
func (d *definitions) kept(
	ctx context.Context, r *inventory.Record, digest string,
) (definition.Kept, error) {
	key := definitionKey{r.Service, r.ServiceVersion, digest}
	k, ok := d.read[key]
	if ok {
		return k, nil
	}
	k, err := d.of.Of(ctx, d.env, key.service, key.version, digest)
	if err == nil {
		d.read[key] = k
	}
	return k, err
}
