package chrome

import (
	"encoding/json"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
)

// Metrics returns what Chromium has measured of the page: CPU time in seconds (ScriptDuration,
// LayoutDuration, TaskDuration), JSHeapUsedSize in bytes, Nodes. Garbage is collected before. The
// CPU time is that since the navigation, if Metrics was called before it.
func (x *Tab) Metrics() map[string]float64 {
	x.t.Helper()
	call(x, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	call(x, heapprofiler.CollectGarbage, cdp.Empty{})
	out := map[string]float64{}
	for _, m := range call(x, performance.GetMetrics, cdp.Empty{}).Metrics {
		out[m.Name] = m.Value
	}
	return out
}

// Paint is when Chromium has done something for a page, in milliseconds since the navigation.
type Paint struct{ Answered, Painted, Loaded float64 }

// Paint returns the times of the page.
func (x *Tab) Paint() (p Paint) {
	x.t.Helper()
	x.Until(`performance.getEntriesByName("first-contentful-paint").length`)
	text := x.Eval(`(() => { const n = performance.getEntriesByType("navigation")[0]; return JSON.stringify({
		Answered: n.responseEnd, Painted: performance.getEntriesByName("first-contentful-paint")[0].startTime,
		Loaded: n.domContentLoadedEventEnd}); })()`)
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		x.t.Fatal(err)
	}
	return p
}
