package definition

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"southbound/shared/fault"
)

// Bounds of the content of a store.
const (
	MaxServices   = 1000      // versions of services of an environment
	MaxDefinition = 256 << 10 // bytes of JSON of one definition
	MaxName       = 256       // bytes of the name of a service
	MaxEarlier    = 20        // bundles that are kept besides the latest one
)

// Kept is a definition, with the model that compiles its instances.
type Kept struct {
	Service Service
	Digest  string // Service.Digest
	Bundle  string // the digest of the model bundle
}

// Store keeps the definitions of environments. It also keeps each definition by its digest for the
// instances that were made for it, even after the service has another definition. A method fails
// with fault.NotFound for a missing definition, or with an error that Put lists.
type Store interface {
	// Put replaces the services of an environment by those of the model bundle with a digest. A
	// service with the digest of a kept definition is that definition, which from then on belongs
	// to the new bundle. Put fails with fault.Refused if it would drop a version of instances that
	// are not deleted. It fails with fault.Invalid if CheckPut rejects the services. If it fails,
	// it changes nothing.
	Put(ctx context.Context, env, bundle string, services []Service) error
	// All returns every version of every service, by name and version.
	All(ctx context.Context, env string) ([]Service, error)
	// One returns a version of a service; a negative version means the default version.
	One(ctx context.Context, env, name string, version int) (Service, error)
	// Of returns the definition with a digest, for the instances that were made for it. If digest
	// is "", Of returns the current definition of the version. The returned service has the given
	// name and version.
	Of(ctx context.Context, env, name string, version int, digest string) (Kept, error)
	// Bundle returns the digest of the latest bundle.
	Bundle(ctx context.Context, env string) (string, error)
	// Models returns the digests of the bundles that are kept for an environment, newest first.
	// They are the latest bundle and up to MaxEarlier others, whether or not definitions belong to
	// them.
	Models(ctx context.Context, env string) ([]string, error)
	// Bundles returns the digests of all bundles that definitions of any environment belong to, or
	// that Models returns for any environment, sorted.
	Bundles(ctx context.Context) ([]string, error)
}

const opPut = "store definitions"

// Newest returns the bundles to keep after a Put, given the bundles before it.
func Newest(bundle string, before []string) []string {
	out := []string{bundle}
	for _, one := range before {
		if one != bundle && len(out) <= MaxEarlier {
			out = append(out, one)
		}
	}
	return out
}

// CheckPut rejects definitions that no store keeps. Stores call it first.
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

// Text returns the digest of a definition and its stored form. The form omits the version and the
// environment, so that several versions and environments can share it.
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

// Parse decodes the stored form of Text. Numbers keep their text.
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

// ErrLive is the error of Put if it would drop a version of existing instances.
func ErrLive(name string, version, instances int) error {
	noun := "instances have"
	if instances == 1 {
		noun = "instance has"
	}
	return fault.New(fault.Refused, opPut,
		"the model no longer offers version %d of %s, which %d %s", version, name, instances, noun).
		WithHint("delete the instances first, or keep the binding in the model")
}

// ErrNone is the error for a missing service or version. A negative version means that no version
// was requested.
func ErrNone(name string, version int) error {
	const op = "read definition"
	if version < 0 {
		return fault.New(fault.NotFound, op, "there is no service %s", name).
			WithHint("`southbound service list` shows those that were exported")
	}
	return fault.New(fault.NotFound, op, "there is no version %d of the service %s", version, name).
		WithHint("`southbound service list` shows those that were exported")
}

// ErrNoBundle is the error of Bundle before the first Put.
func ErrNoBundle() error {
	return fault.New(fault.NotFound, "read definitions", "no services were exported").
		WithHint("export a model: southbound service export PATH")
}
