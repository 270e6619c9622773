//go:build servers

package sql

import (
	"strings"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	conn "southbound/shared/transport/postgresql"
)

// TestDropCutOff is about a database of which a drop was cut off (or goes on): the server marks it
// and refuses everything else.
func TestDropCutOff(t *testing.T) {
	t.Parallel()
	c := connect(t, &conn.Sessions{}, nil)
	must(t, c, "", "CREATE DATABASE half_dropped", "CREATE ROLE half_role")
	must(t, c, "half_dropped", "CREATE SCHEMA inner_schema", "CREATE EXTENSION citext",
		"GRANT USAGE ON SCHEMA inner_schema TO half_role")
	must(t, c, "",
		"UPDATE pg_catalog.pg_database SET datconnlimit = -2 WHERE datname = 'half_dropped'")
	inside := []struct {
		d     provider.Definition
		attrs m
	}{
		{Database(), m{"name": "half_dropped", "extensions": []any{"plpgsql"}}},
		{Schema(), m{"database": "half_dropped", "name": "inner_schema"}},
		{Extension(), m{"database": "half_dropped", "name": "citext"}},
		{Grant(), m{"database": "half_dropped", "role": "half_role", "kind": "schema",
			"schema": "inner_schema", "privileges": []any{"USAGE"}}},
	}
	for _, r := range inside { // what is wanted cannot be had
		if _, _, _, err := apply(t, r.d, c, r.attrs,
			false); provider.ClassOf(err) != provider.Retryable || err == nil ||
			!strings.Contains(err.Error(), "half_dropped: it is being dropped") ||
			!strings.Contains(err.Error(), "DROP DATABASE") {
			t.Errorf("%s: %v", r.d.Type.Name, err)
		}
	}
	list, _ := provider.As[provider.Lister](Database().Handler)
	others := 0
	err := list.List(providertest.NewHost(c).Context(t.Context(), provider.Options{}),
		func(f provider.Found) error {
			if others++; f.Attributes["name"] == "half_dropped" {
				t.Errorf("it is listed: %v", f.Attributes)
			}
			return nil
		})
	if err != nil || others == 0 {
		t.Errorf("%d others are listed, %v", others, err)
	}
	for _, r := range inside[1:] { // which would wait for ever else, and the database for them
		if change, _, _, err := apply(t, r.d, c, r.attrs, true); err != nil ||
			change != diff.NoChange {
			t.Errorf("%s is purged: %q, %v", r.d.Type.Name, change, err)
		}
		ctx := providertest.NewHost(c).Context(t.Context(), provider.Options{})
		if _, err := r.d.Handler.Delete(ctx,
			provider.DeleteRequest{Resource: provider.Resource{Attributes: r.attrs,
				Purged: true}}); err != nil {
			t.Errorf("%s is purged, and the drop began meanwhile: %v", r.d.Type.Name, err)
		}
	}
	// refused with the same code
	must(t, c, "", "CREATE DATABASE closed WITH ALLOW_CONNECTIONS false")
	if _, _, _, err := apply(t, Schema(), c, m{"database": "closed", "name": "x"},
		true); err == nil || strings.Contains(err.Error(), "being dropped") {
		t.Errorf("one that takes no connections: %v", err)
	}
	for _, want := range []diff.Change{diff.Purged, diff.NoChange} {
		if change, _, _, err := apply(t, Database(), c, m{"name": "half_dropped"},
			true); change != want || err != nil {
			t.Errorf("it is purged: %q, %v", change, err)
		}
	}
	if change, _, _, err := apply(t, Database(), c, m{"name": "half_dropped"},
		false); change != diff.Created || err != nil {
		t.Errorf("it is made anew: %q, %v", change, err)
	}
}
