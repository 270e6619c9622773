package local

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// BenchmarkPage reads a page of 50 of 10,000 and of 100,000 rows, and counts what matches: by SQL,
// and by reading rows as a state without RowFinder does.
func BenchmarkPage(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		h, g, _ := benchHome(b, 0)
		for from := 0; from < n; from += 10_000 {
			rows := make([]state.Row, 10_000)
			for i := range rows {
				rows[i] = pageRow(from + i)
			}
			if _, err := h.Commit(context.Background(), "e",
				state.Commit{Guard: g, Rows: rows, Plan: true}); err != nil {
				b.Fatal(err)
			}
		}
		for name, s := range map[string]state.State{"sql": h, "scan": struct{ state.State }{h}} {
			c := &state.Client{State: s, Page: 1000}
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) { benchPages(b, c) })
		}
	}
}

func benchPages(b *testing.B, c *state.Client) {
	for _, terms := range [][]string{nil, {"status=failed"}, {"status=unavailable"},
		{"agent=web77"}, {"type=std::Null"}, {"agent=web77", "status=failed"},
		{"compliance=non_compliant"}, {"id~=page-099"}, {"id~=web77"}, {"id~=nowhere"},
		{"id~=page", "status=failed"}, {"set=site"}, {"set=instance77"}, {"set=site", "id~=nowhere"},
		{"reason~=space"}, {"reason~=nowhere"}} {
		filter, err := state.ParseFilter(terms)
		if err != nil {
			b.Fatal(err)
		}
		for _, order := range []state.Order{state.ByID, state.WorstFirst} {
			b.Run(fmt.Sprintf("%v/%d", terms, order), func(b *testing.B) {
				began := used(b)
				for b.Loop() {
					if _, err := c.FindRows(context.Background(), "e", state.RowQuery{
						Filter: filter, Order: order, Limit: 50, Count: 10_000}); err != nil {
						b.Fatal(err)
					}
				}
				spent := used(b) - began
				b.ReportMetric(float64(spent.Milliseconds())/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// used returns the CPU time that the process has used.
func used(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// pageRow is a row of one of 100 agents and two types; 1 of 100 failed, and 5 are unavailable. 1 of
// 10 is in the set site, and others in small sets.
func pageRow(n int) state.Row {
	r := benchRow(n)
	agent := fmt.Sprintf("web%d", n%100)
	typ := "fs::File"
	if n%50 == 0 {
		typ = "std::Null"
	}
	r.ID = resource.NewID(typ, agent,
		resource.Key{Name: "path", Value: fmt.Sprintf("/srv/site/pages/page-%06d.html", n)})
	r.Agent, r.Deployed, r.Compliance, r.LastRun = agent, r.Hash, state.Compliant,
		state.RunSuccess
	r.Ran, r.LastAt = r.Hash, time.Unix(int64(n), 0)
	set := "site"
	if n%10 != 0 {
		set = fmt.Sprintf("instance%d", n/100)
	}
	r.Body = fmt.Appendf(r.Body[:len(r.Body)-1], `,"set":%q}`, set)
	switch {
	case n%100 == 7:
		r.Compliance, r.LastRun = state.NonCompliant, state.RunFailed
		r.Reason = fmt.Sprintf("cannot write page %d: no space left on device", n)
	case n > 99_995:
		r.LastRun, r.Class = state.RunFailed, state.ClassUnavailable
	}
	return r
}
