package services

import (
	"southbound/shared/api/environments"
	"southbound/shared/service/definition"
)

type Service struct {
	Env *environments.Service
	// Definitions, if not nil, stores the definitions of services.
	Definitions definition.Store
}
