package api

import "southbound/shared/api/client"

// Client sends requests to a server over HTTP: it has one part for each kind of resource. It is safe
// for concurrent use.
type Client struct {
	*client.Conn
	environmentRemote
	typeRemote
	actionRemote
	agentRemote
	resourceRemote
	versionRemote
	exportRemote
	comparisonRemote
	parameterRemote
	offerRemote
	previewRemote
}

type (
	environmentRemote struct{ *client.Conn }
	typeRemote        struct{ *client.Conn }
	actionRemote      struct{ *client.Conn }
	agentRemote       struct{ *client.Conn }
	resourceRemote    struct{ *client.Conn }
	versionRemote     struct{ *client.Conn }
	exportRemote      struct{ *client.Conn }
	comparisonRemote  struct{ *client.Conn }
	parameterRemote   struct{ *client.Conn }
	offerRemote       struct{ *client.Conn }
	previewRemote     struct{ *client.Conn }
)

var _ Home = (*Client)(nil)

// NewClient returns a client. It makes no request before the first call.
func NewClient(c client.Config) (*Client, error) {
	x, err := client.New(c)
	if err != nil {
		return nil, err
	}
	return &Client{x, environmentRemote{x}, typeRemote{x}, actionRemote{x}, agentRemote{x},
		resourceRemote{x}, versionRemote{x}, exportRemote{x}, comparisonRemote{x},
		parameterRemote{x}, offerRemote{x}, previewRemote{x}}, nil
}
