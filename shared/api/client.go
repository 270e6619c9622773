package api

import (
	"southbound/shared/api/actions"
	"southbound/shared/api/agents"
	"southbound/shared/api/client"
	"southbound/shared/api/environments"
	"southbound/shared/api/exports"
	"southbound/shared/api/graphs"
	"southbound/shared/api/jobs"
	"southbound/shared/api/parameters"
	"southbound/shared/api/previews"
	"southbound/shared/api/resources"
	"southbound/shared/api/search"
	"southbound/shared/api/services"
	"southbound/shared/api/states"
	"southbound/shared/api/types"
	"southbound/shared/api/versions"
)

// Client sends requests to a server over HTTP: it has one part for each kind of resource. It is safe
// for concurrent use.
type Client struct {
	*client.Conn
	environmentClient
	typeClient
	actionClient
	agentClient
	resourceClient
	versionClient
	exportClient
	comparisonClient
	parameterClient
	stateClient
	graphClient
	searchClient
	offerClient
	previewClient
}

// The parts of a client; an alias names the field.
type (
	environmentClient = environments.Remote
	typeClient        = types.Remote
	actionClient      = actions.Remote
	agentClient       = agents.Remote
	resourceClient    = resources.Remote
	versionClient     = versions.Remote
	exportClient      = exports.Remote
	comparisonClient  = jobs.Remote
	parameterClient   = parameters.Remote
	stateClient       = states.Remote
	graphClient       = graphs.Remote
	searchClient      = search.Remote
	offerClient       = services.Remote
	previewClient     = previews.Remote
)

var _ Home = (*Client)(nil)

// NewClient returns a client. It makes no request before the first call.
func NewClient(c client.Config) (*Client, error) {
	x, err := client.New(c)
	if err != nil {
		return nil, err
	}
	return &Client{x, environments.Remote{Conn: x}, types.Remote{Conn: x}, actions.Remote{Conn: x}, agents.Remote{Conn: x},
		resources.Remote{Conn: x}, versions.Remote{Conn: x}, exports.Remote{Conn: x}, jobs.Remote{Conn: x},
		parameters.Remote{Conn: x}, states.Remote{Conn: x}, graphs.Remote{Conn: x}, search.Remote{Conn: x},
		services.Remote{Conn: x}, previews.Remote{Conn: x}}, nil
}
