package keys

import (
	"strconv"
	"strings"

	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Entry declares keys::Entry, an entry of a store, and brings the transport of its agents along.
func Entry() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Name: "keys::Entry", Description: "An entry of a store of keys and values.",
			Transports: []string{store.Name}, Thing: schema.ByIdentity("name"),
			Attributes: []schema.Attribute{
				{Name: "name", Type: "String[1]", Behaviour: schema.Namevar,
					Description: "its key"},
				{Name: "value", Type: "String", Description: "its value"},
			},
		},
		Handler:   entry{},
		Transport: store,
		Entities:  entities(),
	}
}

type entry struct{}

// Read implements provider.Handler.
func (e entry) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	answer, err := e.ask(ctx, "GET %q", name(req.Resource))
	text, found := strings.CutPrefix(answer, "VALUE ")
	if err != nil || !found {
		return provider.Observation{}, err
	}
	value, err := strconv.Unquote(text)
	if err != nil {
		return provider.Observation{}, provider.Errorf(provider.Retryable,
			"the store answers what is not an entry")
	}
	return provider.Observation{Exists: true, Attributes: map[string]any{"value": value}}, nil
}

// Create implements provider.Handler.
func (e entry) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	return provider.Result{}, e.set(ctx, req.Resource)
}

// Update implements provider.Handler.
func (e entry) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	return provider.Result{}, e.set(ctx, req.Resource)
}

// Delete implements provider.Handler.
func (e entry) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	_, err := e.ask(ctx, "DEL %q", name(req.Resource))
	return provider.Result{}, err
}

func (e entry) set(ctx *provider.Context, r provider.Resource) error {
	_, err := e.ask(ctx, "SET %q %q", name(r), r.Attributes["value"])
	return err
}

// ask asks over the connection of the agent.
func (entry) ask(ctx *provider.Context, format string, args ...any) (string, error) {
	s, ok := ctx.Transport().(*session)
	if !ok {
		return "", provider.Errorf(provider.Terminal, "the agent is not a store of keys")
	}
	answer, err := s.ask(ctx, format, args...)
	if err == nil && strings.HasPrefix(answer, "ERR") {
		return "", provider.Errorf(provider.Retryable, "the store refuses it")
	}
	return answer, err
}

func name(r provider.Resource) string {
	text, _ := r.Attributes["name"].(string)
	return text
}
