package deploytest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/deploy/state"
)

// TestAudit runs the conformance suite for AuditLog. open returns a new, empty store for each
// subtest, accessed by two processes.
func TestAudit(t *testing.T, open func(t *testing.T) (a, b state.AuditLog)) {
	t.Helper()
	for name, check := range map[string]func(context.Context, *testing.T, state.AuditLog, state.AuditLog){
		"Empty":          auditEmpty,
		"KeepsWhatIsPut": auditKeeps,
		"Replaces":       auditReplaces,
		"NewestFirst":    auditPages,
		"Large":          auditLarge,
		"Concurrent":     auditConcurrent,
	} {
		t.Run(name, func(t *testing.T) {
			a, b := open(t)
			check(t.Context(), t, a, b)
		})
	}
}

func audited(n int) state.AuditRecord {
	return state.AuditRecord{ID: fmt.Sprintf("%04d", n), At: jobsNow.Add(time.Duration(n) * time.Hour),
		By: "ann", Via: "os", Act: "pause", Targets: []string{"web1"}}
}

// expectAudit pins the records that a process reads.
func expectAudit(
	ctx context.Context, t *testing.T, by state.AuditLog, env string, q state.AuditQuery,
	want ...state.AuditRecord,
) {
	t.Helper()
	got, err := by.AuditRecords(ctx, env, q)
	noError(t, err)
	if len(got) != len(want) || len(want) > 0 && !cmp.Equal(got, want) {
		t.Errorf("%s %+v: %s", env, q, cmp.Diff(want, got))
	}
}

func auditEmpty(ctx context.Context, t *testing.T, a, b state.AuditLog) {
	expectAudit(ctx, t, b, "e", state.AuditQuery{Limit: 10})
	noError(t, a.PutAudit(ctx, "other", audited(1)))
	expectAudit(ctx, t, b, "e", state.AuditQuery{Limit: 10})
}

func auditKeeps(ctx context.Context, t *testing.T, a, b state.AuditLog) {
	r := audited(1)
	r.At = r.At.Add(123456789 * time.Nanosecond)
	r.Targets, r.More = []string{"", "\x00", "a\nb", "ü", "</script>"}, 7
	r.Message, r.Error, r.Outcome = "why\n'\"", "it failed", "failed"
	r.Ended = r.At.Add(time.Second)
	noError(t, a.PutAudit(ctx, "e", r))
	expectAudit(ctx, t, b, "e", state.AuditQuery{Limit: 1}, r)
}

func auditReplaces(ctx context.Context, t *testing.T, a, b state.AuditLog) {
	begun, other := audited(1), audited(2)
	noError(t, a.PutAudit(ctx, "e", begun))
	noError(t, b.PutAudit(ctx, "e", other))
	expectAudit(ctx, t, b, "e", state.AuditQuery{Limit: 10}, other, begun)
	ended := begun
	ended.Outcome = "done"
	noError(t, a.PutAudit(ctx, "e", ended))
	noError(t, a.PutAudit(ctx, "e", ended)) // an answer was lost
	expectAudit(ctx, t, b, "e", state.AuditQuery{Limit: 10}, other, ended)
}

func auditPages(ctx context.Context, t *testing.T, a, b state.AuditLog) {
	const n = 7
	var newest []state.AuditRecord
	for i := range n {
		noError(t, a.PutAudit(ctx, "e", audited(i)))
		newest = append([]state.AuditRecord{audited(i)}, newest...)
	}
	expectAudit(ctx, t, b, "e", state.AuditQuery{Limit: 3}, newest[:3]...)
	expectAudit(ctx, t, b, "e", state.AuditQuery{Limit: 3, Before: newest[2].ID}, newest[3:6]...)
	expectAudit(ctx, t, b, "e", state.AuditQuery{Limit: 3, Before: newest[5].ID}, newest[6])
	expectAudit(ctx, t, b, "e", state.AuditQuery{Limit: 3, Before: newest[6].ID})
	expectAudit(ctx, t, b, "e", state.AuditQuery{Limit: 9, Since: newest[2].At}, newest[:3]...)
	expectAudit(ctx, t, b, "e", state.AuditQuery{Limit: 2, Since: newest[4].At, Before: newest[1].ID},
		newest[2:4]...)
	expectAudit(ctx, t, b, "e", state.AuditQuery{Limit: 9, Since: newest[0].At.Add(1)})
}

// auditLarge has more bytes than one answer of a database.
func auditLarge(ctx context.Context, t *testing.T, a, b state.AuditLog) {
	var newest []state.AuditRecord
	for i := range 40 {
		r := audited(i)
		r.Targets = []string{strings.Repeat("t", 50_000)}
		noError(t, a.PutAudit(ctx, "e", r))
		newest = append([]state.AuditRecord{r}, newest...)
	}
	expectAudit(ctx, t, b, "e", state.AuditQuery{Limit: 1000}, newest...)
}

func auditConcurrent(ctx context.Context, t *testing.T, a, b state.AuditLog) {
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			by := a
			if i%2 == 1 {
				by = b
			}
			if err := by.PutAudit(ctx, "e", audited(i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := b.AuditRecords(ctx, "e", state.AuditQuery{Limit: 100})
	noError(t, err)
	if len(got) != 20 {
		t.Errorf("%d records of 20", len(got))
	}
}
