// Package previews serves the effect of orders and models before they are placed or offered.
package previews

import "southbound/shared/api/client"

type Remote struct{ *client.Conn }
