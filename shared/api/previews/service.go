package previews

import (
	"context"

	"southbound/shared/api/services"
	"southbound/shared/api/tenant"
	"southbound/shared/deploy/state"
	"southbound/shared/service/definition"
	"southbound/shared/service/orders"
)

// Reader returns the effect of orders and models, and stores nothing.
type Reader interface {
	// PreviewOrder returns the result that an order would have, and places none.
	PreviewOrder(ctx context.Context, env string, d orders.Draft) (InstancePreview, error)
	// PreviewModel returns the results of instances, at most MaxPlanned, with a model bundle that
	// is not offered.
	PreviewModel(ctx context.Context, env string, bundle state.Blob,
		services []definition.Service, ids []string) ([]InstancePreview, error)
}

type Service struct {
	OrderService *tenant.Orders
	OfferService *services.Service
	// Previews, if not nil, compiles the effect of orders and models.
	Previews Previewer
}
