//go:build servers

package console_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"southbound/shared/console"
	"southbound/shared/internal/simtest/consoletest"
	"southbound/shared/internal/simtest/consoletest/chrome"
)

// Budgets in the browser: milliseconds of CPU time of the scripts of a page, and the growth of its
// heap and nodes by changes.
const (
	scriptMS  = 50
	heapGrown = 256 << 10
)

// BenchmarkPaint measures in Chromium, over a list of resources, when the page is first painted, on
// the clock and after its answer, the CPU time of its scripts, and by how much the heap and the nodes
// of an open page grow while its regions change.
func BenchmarkPaint(b *testing.B) {
	w := crowded(b, 5000, 10)
	s := httptest.NewUnstartedServer(nil)
	c := console.New(w.Service, console.Options{Version: "1.0", Hosts: []string{s.Listener.Addr().String()}})
	s.Config.Handler = c
	s.Start()
	b.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	x := chrome.Start(b).Tab(b)
	x.Open(s.URL + c.Path(c.Code()))
	x.Metrics()
	at := s.URL + "/console/" + consoletest.Env + "/"
	x.Open(at + "resources") // caches
	var painted, after, script, task []float64
	for b.Loop() {
		x.Open(at + "resources")
		t := x.Paint()
		m := x.Metrics()
		painted, after = append(painted, t.Painted), append(after, t.Painted-t.Answered)
		script = append(script, 1000*m["ScriptDuration"])
		task = append(task, 1000*m["TaskDuration"])
	}
	x.Open(at)
	change := func(n int) {
		for i := range n {
			halted := i%2 == 0
			if err := w.Service.Halt(b.Context(), consoletest.Env, halted); err != nil {
				b.Fatal(err)
			}
			x.Eval(`document.dispatchEvent(new Event("visibilitychange"))`) // a new stream
			x.Until(fmt.Sprintf(`!!document.querySelector("form[action$='/do/unhalt']") === %v`, halted))
		}
	}
	change(20)
	from := x.Metrics()
	const changes = 200
	change(changes)
	to := x.Metrics()
	grown := to["JSHeapUsedSize"] - from["JSHeapUsedSize"]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(middle(painted), "painted-ms")
	b.ReportMetric(middle(after), "painted-after-answer-ms")
	b.ReportMetric(middle(script), "script-cpu-ms")
	b.ReportMetric(middle(task), "renderer-cpu-ms")
	b.ReportMetric(grown, "grown-bytes")
	b.ReportMetric(to["Nodes"]-from["Nodes"], "grown-nodes")
	if got := middle(script); got > scriptMS*slack {
		b.Errorf("%.1f ms of CPU time in scripts, more than %d", got, scriptMS)
	}
	if grown > heapGrown {
		b.Errorf("the heap of the page has grown by %.0f bytes in %d changes", grown, changes)
	}
}
