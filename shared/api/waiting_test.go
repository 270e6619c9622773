package api_test

import (
	"maps"
	"testing"
	"time"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/resource"
)

// TestWaiting pins that a server tells why it waits for agents, as the program does that serves
// them.
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
	if err := w.service.Halt(t.Context(), "e", false); err != nil {
		t.Fatal(err)
	}
	c, err := api.NewClient(api.ClientConfig{URL: w.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	for _, home := range []api.Home{w.service, c} {
		for env, want := range map[string]map[string]string{"e": want, "other": nil} {
			if p, err := home.Progress(t.Context(), env); err != nil ||
				!maps.Equal(p.Waiting, want) {
				t.Errorf("%T of %s: %v, %v, want %v", home, env, err, p.Waiting, want)
			}
		}
	}
}

// TestResourceWaits pins that a resource which is scheduled says why it is not done yet.
func TestResourceWaits(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	m := runs(3)
	m.Resources[2].Requires = []resource.ID{m.Resources[0].ID, m.Resources[1].ID}
	if _, err := w.service.Export(t.Context(), "e", deploy.Export{Model: m}, nil); err != nil {
		t.Fatal(err)
	}
	wants := func(n int, want string) {
		t.Helper()
		for _, home := range []api.Home{w.service, w.client(t)} {
			d, err := home.Resource(t.Context(), "e", m.Resources[n].ID)
			if err != nil || d.Waits != want {
				t.Errorf("%T: %q, %v, want %q", home, d.Waits, err, want)
			}
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	lane := func(agent string) {
		_, err := w.service.Engine.RunAgent(t.Context(), "e", agent,
			time.Now().Add(time.Minute))
		do(err)
	}
	wants(0, "")
	wants(2, "it requires exec::Run[a0,name=r00] and 1 more, which are not done yet")
	do(w.service.Pause(t.Context(), "e", true, "a1"))
	wants(1, "agent a1 is paused; `southbound resume a1` continues")
	lane("a0")
	wants(0, "")
	wants(2, "it requires exec::Run[a1,name=r01], which is not done yet")
	w.service.Waits = func(string) map[string]string {
		return map[string]string{"a0": "connection refused"}
	}
	wants(0, "")
	wants(2, "agent a0 is tried again: connection refused")
	do(w.service.Halt(t.Context(), "e", true))
	wants(1, "the environment is halted; `southbound unhalt` continues")
}
