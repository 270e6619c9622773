package definition

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"southbound/shared/fault"
)

// Bounds of what a store keeps.
const (
	MaxServices   = 1000      // versions of services of an environment
	MaxDefinition = 256 << 10 // bytes of JSON of one
	MaxName       = 256       // bytes of the name of a service
	MaxEarlier    = 20        // bundles that are kept beside the one that was put last
)

// Kept is a definition, with the model that instances of it are compiled with.
type Kept struct {
	Service Service
	Digest  string // Service.Digest
	Bundle  string // the digest of the model bundle
}

// Store keeps the definitions of environments. A definition is kept under its digest too, for the
// instances that were made for it: also when the service has got another one. Errors are
// fault.NotFound for what is not there, and those that Put names.
type Store interface {
	// Put makes services those of the environment, from the model bundle with a digest. What has
	// the digest of a definition that is kept is that definition, which belongs to the new bundle
	// from then on. It fails with fault.Refused where a version is left out that instances which
	// are not deleted have, with fault.Invalid for what CheckPut refuses, and changes nothing then.
	Put(ctx context.Context, env, bundle string, services []Service) error
	// All returns every version of every service, by name and version.
	All(ctx context.Context, env string) ([]Service, error)
	// One returns a version of a service; below 0 the one that new instances have.
	One(ctx context.Context, env, name string, version int) (Service, error)
	// Of returns the definition that an instance was made for, by its digest; with "" the one that
	// the version has now. The service has the name and version that are asked for.
	Of(ctx context.Context, env, name string, version int, digest string) (Kept, error)
	// Bundle returns the digest of the bundle that was put last.
	Bundle(ctx context.Context, env string) (string, error)
	// Models returns the digests of the bundles that are kept for an environment whatever has their
	// definitions: the one that was put last, and up to MaxEarlier others, the newest first.
	Models(ctx context.Context, env string) ([]string, error)
	// Bundles returns the digests of all bundles that definitions of any environment belong to, or
	// that Models returns for it, sorted.
	Bundles(ctx context.Context) ([]string, error)
}

const opPut = "store definitions"

// Newest returns the bundles that are kept after one was put, when others were kept before.
func Newest(bundle string, before []string) []string {
	out := []string{bundle}
	for _, one := range before {
		if one != bundle && len(out) <= MaxEarlier {
			out = append(out, one)
		}
	}
	return out
}

// CheckPut refuses what no store keeps. Stores call it first.
func CheckPut(bundle string, services []Service) error {
	if bundle == "" {
		return fault.New(fault.Invalid, opPut, "the model bundle has no digest")
	}
	if len(services) > MaxServices {
		return fault.New(fault.Invalid, opPut,
			"the model has %d versions of services, and may have %d",
			len(services), MaxServices).WithHint("split the model into environments")
	}
	seen, fallback := map[string]bool{}, map[string]bool{}
	for i := range services {
		s := &services[i]
		key := fmt.Sprintf("%s version %d", s.Name, s.Version)
		switch {
		case s.Name == "" || len(s.Name) > MaxName || strings.Contains(s.Name, "/"):
			return fault.New(fault.Invalid, opPut,
				"a service has a name of 1 to %d bytes without a slash, and not %.40q", MaxName,
				s.Name).
				WithHint("name it by service_entity_name of its binding")
		case s.Version < 0:
			return fault.New(fault.Invalid, opPut, "the version of %s is %d, and not 0 or more",
				s.Name, s.Version)
		case seen[key]:
			return fault.New(fault.Invalid, opPut, "there are two definitions of %s", key)
		case s.Default && fallback[s.Name]:
			return fault.New(fault.Invalid, opPut, "%s has two default versions", s.Name)
		}
		seen[key], fallback[s.Name] = true, fallback[s.Name] || s.Default
	}
	return nil
}

// Text returns the digest of a definition and what is stored of it: everything but its version and
// environment, which others may share it with.
func (s *Service) Text() (digest string, body []byte, err error) {
	if digest, err = s.Digest(); err != nil {
		return "", nil, err
	}
	c := *s
	c.Version, c.Environment, c.Default = 0, "", false
	if body, err = json.Marshal(&c); err != nil {
		return "", nil, fault.Wrap(fault.Internal, "write the definition of "+s.Name, err)
	}
	if len(body) > MaxDefinition {
		return "", nil, fault.New(fault.Invalid, opPut,
			"the definition of %s has %d bytes of JSON, and may have %d", s.Name, len(body),
			MaxDefinition).WithHint("shorten descriptions and annotations")
	}
	return digest, body, nil
}

// Parse returns what Text has written, with numbers as they were.
func Parse(body []byte) (Service, error) {
	var s Service
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	if err := d.Decode(&s); err != nil {
		return Service{}, fault.Wrap(fault.Damaged, "read definition", err)
	}
	return s, nil
}

// Sort sorts definitions by name and version.
func Sort(services []Service) {
	slices.SortFunc(services, func(a, b Service) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return a.Version - b.Version
	})
}

// ErrLive is the error of Put where a version is left out that instances have.
func ErrLive(name string, version, instances int) error {
	noun := "instances have"
	if instances == 1 {
		noun = "instance has"
	}
	return fault.New(fault.Refused, opPut,
		"the model no longer offers version %d of %s, which %d %s", version, name, instances, noun).
		WithHint("delete the instances first, or keep the binding in the model")
}

// ErrNone is the error where a service, or a version of it, is not there. version is below 0 where
// none was asked for.
func ErrNone(name string, version int) error {
	const op = "read definition"
	if version < 0 {
		return fault.New(fault.NotFound, op, "there is no service %s", name).
			WithHint("`southbound service list` shows those that were exported")
	}
	return fault.New(fault.NotFound, op, "there is no version %d of the service %s", version, name).
		WithHint("`southbound service list` shows those that were exported")
}

// ErrNoBundle is the error of Bundle where nothing was put.
func ErrNoBundle() error {
	return fault.New(fault.NotFound, "read definitions", "no services were exported").
		WithHint("export a model: southbound service export PATH")
}
