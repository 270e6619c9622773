package local

import (
	"context"
	"fmt"
	"testing"
	"time"

	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// BenchmarkInstances reads a page of 50 instances and counts the list, among 100 and 10,000
// instances with ten attributes. It reports the CPU time of each list, and the ratio of both.
func BenchmarkInstances(b *testing.B) {
	sizes := []int{100, 10_000}
	var homes []*Instances
	for _, n := range sizes {
		homes = append(homes, manyInstances(b, n))
	}
	middle := inventory.Record{Updated: updatedAt(50), Created: time.Unix(50, 0)}
	for _, c := range []struct {
		name string
		q    inventory.Query
	}{
		{"by creation", inventory.Query{}},
		{"by update", inventory.Query{Sort: inventory.ByUpdate, NewestFirst: true}},
		{"by update, second page", inventory.Query{Sort: inventory.ByUpdate, After: &middle}},
		{"by state", inventory.Query{Sort: inventory.ByState}},
		{"by identity", inventory.Query{Sort: inventory.ByIdentity}},
		{"state", inventory.Query{States: []string{"failed"}}},
		{"name", inventory.Query{Name: "c99", Sort: inventory.ByUpdate}},
		{"attribute of 1 of 100", inventory.Query{Attributes: map[string]string{"a1": "7"}}},
		{"attribute of all", inventory.Query{Attributes: map[string]string{"a0": "same"},
			Sort: inventory.ByUpdate}},
		{"attribute of none", inventory.Query{Attributes: map[string]string{"a0": "none"}}},
		{"no candidate", inventory.Query{Empty: inventory.CandidateSet, Sort: inventory.ByUpdate}},
	} {
		c.q.Service, c.q.Limit = "site", 50
		for _, counted := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/count=%v", c.name, counted), func(b *testing.B) {
				spent := make([]time.Duration, len(sizes))
				for b.Loop() {
					for i, n := range homes {
						began := used(b)
						if _, err := n.Instances(context.Background(), "e", c.q); err != nil {
							b.Fatal(err)
						}
						if counted {
							if _, err := n.Count(context.Background(), "e", c.q); err != nil {
								b.Fatal(err)
							}
						}
						spent[i] += used(b) - began
					}
				}
				b.ReportMetric(0, "ns/op") // of both
				for i, n := range sizes {
					b.ReportMetric(float64(spent[i].Microseconds())/float64(b.N)/1000,
						fmt.Sprintf("cpu-ms/of-%d", n))
				}
				b.ReportMetric(float64(spent[1])/float64(spent[0]), "ratio")
			})
		}
	}
	b.Run("summary", func(b *testing.B) {
		spent := time.Duration(0)
		for b.Loop() {
			began := used(b)
			if _, err := homes[1].ByState(context.Background(), "e", "site"); err != nil {
				b.Fatal(err)
			}
			spent += used(b) - began
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(spent.Microseconds())/float64(b.N)/1000, "cpu-ms/of-10000")
	})
}

func updatedAt(n int) time.Time { return time.Unix(int64(n*7919%10_000), 0).UTC() }

// manyInstances returns a home with n instances.
func manyInstances(b *testing.B, n int) *Instances {
	b.Helper()
	h, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close() })
	store := h.Instances()
	for from := 0; from < n; from += 10 {
		var changes []inventory.Change
		for i := from; i < min(from+10, n); i++ {
			set := map[string]any{"a0": "same", "a1": fmt.Sprint(i % 100)}
			for a := 2; a < 10; a++ {
				set[fmt.Sprintf("a%d", a)] = fmt.Sprintf("value %d of %d", a, i)
			}
			changes = append(changes, inventory.Change{Record: inventory.Record{
				ID: fmt.Sprintf("0000%05d-0000-4000-8000-000000000000", i), Service: "site",
				Identity: fmt.Sprintf("c%05d", i), Created: time.Unix(int64(i), 0).UTC(),
				Updated: updatedAt(i),
				Instance: lifecycle.Instance{State: []string{"up", "failed"}[i%100/99], Version: 1,
					Active: set},
			}})
		}
		if _, err := store.Write(context.Background(), "e", changes); err != nil {
			b.Fatal(err)
		}
	}
	return store
}
