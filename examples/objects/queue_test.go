package objects

import (
	"testing"

	"southbound/shared/provider/providertest"
	"southbound/shared/transport/http/apitest"
)

// TestQueue runs the conformance suite, through a front that can cut calls off, as one does with a
// real server.
func TestQueue(t *testing.T) {
	api := apitest.New(t)
	front := apitest.Wrap(t, api.URL, nil)
	create := func(string, *providertest.Host) (providertest.Case, error) {
		prefix := api.Prefix() // a place of its own
		return providertest.Case{
			Attributes: map[string]any{"name": prefix + "a", "labels": map[string]any{"team": "x"},
				"note": "hello"},
			Updates: []map[string]any{{"limit": int64(5)}, {"labels": map[string]any{}},
				{"note": "there"}},
			Replaces: map[string]any{"durable": false},
			Others:   []map[string]any{{"name": prefix + "b", "limit": int64(7)}},
			Edges:    []string{"*"},
			World:    func() (string, error) { return api.World(prefix) },
			Vanish:   func() error { api.Remove("/queues/" + prefix + "a"); return nil },
			Foreign: func() error {
				return api.Add("/queues/"+prefix+"a", "owner", "somebody else")
			},
			Interrupt: front.Interrupt,
		}, nil
	}
	providertest.Run(t, providertest.Subject{Definition: Queue(), Transport: front.Conn,
		New: create})
}
