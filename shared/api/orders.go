package api

import (
	"southbound/shared/api/callbacks"
	"southbound/shared/api/instances"
	"southbound/shared/api/ordering"
	"southbound/shared/api/services"
	"southbound/shared/service/orders"
)

// Orders defines the operations on the services of an environment; orders.Service documents each.
type Orders interface {
	services.Catalog
	instances.Reader
	instances.Changer
	instances.Expert
	ordering.Placer
	callbacks.Registry
}

var _ Orders = (*orders.Service)(nil)

// Orders implements Home.
func (s *Service) Orders() (Orders, error) {
	o, err := s.orderPart.Open()
	if err != nil {
		return nil, err
	}
	return o, nil
}
