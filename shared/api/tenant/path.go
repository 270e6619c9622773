// Package tenant holds what all operations on services share: the environment in a header, the names
// of services and instances, and bodies in which null has a meaning.
package tenant

import (
	"net/url"

	"southbound/shared/service/orders"
)

func InstanceAddress(ref orders.Ref) string {
	service := ref.Service
	if service == "" {
		service = AnyService
	}
	return "/lsm/v1/service_inventory/" + url.PathEscape(service) + "/" + url.PathEscape(ref.ID)
}

const (
	InventoryPath = "/lsm/v1/service_inventory/{service_entity}"
	InstancePath  = InventoryPath + "/{service_id}"
)
