package home

import (
	"southbound/shared/entity"
	"southbound/shared/provider"
	"southbound/shared/schema"
	"southbound/shared/transport"
)

// Program holds the types and transports that are built into this program.
type Program struct {
	Definitions []provider.Definition // the types with their handlers
	Packs       transport.Packs       // the transports that come with them
	Types       *schema.Registry      // made by registry
	// of entities of models, made by registry; nil: nothing is mapped
	Mapper *entity.Mapper
}

// Handlers returns the handlers by type.
func (p *Program) Handlers() map[string]provider.Handler {
	return provider.Handlers(p.Definitions)
}

// Registry returns the known types.
func (p *Program) Registry() (*schema.Registry, error) {
	if p.Types != nil {
		return p.Types, nil
	}
	known, err := provider.NewRegistry(p.Definitions)
	if err != nil {
		return nil, err
	}
	if p.Mapper, err = provider.Mapper(known, p.Definitions); err != nil {
		return nil, err
	}
	p.Types = known
	return known, nil
}
