package api_test

import (
	"maps"
	"testing"

	"southbound/shared/api"
)

// TestWaiting pins that a server tells why it waits for agents, as the program does that serves them.
func TestWaiting(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	want := map[string]string{"web1": "connection refused"}
	w.service.Waits = func(env string) map[string]string {
		if env == "e" {
			return want
		}
		return nil
	}
	c, err := api.NewClient(api.ClientConfig{URL: w.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	for _, home := range []api.Home{w.service, c} {
		for env, want := range map[string]map[string]string{"e": want, "other": nil} {
			if p, err := home.Progress(t.Context(), env); err != nil || !maps.Equal(p.Waiting, want) {
				t.Errorf("%T of %s: %v, %v, want %v", home, env, err, p.Waiting, want)
			}
		}
	}
}
