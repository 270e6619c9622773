package home

import (
	"path/filepath"

	"southbound/shared/entity"
	"southbound/shared/internal/declared"
	"southbound/shared/provider"
	"southbound/shared/schema"
	"southbound/shared/transport"
)

// Program holds the types and transports that are built into this program.
type Program struct {
	Definitions []provider.Definition // the types with their handlers
	Packs       transport.Packs       // the transports that come with them
	Types       *schema.Registry      // made by registry, with those of the lock file
	// of entities of models, made by registry; nil: nothing is mapped
	Mapper *entity.Mapper
	// Lock is the lock file of the project, read by registry; nil: it has none.
	Lock *declared.Lock

	own *schema.Registry // the types of the program
	dir string           // where Types looked for the lock file
}

// Handlers returns the handlers by type.
func (p *Program) Handlers() map[string]provider.Handler {
	return provider.Handlers(p.Definitions)
}

// OwnTypes returns the types of the program, without those of a lock file.
func (p *Program) OwnTypes() (*schema.Registry, error) {
	if p.own != nil {
		return p.own, nil
	}
	known, err := provider.NewRegistry(p.Definitions)
	if err != nil {
		return nil, err
	}
	if p.Mapper, err = provider.Mapper(known, p.Definitions); err != nil {
		return nil, err
	}
	p.own = known
	return p.own, nil
}

// Registry returns the types of the program, and those that the lock file in the directory of a
// project declares.
func (p *Program) Registry(dir string) (*schema.Registry, error) {
	if dir = filepath.Clean(dir); p.Types != nil && p.dir == dir {
		return p.Types, nil
	}
	if _, err := p.OwnTypes(); err != nil {
		return nil, err
	}
	lock, err := declared.ReadLock(dir, p.own)
	if err != nil {
		return nil, err
	}
	p.Types, p.Lock, p.dir = p.own, lock, dir
	if lock != nil {
		p.Types = p.own.With(lock.Types()...)
	}
	return p.Types, nil
}
