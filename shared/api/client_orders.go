package api

import (
	"southbound/shared/api/callbacks"
	"southbound/shared/api/instances"
	"southbound/shared/api/ordering"
	"southbound/shared/api/services"
)

// Orders implements Home.
func (c *Client) Orders() (Orders, error) {
	return clientOrders{services.CatalogRemote{C: c.Conn}, instances.Remote{C: c.Conn},
		ordering.Remote{C: c.Conn}, callbacks.Remote{C: c.Conn}}, nil
}

// clientOrders sends requests to a server for the methods of orders.Service.
type clientOrders struct {
	catalogPart
	instancePart
	orderingPart
	callbackPart
}

type (
	catalogPart  = services.CatalogRemote
	instancePart = instances.Remote
	orderingPart = ordering.Remote
	callbackPart = callbacks.Remote
)
