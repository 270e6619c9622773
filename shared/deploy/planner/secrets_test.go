package planner

import (
	"context"
	"testing"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// readable is Secrets that can only read; an empty value cannot be.
type readable string

func (r readable) Resolve(context.Context, resource.Secret) (value, version string, err error) {
	if r == "" {
		return "", "", fault.New(fault.Denied, "resolve", "no")
	}
	return string(r), "read", nil
}

// told is Secrets that tell versions without reading.
type told struct {
	readable
	labels  map[string]string
	batches []int
}

func (s *told) Version(_ context.Context, ref resource.Secret) (string, error) {
	if v, ok := s.labels[ref.Version]; ok {
		return v, nil
	}
	return "", fault.New(fault.NotFound, "tell", "no")
}

func (s *told) Prefetch(_ context.Context, refs []resource.Secret, _ bool) {
	s.batches = append(s.batches, len(refs))
}

func TestSecretVersion(t *testing.T) {
	t.Parallel()
	labels := &told{labels: map[string]string{"": "7", "stable": "5"}}
	for _, c := range []struct {
		why           string
		secrets       state.Secrets
		version, want string
	}{
		{"by reading, where there is no other way", readable("x"), "", "read"},
		{"a version that is said stays", readable("x"), "mine", "mine"},
		{"what cannot be read here may be elsewhere", readable(""), "", ""},
		{"without reading", labels, "", "7"},
		{"a label becomes the version that it means", labels, "stable", "5"},
		{"what cannot be told stays as it is said", labels, "other", "other"},
	} {
		e := New(Config{Secrets: c.secrets})
		if got := e.secretVersion(t.Context(),
			resource.Secret{Source: "s", Version: c.version}); got.Version != c.want ||
			got.Source != "s" {
			t.Errorf("%s: %q, expected %q", c.why, got.Version, c.want)
		}
	}
	e := New(Config{Secrets: labels})
	one, file := resource.Secret{Source: "a"}, resource.File{Hash: "h"}
	e.prefetchVersions(t.Context(), []any{one, file})
	e.prefetchVersions(t.Context(), []any{one, file, one})
	if len(labels.batches) != 1 || labels.batches[0] != 2 {
		t.Errorf("%v were fetched at once; one alone needs no batch", labels.batches)
	}
}
