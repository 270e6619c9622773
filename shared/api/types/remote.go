// Package types serves the resource types of a home.
package types

import (
	"context"

	"southbound/shared/api/client"
)

type Remote struct{ *client.Conn }

// Types implements Home.
func (c Remote) Types(ctx context.Context) ([]Type, error) {
	return client.All[Type](ctx, c.Conn, "/v1/types")
}
