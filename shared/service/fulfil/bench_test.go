package fulfil_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cpu is what this process has used of processors.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// twoFiles is a service whose instances are two files each, and share nothing.
const twoFiles = `
import lsm
import lsm::fsm
import southbound
import southbound::fs

entity Site extends lsm::ServiceEntity:
    string host_name
    lsm::attribute_modifier host_name__modifier = "rw"
    string text = ""
    lsm::attribute_modifier text__modifier = "rw+"
end
implementation files for Site:
    for name in ["page", "conf"]:
        self.owned_resources += southbound::fs::File(
            agent=here, path="SRV/{{ self.host_name }}.{{ name }}", content="{{ name }}{{ self.text }}",
            purged=self.purge_resources,
        )
    end
end
implement Site using parents, files
here = southbound::Agent(name="here")
binding = lsm::ServiceEntityBinding(
    service_entity="__config__::Site", lifecycle=lsm::fsm::simple, service_entity_name="site",
)
for one in lsm::all(binding):
    Site(instance_id=one["id"], entity_binding=binding, **one["attributes"])
end
`

// withSecret is twoFiles where one of the two has a secret for its content.
var withSecret = strings.NewReplacer(
	`["page", "conf"]`, `["page"]`,
	"implement Site using parents, files", `
implementation token for Site:
    self.owned_resources += southbound::fs::File(
        agent=here, path="SRV/{{ self.host_name }}.token", purged=self.purge_resources,
        content=southbound::secret("env:SITE_TOKEN"),
    )
end
implement Site using parents, files, token`,
).Replace(twoFiles)

// BenchmarkOrder takes orders to up and their two files, updates these instances and deletes them,
// among 100, 1,000 and 10,000 that are there, or as many as BENCH_INSTANCES says: in turns, since
// what else runs on the machine changes. It tells the least time of processors that one of each
// took, what that allocated, and how many times that among the fewest one among the most takes. To
// make those that are there takes a minute.
func BenchmarkOrder(b *testing.B) { orders(b, twoFiles) }

// BenchmarkOrderOfSecrets is BenchmarkOrder where each instance refers to a secret.
func BenchmarkOrderOfSecrets(b *testing.B) {
	b.Setenv("SITE_TOKEN", "a token")
	orders(b, withSecret)
}

func orders(b *testing.B, model string) {
	b.Helper()
	if testing.Short() {
		b.Skip("it takes long to make so many")
	}
	const orders = 15
	sizes := []int{100, 1000, 10000}
	if list := os.Getenv("BENCH_INSTANCES"); list != "" {
		sizes = nil
		for _, text := range strings.Split(list, ",") {
			n, err := strconv.Atoi(text)
			if err != nil {
				b.Fatal(err)
			}
			sizes = append(sizes, n)
		}
	}
	worlds := make([]*world, len(sizes))
	least, allocated := make([]map[string]float64, len(sizes)), make([]map[string]float64,
		len(sizes))
	for i, n := range sizes {
		worlds[i] = among(b, n, model)
		worlds[i].more(b, 1) // it is known from then on what is there
		least[i], allocated[i] = map[string]float64{}, map[string]float64{}
	}
	for b.Loop() {
		for i, w := range worlds {
			first := w.n + 1
			note := func(what string, took time.Duration, bytes uint64) {
				ms := float64(took) / orders / 1e6
				if least[i][what] == 0 || ms < least[i][what] {
					least[i][what] = ms
				}
				allocated[i][what] = float64(bytes) / orders / 1e6
			}
			took, bytes := w.more(b, orders)
			note("order", took, bytes)
			took, bytes = w.each(b, first, orders, func(id string) {
				w.update(id, map[string]any{"text": fmt.Sprint(w.n)})
			})
			note("update", took, bytes)
			took, bytes = w.each(b, first, orders, func(id string) { w.remove(id) })
			note("delete", took, bytes)
		}
	}
	b.ReportMetric(0, "ns/op") // of all, which says nothing
	last := len(sizes) - 1
	for _, what := range []string{"order", "update", "delete"} {
		for i, n := range sizes {
			b.ReportMetric(least[i][what], fmt.Sprintf("cpu-ms/%s-of-%d", what, n))
			b.ReportMetric(allocated[i][what], fmt.Sprintf("MB/%s-of-%d", what, n))
		}
		b.ReportMetric(least[last][what]/least[0][what], "ratio-of-"+what)
	}
}

// BenchmarkFirstOrder takes an order to up in a process that has just begun, as a command that does
// its order itself is, among 100 and 10,000 instances that are there.
func BenchmarkFirstOrder(b *testing.B) {
	if testing.Short() {
		b.Skip("it takes long to make so many")
	}
	sizes := []int{100, 10000}
	worlds, least := make([]*world, len(sizes)), make([]float64, len(sizes))
	for i, n := range sizes {
		worlds[i] = among(b, n, twoFiles)
	}
	for b.Loop() {
		for i, w := range worlds {
			w.begin()
			took, _ := w.more(b, 1)
			if ms := float64(took) / 1e6; least[i] == 0 || ms < least[i] {
				least[i] = ms
			}
		}
	}
	b.ReportMetric(0, "ns/op") // of all, which says nothing
	for i, n := range sizes {
		b.ReportMetric(least[i], fmt.Sprintf("cpu-ms/order-of-%d", n))
	}
}

// among returns a home with some instances.
func among(b *testing.B, n int, model string) *world {
	b.Helper()
	w := newWorld(b, model)
	for i := range n {
		w.order("site", fmt.Sprintf("i%d", i), map[string]any{"host_name": fmt.Sprintf("f%d", i)})
		if i%500 == 499 {
			w.work() // which does not take as long as it likes
		}
	}
	w.work()
	return w
}

// more takes some orders to up, one after the other, and returns what that took.
func (w *world) more(b *testing.B, orders int) (took time.Duration, allocated uint64) {
	b.Helper()
	first := w.n + 1
	w.n += orders
	return w.each(b, first, orders, func(id string) {
		w.order("site", id, map[string]any{"host_name": id})
	})
}

// each does something with some instances, of which first has the number, one after the other, to
// its end, and returns what that took.
func (w *world) each(
	b *testing.B, first, n int, do func(id string),
) (took time.Duration, allocated uint64) {
	b.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := cpu(b)
	for i := range n {
		do(fmt.Sprintf("more%d", first+i))
		w.work()
	}
	took = cpu(b) - began
	runtime.ReadMemStats(&after)
	return took, after.TotalAlloc - before.TotalAlloc
}

// BenchmarkOrders takes 1,000 orders that are placed at once to up, and their two files each.
func BenchmarkOrders(b *testing.B) {
	const orders = 1000
	w := newWorld(b, twoFiles)
	took := time.Duration(0)
	for round := 0; b.Loop(); round++ {
		began := cpu(b)
		for i := range orders {
			id := fmt.Sprintf("r%di%d", round, i)
			w.order("site", id, map[string]any{"host_name": id})
		}
		w.work()
		took += cpu(b) - began
	}
	b.ReportMetric(float64(took)/float64(b.N)/orders/1e6, "cpu-ms/order")
}
