// Package caddy has the type caddy::Site: a site of the web server Caddy, managed through its
// admin API.
package caddy

import (
	"fmt"
	"net/http"

	"southbound/shared/provider"
	"southbound/shared/schema"
	api "southbound/shared/transport/http"
)

// Site declares caddy::Site. Its agent is Caddy's admin API:
// {transport: http, url: "http://127.0.0.1:2019"}.
func Site() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Name:        "caddy::Site",
			Description: "A site of Caddy that answers every request with the same text.",
			Transports:  []string{"http"},
			Thing:       schema.ByIdentity("name"),
			Attributes: []schema.Attribute{
				{Name: "name", Type: `Pattern[/\A[a-z][a-z0-9-]*\z/]`, Behaviour: schema.Namevar,
					Description: "its name in Caddy's configuration"},
				{Name: "port", Type: "Integer[1024, 65535]",
					Description: "the port of this machine on which it listens"},
				{Name: "text", Type: "String", Default: "", Description: "the text of the response"},
				{Name: "code", Type: "Integer[200, 599]", Default: 200,
					Description: "the HTTP status of its answers"},
			},
		},
		Handler: handler{},
	}
}

type handler struct{}

// server is a server in Caddy's configuration.
type server struct {
	Listen []string `json:"listen"`
	Routes []route  `json:"routes"`
}

type route struct {
	Handle []answer `json:"handle"`
}

type answer struct {
	Handler string `json:"handler"`
	Code    int64  `json:"status_code"`
	Body    string `json:"body"`
}

func path(r provider.Resource) string {
	return api.Path("config", "apps", "http", "servers", fmt.Sprint(r.Attributes["name"]))
}

// Read implements provider.Handler.
func (handler) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	var got *server // stays nil where there is none: Caddy answers null
	_, err := api.Call(ctx, http.MethodGet, path(req.Resource), nil, &got)
	if err != nil || got == nil {
		return provider.Observation{}, err
	}
	// A site that another program changed differs, and is corrected.
	out := map[string]any{"port": nil, "text": nil, "code": nil}
	var port int64
	if _, err := fmt.Sscanf(fmt.Sprint(got.Listen), "[127.0.0.1:%d]", &port); err == nil {
		out["port"] = port
	}
	if len(got.Routes) == 1 && len(got.Routes[0].Handle) == 1 {
		out["text"], out["code"] = got.Routes[0].Handle[0].Body, got.Routes[0].Handle[0].Code
	}
	return provider.Observation{Exists: true, Attributes: out}, nil
}

// Create implements provider.Handler. POST creates or replaces the site, so it can be repeated.
func (handler) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	a := req.Resource.Attributes
	code, _ := a["code"].(int64)
	text, _ := a["text"].(string)
	body := server{
		Listen: []string{fmt.Sprintf("127.0.0.1:%d", a["port"])},
		Routes: []route{{[]answer{{"static_response", code, text}}}},
	}
	_, err := api.Call(ctx, http.MethodPost, path(req.Resource), body, nil)
	return provider.Result{}, err
}

// Update implements provider.Handler.
func (h handler) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	return h.Create(ctx, provider.CreateRequest{Resource: req.Resource})
}

// Delete implements provider.Handler.
func (handler) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	_, err := api.Call(ctx, http.MethodDelete, path(req.Resource), nil, nil)
	return provider.Result{}, err
}
