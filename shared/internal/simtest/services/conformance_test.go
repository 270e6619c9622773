package services

import (
	"fmt"
	"testing"
	"time"

	"southbound/shared/internal/simtest/definitiontest"
	"southbound/shared/internal/simtest/inventorytest"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// TestInstances pins that the model of the store of instances keeps the contract of the homes.
func TestInstances(t *testing.T) {
	t.Parallel()
	inventorytest.Test(t, func(*testing.T) inventorytest.Harness {
		s := NewInstances()
		return inventorytest.Harness{A: s, B: s}
	})
}

// TestDefinitions pins the same of definitions.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	definitiontest.Test(t, func(*testing.T) definitiontest.Harness {
		in := NewInstances()
		d := NewDefinitions(in)
		put := func(t *testing.T, env string, r inventory.Record) {
			t.Helper()
			_, err := in.Write(t.Context(), env, []inventory.Change{{Record: r}})
			if err != nil {
				t.Fatal(err)
			}
		}
		return definitiontest.Harness{
			A: d, B: d,
			Order: func(t *testing.T, env, id, service string, version int) {
				t.Helper()
				put(t, env, inventory.Record{
					ID: id, Service: service, ServiceVersion: version, Created: time.Unix(1, 0),
					Instance: lifecycle.Instance{State: "up", Version: 1},
				})
			},
			Delete: func(t *testing.T, env, id string) {
				t.Helper()
				r, err := in.Instance(t.Context(), env, id)
				if err != nil {
					t.Fatal(fmt.Errorf("delete: %w", err))
				}
				r.Deleted = true
				put(t, env, r)
			},
		}
	})
}
