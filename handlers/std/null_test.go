package std

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

func TestConformance(t *testing.T) {
	providertest.Run(t, providertest.Subject{Definition: Null(),
		New: func(string, *providertest.Host) (providertest.Case, error) {
			return providertest.Case{
				Attributes: map[string]any{"name": "a", "value": map[string]any{"secret": "s3cr3t"},
					"delay_ms": int64(1)},
				Others: []map[string]any{{"name": "b"}, {"name": "c", "value": []any{int64(1)}},
					{"name": "d", "delay_ms": int64(2)}},
				World:   func() (string, error) { return "", nil },
				Secrets: []string{"s3cr3t"},
				Present: true,
			}, nil
		}})
}

func items(ctx context.Context, attrs ...map[string]any) []provider.BatchRead {
	host := providertest.NewHost(nil)
	var out []provider.BatchRead
	for _, a := range attrs {
		out = append(out, provider.BatchRead{Context: host.Context(ctx, provider.Options{}),
			ReadRequest: provider.ReadRequest{Resource: provider.Resource{Attributes: a}}})
	}
	return out
}

func TestFailsOnRequest(t *testing.T) {
	got := null{}.ReadBatch(t.Context(), items(t.Context(), map[string]any{"fail": "as asked"},
		map[string]any{"fail": ""}, nil))
	if got[0].Err == nil || got[0].Err.Error() != "as asked" ||
		provider.ClassOf(got[0].Err) != provider.Retryable {
		t.Fatal(got[0].Err)
	}
	for _, other := range got[1:] {
		if other.Err != nil || !other.Observation.Exists {
			t.Fatal(other)
		}
	}
}

func TestSkipsOnRequest(t *testing.T) {
	got := null{}.ReadBatch(t.Context(), items(t.Context(), map[string]any{"skip": "not today"},
		map[string]any{"skip": ""}))
	if !errors.Is(got[0].Err, provider.ErrSkip) || !strings.HasPrefix(got[0].Err.Error(),
		"not today") {
		t.Fatal(got[0].Err)
	}
	if got[1].Err != nil || !got[1].Observation.Exists {
		t.Fatal(got[1])
	}
}

// TestDelaysOfABatch would take ten hours if one waited for the other, or if giving up did not end
// a delay.
func TestDelaysOfABatch(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var attrs []map[string]any
	for range 60 {
		attrs = append(attrs, map[string]any{"delay_ms": int64(600_000)})
	}
	for _, got := range (null{}).ReadBatch(ctx, items(ctx, attrs...)) {
		if got.Err == nil || !strings.Contains(got.Err.Error(), context.DeadlineExceeded.Error()) {
			t.Fatal(got.Err)
		}
	}
	began := time.Now()
	short := map[string]any{"delay_ms": int64(500)}
	for _, got := range (null{}).ReadBatch(t.Context(),
		items(t.Context(), slices.Repeat([]map[string]any{short}, 100)...)) {
		if got.Err != nil || !got.Observation.Exists {
			t.Fatal(got)
		}
	}
	if took := time.Since(began); took < 500*time.Millisecond || took > 40*time.Second {
		// one after the other 50 s
		t.Fatalf("a hundred delays of 0.5 s took %s", took)
	}
}
