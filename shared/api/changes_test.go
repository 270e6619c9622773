package api_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// TestChanges follows an environment through a service and through a client of its server: both
// report the same.
func TestChanges(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	client, err := api.NewClient(api.ClientConfig{URL: w.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, h := range []api.Home{w.service, client} {
		if _, err := h.Changes(ctx, "none", "", 0); !fault.Is(err, fault.NotFound) {
			t.Errorf("of an environment that does not exist: %v", err)
		}
	}
	if _, err := w.service.Export(ctx, "e", deploy.Export{Model: nulls(2)}, nil); err != nil {
		t.Fatal(err)
	}
	at, err := client.Changes(ctx, "e", "", time.Hour)
	if err != nil || !at.More || !at.Versions || !at.Instances {
		t.Fatalf("without a token: %+v, %v", at, err)
	}
	for _, c := range []struct {
		why   string
		write func() error
		want  api.Changes
	}{
		{"an agent is paused", func() error { return client.Pause(ctx, "e", true, "a") },
			api.Changes{Agents: true}},
		{"all is halted", func() error { return client.Halt(ctx, "e", true) },
			api.Changes{Settings: true}},
		{"a parameter is set", func() error {
			_, err := client.SetParameter(ctx, "e", "p", "v")
			return err
		}, api.Changes{Parameters: true}},
	} {
		if err := c.write(); err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		for _, h := range []api.Home{w.service, client} {
			got, err := h.Changes(ctx, "e", at.Token, time.Hour)
			c.want.Token, c.want.Resources = got.Token, []resource.ID{}
			if d := cmp.Diff(c.want, got); err != nil || d != "" || got.Token == at.Token {
				t.Errorf("%s: %v %s", c.why, err, d)
			}
		}
		if at, err = client.Changes(ctx, "e", at.Token, 0); err != nil {
			t.Fatal(err)
		}
	}
	got, err := client.Changes(ctx, "e", at.Token, 0)
	if d := cmp.Diff(api.Changes{Token: at.Token, Resources: []resource.ID{}}, got); err != nil || d != "" {
		t.Errorf("nothing has changed: %v %s", err, d)
	}
}

// TestChangesEnd wants a waiting request to answer when the server stops, with the same token.
func TestChangesEnd(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	stopping, stop := context.WithCancel(t.Context())
	w.service.Stopping = stopping
	if err := w.service.Pause(t.Context(), "e", true, "a"); err != nil {
		t.Fatal(err)
	}
	at, err := w.service.Changes(t.Context(), "e", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, stop)
	got, err := w.service.Changes(t.Context(), "e", at.Token, time.Hour)
	if err != nil || got.Token != at.Token {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSummaries wants all environments in one answer, the same from a service and from a client.
func TestSummaries(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	client, err := api.NewClient(api.ClientConfig{URL: w.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []api.Home{w.service, client} {
		if none, err := h.Summaries(t.Context()); err != nil || len(none) != 0 {
			t.Errorf("%v: %v without environments", err, none)
		}
	}
	if _, err := w.service.Export(t.Context(), "b", deploy.Export{Model: nulls(2)}, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.service.Halt(t.Context(), "a", true); err != nil {
		t.Fatal(err)
	}
	for _, h := range []api.Home{w.service, client} {
		got, err := h.Summaries(t.Context())
		if err != nil || len(got) != 2 {
			t.Fatalf("%v: %v", err, got)
		}
		a, b := got[0], got[1]
		if a.Environment != "a" || !a.Halted || a.Version != 0 || a.Exported != nil || a.Worst != "" {
			t.Errorf("nothing was exported: %+v", a)
		}
		if b.Environment != "b" || b.Halted || b.Version != 1 || b.LatestVersion != 1 ||
			b.Exported == nil || b.Worst != state.StatusAvailable || b.Counts[state.StatusAvailable] != 2 {
			t.Errorf("two resources were exported: %+v", b)
		}
	}
	_, text := w.ask(t, "GET", "/v1/summaries?limit=1", "")
	var page struct {
		Items []api.Summary
		Next  string
	}
	if err := json.Unmarshal([]byte(text), &page); err != nil || len(page.Items) != 1 || page.Next == "" {
		t.Errorf("a page of one: %v %s", err, text)
	}
}
