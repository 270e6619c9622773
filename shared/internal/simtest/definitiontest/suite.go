// Package definitiontest is the conformance suite of definition.Store.
package definitiontest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/lifecycle"
)

// Harness is a new, empty store as two processes see it. Order stores an instance of a version of a
// service. Delete marks the instance as deleted.
type Harness struct {
	A, B   definition.Store
	Order  func(t *testing.T, env, id, service string, version int)
	Delete func(t *testing.T, env, id string)
}

// Test runs the suite. open returns a new, empty store for each subtest.
func Test(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for name, run := range map[string]func(*suite){
		"Back": (*suite).back, "Order": (*suite).order, "Missing": (*suite).missing,
		"Default": (*suite).usual, "Removed": (*suite).removed, "Live": (*suite).live,
		"Changed": (*suite).changed, "Bundles": (*suite).bundles, "Bad": (*suite).bad,
		"Environments": (*suite).environments, "Models": (*suite).models, "Race": (*suite).race,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(&suite{t, t.Context(), open(t)})
		})
	}
}

type suite struct {
	*testing.T
	ctx context.Context
	h   Harness
}

const env = "default"

// bundle returns the n-th digest.
func bundle(n int) string { return fmt.Sprintf("%064x", n) }

// service returns a definition that sets every field.
func service(name string, version int) definition.Service {
	text, limit, kind := "A site.", 3, "int"
	return definition.Service{
		Name: name, Description: &text, Version: version, Default: version == 0,
		Part: definition.Part{
			Entity: "__config__::Site", Attributes: []definition.Attribute{{
				Name: "size", Modifier: definition.ReadWrite, Type: "int", DefaultSet: true,
				Default:        json.Number("5"),
				Annotations:    map[string]any{"web_order": json.Number("1")},
				ValidationType: &kind, ValidationParam: map[string]any{"ge": json.Number("1.5")},
			}},
			Embedded: []definition.Embedded{{
				Name: "databases", Modifier: definition.ReadWrite,
				Limits: definition.Limits{Lower: 1, Upper: &limit},
				Part: definition.Part{Entity: "__config__::Database",
					KeyAttributes: []string{"name"}},
			}},
			Annotations: map[string]any{"on": true, "list": []any{"a", nil}},
		},
		Lifecycle: lifecycle.Machine{
			Name: "simple", Initial: "start", Alternatives: []string{},
			States: []lifecycle.State{{Name: "start", ValidateSelf: lifecycle.Candidate}},
			Transfers: []lifecycle.Transfer{{
				Source: "start", Target: "up", Error: "start", TargetOperation: lifecycle.Promote,
			}},
		},
		Config: map[string]bool{"auto": true}, Strict: true,
	}
}

func (s *suite) put(n int, services ...definition.Service) {
	s.Helper()
	if err := s.h.A.Put(s.ctx, env, bundle(n), services); err != nil {
		s.Fatal(err)
	}
}

func (s *suite) is(err error, kind fault.Kind) {
	s.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != kind {
		s.Fatalf("it fails with %v, and not as %s", err, kind)
	}
}

func (s *suite) same(what string, want, got any) {
	s.Helper()
	if d := cmp.Diff(want, got); d != "" {
		s.Errorf("%s: %s", what, d)
	}
}

func (s *suite) names() []string {
	s.Helper()
	all, err := s.h.B.All(s.ctx, env)
	if err != nil {
		s.Fatal(err)
	}
	out := []string{}
	for i := range all {
		out = append(out, fmt.Sprintf("%s %d", all[i].Name, all[i].Version))
	}
	return out
}

func (s *suite) of(version int, digest string) definition.Kept {
	s.Helper()
	k, err := s.h.B.Of(s.ctx, env, "site", version, digest)
	if err != nil {
		s.Fatal(err)
	}
	return k
}

// back reads a complete definition back.
func (s *suite) back() {
	want := service("site", 2)
	s.put(1, want)
	got, err := s.h.B.One(s.ctx, env, "site", 2)
	if err != nil {
		s.Fatal(err)
	}
	want.Environment = env
	s.same("the definition", want, got)
	digest, err := want.Digest()
	if err != nil {
		s.Fatal(err)
	}
	s.same("by version", definition.Kept{Service: want, Digest: digest, Bundle: bundle(1)},
		s.of(2, ""))
	s.same("by digest", definition.Kept{Service: want, Digest: digest, Bundle: bundle(1)},
		s.of(2, digest))
	b, err := s.h.B.Bundle(s.ctx, env)
	if err != nil || b != bundle(1) {
		s.Errorf("the bundle is %s: %v", b, err)
	}
}

// order checks that lists are sorted by name and by numeric version.
func (s *suite) order() {
	s.put(1, service("site", 10), service("site", 2), service("mail", 0), service("site", 0))
	s.same("all", []string{"mail 0", "site 0", "site 2", "site 10"}, s.names())
}

// missing checks the errors of an empty store.
func (s *suite) missing() {
	_, err := s.h.A.Bundle(s.ctx, env)
	s.is(err, fault.NotFound)
	s.same("all", []string{}, s.names())
	s.put(1, service("site", 1))
	_, err = s.h.B.One(s.ctx, env, "site", 2)
	s.is(err, fault.NotFound)
	_, err = s.h.B.One(s.ctx, env, "mail", -1)
	s.is(err, fault.NotFound)
	_, err = s.h.B.One(s.ctx, env, "site", -1) // no version is the default
	s.is(err, fault.NotFound)
	_, err = s.h.B.Of(s.ctx, env, "site", 1, bundle(7))
	s.is(err, fault.NotFound)
	_, err = s.h.B.Of(s.ctx, env, "mail", 0, "")
	s.is(err, fault.NotFound)
}

// usual finds the default version of a service.
func (s *suite) usual() {
	one, two := service("site", 1), service("site", 2)
	one.Default, two.Default = true, false
	s.put(1, one, two)
	two.Default, one.Default = true, false
	got, err := s.h.B.One(s.ctx, env, "site", -1)
	if err != nil || got.Version != 1 || !got.Default {
		s.Errorf("version %d, default %v: %v", got.Version, got.Default, err)
	}
	s.put(1, one, two)
	got, err = s.h.B.One(s.ctx, env, "site", -1)
	if err != nil || got.Version != 2 {
		s.Errorf("version %d: %v", got.Version, err)
	}
}

// removed drops versions without instances.
func (s *suite) removed() {
	s.put(1, service("site", 0), service("site", 1), service("mail", 0))
	s.h.Order(s.T, env, "i1", "site", 1)
	s.h.Order(s.T, env, "i2", "mail", 0)
	s.h.Delete(s.T, env, "i2")
	s.put(2, service("site", 1))
	s.same("all", []string{"site 1"}, s.names())
	_, err := s.h.B.One(s.ctx, env, "mail", 0)
	s.is(err, fault.NotFound)
}

// live checks that versions with instances cannot be dropped, and that a refused Put changes
// nothing.
func (s *suite) live() {
	s.put(1, service("site", 0), service("site", 1), service("mail", 0))
	for _, id := range []string{"i1", "i2", "i3"} {
		s.h.Order(s.T, env, id, "site", 1)
	}
	s.h.Order(s.T, "another", "i4", "mail", 0)
	s.h.Delete(s.T, env, "i3")
	changed := service("site", 0)
	changed.Strict = false
	err := s.h.B.Put(s.ctx, env, bundle(2), []definition.Service{changed})
	s.is(err, fault.Refused)
	if !strings.Contains(err.Error(), "version 1 of site, which 2 instances have") {
		s.Errorf("it does not say which: %v", err)
	}
	s.same("all", []string{"mail 0", "site 0", "site 1"}, s.names())
	if k := s.of(0, ""); !k.Service.Strict || k.Bundle != bundle(1) {
		s.Errorf("something was changed: %+v", k)
	}
}

// changed checks that a definition is kept for the instances that were made for it.
func (s *suite) changed() {
	s.put(1, service("site", 0))
	old := s.of(0, "")
	s.put(2, service("site", 0))
	if k := s.of(0, old.Digest); k.Bundle != bundle(2) {
		s.Errorf("what has not changed is compiled with %s", k.Bundle)
	}
	other := service("site", 0)
	other.Strict = false
	s.put(3, other)
	if k := s.of(0, old.Digest); k.Bundle != bundle(2) || !k.Service.Strict {
		s.Errorf("the old one is compiled with %s, strict %v", k.Bundle, k.Service.Strict)
	}
	if k := s.of(0, ""); k.Bundle != bundle(3) || k.Service.Strict || k.Digest == old.Digest {
		s.Errorf("the new one is compiled with %s, strict %v", k.Bundle, k.Service.Strict)
	}
	s.put(4, service("site", 0))
	if k := s.of(0, ""); k.Bundle != bundle(4) || k.Digest != old.Digest {
		s.Errorf("the old one that is back is compiled with %s", k.Bundle)
	}
}

// bundles checks that all needed bundles are listed.
func (s *suite) bundles() {
	s.put(5, service("site", 0))
	other := service("site", 0)
	other.Strict = false
	s.put(3, other)
	s.put(7, service("site", 0)) // which now belongs to another bundle
	if err := s.h.B.Put(s.ctx, "another", bundle(9), nil); err != nil {
		s.Fatal(err)
	}
	got, err := s.h.B.Bundles(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	s.same("the bundles", []string{bundle(3), bundle(5), bundle(7), bundle(9)}, got)
}

// models checks that the latest bundles are kept, newest first, without duplicates.
func (s *suite) models() {
	s.is(func() error { _, err := s.h.A.Bundle(s.ctx, env); return err }(), fault.NotFound)
	kept := func(store definition.Store, in string) []string {
		s.Helper()
		got, err := store.Models(s.ctx, in)
		if err != nil {
			s.Fatal(err)
		}
		return got
	}
	if got := kept(s.h.A, env); len(got) > 0 {
		s.Errorf("nothing was put, and %v are kept", got)
	}
	for n := range definition.MaxEarlier + 3 {
		s.put(n, service("site", 0))
	}
	s.put(5, service("site", 0))
	want := []string{bundle(5)}
	for n := definition.MaxEarlier + 2; len(want) <= definition.MaxEarlier; n-- {
		if n != 5 {
			want = append(want, bundle(n))
		}
	}
	s.same("the models", want, kept(s.h.B, env))
	all, err := s.h.B.Bundles(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	for _, one := range want {
		if !slices.Contains(all, one) {
			s.Errorf("%s may be collected", one)
		}
	}
	if got := kept(s.h.A, "another"); len(got) > 0 {
		s.Errorf("another environment keeps %v", got)
	}
}

// bad checks that invalid sets of definitions are rejected.
func (s *suite) bad() {
	two := service("site", 1)
	two.Default = true
	large := service("site", 0)
	long := strings.Repeat("x", definition.MaxDefinition)
	large.Description = &long
	for name, services := range map[string][]definition.Service{
		"no name": {service("", 0)}, "version": {service("site", -1)},
		"slash":    {service("a/b", 0)},
		"long":     {service(strings.Repeat("x", definition.MaxName+1), 0)},
		"twice":    {service("site", 0), service("site", 0)},
		"defaults": {service("site", 0), two}, "large": {service("mail", 0), large},
		"many": make([]definition.Service, definition.MaxServices+1),
	} {
		if err := s.h.A.Put(s.ctx, env, bundle(1), services); fault.KindOf(err) != fault.Invalid {
			s.Errorf("%s: %v", name, err)
		}
	}
	s.is(s.h.A.Put(s.ctx, env, "", nil), fault.Invalid)
	s.same("all", []string{}, s.names())
}

// environments checks that environments are independent.
func (s *suite) environments() {
	s.put(1, service("site", 0))
	if err := s.h.A.Put(s.ctx, "another", bundle(2), nil); err != nil {
		s.Fatal(err)
	}
	s.same("all", []string{"site 0"}, s.names())
	digest := s.of(0, "").Digest
	_, err := s.h.A.Of(s.ctx, "another", "site", 0, digest)
	s.is(err, fault.NotFound)
}

// race puts from two processes concurrently: the result is complete and from one of them.
func (s *suite) race() {
	done := make(chan error)
	for n, store := range []definition.Store{s.h.A, s.h.B} {
		go func() {
			var err error
			for range 10 {
				err = errors.Join(err, store.Put(s.ctx, env, bundle(n+1),
					[]definition.Service{service("site", n), service("mail", n)}))
			}
			done <- err
		}()
	}
	if err := errors.Join(<-done, <-done); err != nil {
		s.Fatal(err)
	}
	b, err := s.h.A.Bundle(s.ctx, env)
	if err != nil {
		s.Fatal(err)
	}
	want := []string{"mail 0", "site 0"}
	if b == bundle(2) {
		want = []string{"mail 1", "site 1"}
	}
	s.same("all", want, s.names())
}
