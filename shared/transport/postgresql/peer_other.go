//go:build !linux

package postgresql

import (
	"context"
	"net"

	"southbound/shared/fault"
)

// dialFrom connects as another user, which is implemented only on Linux.
func dialFrom(context.Context, int, string, string) (net.Conn, error) {
	return nil, fault.New(fault.Unsupported, "connect",
		"the superuser cannot connect as the user of the server here").
		WithHint("run it as that user, or describe the server as an agent {transport: " +
			"postgresql, host: ...}")
}
