package local

import (
	"path/filepath"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"southbound/shared/fault"
	"southbound/shared/service/callback"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// TestChangedInstancesAreDamaged changes a value in what is stored of services, as a flipped bit
// may: what reads it says so, and takes nothing else for it.
func TestChangedInstancesAreDamaged(t *testing.T) {
	t.Parallel()
	ctx, id := t.Context(), "11111111-1111-1111-1111-111111111111"
	reads := map[string]func(h *Home) error{
		"instances": func(h *Home) error {
			_, err := h.Instances().Instance(ctx, "e", id)
			return err
		},
		"instance_versions": func(h *Home) error {
			_, err := h.Instances().Versions(ctx, "e", id, 0, 0)
			return err
		},
		"instance_events": func(h *Home) error {
			_, err := h.Instances().Events(ctx, "e", id, 0, 0)
			return err
		},
		"instance_texts": func(h *Home) error {
			_, err := h.Instances().Events(ctx, "e", id, 0, 0)
			return err
		},
		"service_generations": func(h *Home) error {
			_, err := h.Instances().Generation(ctx, "e", "xxxx")
			return err
		},
		"orders": func(h *Home) error {
			_, err := h.Instances().Order(ctx, "e", id)
			return err
		},
		"callbacks": func(h *Home) error {
			_, err := h.Callbacks().Callbacks(ctx, "e")
			return err
		},
		"definition_texts": func(h *Home) error {
			_, err := h.Definitions().All(ctx, "e")
			return err
		},
	}
	for table, read := range reads {
		dir := t.TempDir()
		h := must(Open(dir))(t)
		storeServices(t, h, id)
		if err := read(h); err != nil {
			t.Errorf("%s: %v", table, err)
		}
		_ = h.Close()
		conn := must(sqlite.OpenConn(filepath.Join(dir, dbName), sqlite.OpenReadWrite))(t)
		if err := query(conn, "UPDATE "+table+" SET body = "+
			"CAST(replace(CAST(body AS TEXT), 'xxxx', 'xxxy') AS BLOB)", nil); err != nil ||
			conn.Changes() != 1 {
			t.Fatal(table, err)
		}
		_ = conn.Close()
		h = must(Open(dir))(t)
		if err := read(h); !fault.Is(err, fault.Damaged) {
			t.Errorf("%s: %v", table, err)
		}
		_ = h.Close()
	}
}

// storeServices stores one record in each table of services, with xxxx in it.
func storeServices(t *testing.T, h *Home, id string) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	err := h.Callbacks().Register(ctx, "e", callback.Callback{ID: id, URL: "http://xxxx/"})
	if err == nil {
		err = h.Definitions().Put(ctx, "e", "bundle", []definition.Service{{Name: "xxxx",
			Default: true}})
	}
	if err != nil {
		t.Fatal(err)
	}
	r := inventory.Record{ID: id, Service: "xxxx", Created: now,
		Instance: lifecycle.Instance{Version: 1}}
	must(h.Instances().Place(ctx, "e", inventory.Order{ID: id, Digest: "xxxx", Created: now,
		Items: []inventory.OrderItem{{Instance: id, Service: "xxxx", Action: "create"}}},
		[]inventory.Change{{Record: r, Events: []inventory.Event{{At: now, Message: "xxxx",
			Compile: &inventory.Compile{Trace: "xxxx"}}},
			Under: []inventory.Generation{{Service: "xxxx"}}}}))(t)
}
