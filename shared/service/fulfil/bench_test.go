package fulfil_test

import (
	"fmt"
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
end
implementation files for Site:
    for name in ["page", "conf"]:
        self.owned_resources += southbound::fs::File(
            agent=here, path="SRV/{{ self.host_name }}.{{ name }}", content="{{ name }}",
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

// BenchmarkOrder takes one order to up and its two files, among some that are there. It measures
// time of processors. Those among 10,000 take half a minute to be made: -bench
// BenchmarkOrder/10000.
func BenchmarkOrder(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			if n > 1000 && testing.Short() {
				b.Skip("it takes long to make so many")
			}
			w := newWorld(b, twoFiles)
			for i := range n {
				w.order("site", fmt.Sprintf("i%d", i), map[string]any{"host_name": fmt.Sprintf("f%d", i)})
				if i%500 == 499 {
					w.work() // which does not take as long as it likes
				}
			}
			w.work()
			began := cpu(b)
			for i := 0; b.Loop(); i++ {
				id := fmt.Sprintf("more%d", i)
				w.order("site", id, map[string]any{"host_name": id})
				w.work()
			}
			b.ReportMetric(float64(cpu(b)-began)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
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
