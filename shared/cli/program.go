package cli

import (
	"southbound/shared/entity"
	"southbound/shared/provider"
	"southbound/shared/schema"
	"southbound/shared/transport"
)

// program holds the types and transports that are built into this program.
type program struct {
	definitions []provider.Definition // the types with their handlers
	packs       transport.Packs       // the transports that come with them
	types       *schema.Registry      // made by registry
	// of entities of models, made by registry; nil: nothing is mapped
	mapper *entity.Mapper
}

// handlers returns the handlers by type.
func (p *program) handlers() map[string]provider.Handler {
	return provider.Handlers(p.definitions)
}

// registry returns the known types.
func (p *program) registry() (*schema.Registry, error) {
	if p.types != nil {
		return p.types, nil
	}
	known, err := provider.NewRegistry(p.definitions)
	if err != nil {
		return nil, err
	}
	if p.mapper, err = provider.Mapper(known, p.definitions); err != nil {
		return nil, err
	}
	p.types = known
	return known, nil
}
