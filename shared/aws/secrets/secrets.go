// Package secrets resolves references to secrets in Parameter Store (ssm:) and Secrets Manager
// (secretsmanager:). It delegates the secrets of one machine (env:, file:). Values are cached in
// memory only, for minutes, and no error contains one.
package secrets

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Config configures a resolver.
type Config struct {
	// Load returns the configuration of AWS clients. It is called for the first secret in AWS, so
	// that a process without such secrets needs no credentials. If it is nil, the SDK's default is
	// used.
	Load func(ctx context.Context) (aws.Config, error)
	// Machine resolves the secrets of a machine, such as env: and file:. If it is nil, they are rejected, as in a function, which has
	// no machine of its own.
	Machine state.Secrets
	// Keep is how long values are cached; 0: five minutes. The number of the newest version is
	// cached for seconds. So an export reads it once, and the next export sees a rotation.
	Keep time.Duration
	// Now returns the time; nil: time.Now.
	Now func() time.Time
}

// Secrets implements state.Secrets, and returns versions without reading values. Any number of
// goroutines may use it.
type Secrets struct {
	config Config

	mu       sync.Mutex
	base     *aws.Config
	regions  map[string]clients
	values   map[string]kept // by the text of a reference, which includes its version
	versions map[string]kept // by the text of a reference
}

// kept is a cached value or version, with its expiry.
type kept struct {
	value, version string
	err            error // why the version is unknown
	until          time.Time
}

// clients holds the clients of one region.
type clients struct {
	ssm     *ssm.Client
	manager *secretsmanager.Client
}

var (
	_ state.Secrets        = (*Secrets)(nil)
	_ state.SecretVersions = (*Secrets)(nil)
	_ state.SecretBatches  = (*Secrets)(nil)
)

const (
	defaultKeep = 5 * time.Minute
	versionKeep = 3 * time.Second
	// refusedKeep is how long the error of a version is cached, so that an export with many
	// references does not repeat each failing request.
	refusedKeep = 20 * time.Second
	maxKept     = 10_000
)

// New returns a resolver.
func New(c Config) *Secrets {
	if c.Keep == 0 {
		c.Keep = defaultKeep
	}
	if c.Load == nil {
		c.Load = func(ctx context.Context) (aws.Config, error) {
			return config.LoadDefaultConfig(ctx, config.WithAppID("southbound"))
		}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Secrets{config: c, regions: map[string]clients{}, values: map[string]kept{},
		versions: map[string]kept{}}
}

// Resolve implements state.Secrets. For a reference with a version it returns the value of that
// version, even if there is a newer one.
func (s *Secrets) Resolve(
	ctx context.Context, ref resource.Secret,
) (value, version string, err error) {
	r, err := parse(ref)
	if err != nil {
		return "", "", err
	}
	if r.scheme == schemeMachine {
		if s.config.Machine == nil {
			return "", "", notHere(ref)
		}
		return s.config.Machine.Resolve(ctx, ref)
	}
	if k, ok := s.have(s.values, r.text()); ok {
		return k.value, k.version, nil
	}
	c, err := s.clients(ctx, r.region)
	if err != nil {
		return "", "", err
	}
	var got kept
	if r.scheme == schemeSSM {
		got, err = s.parameter(ctx, c, r)
	} else {
		got, err = s.managed(ctx, c, r)
	}
	if err != nil {
		return "", "", r.fault(err)
	}
	if got.value, err = r.member(got.value); err != nil {
		return "", "", err
	}
	s.keep(s.values, r.text(), got, s.config.Keep)
	return got.value, got.version, nil
}

// Version implements state.SecretVersions. Its requests return no decrypted value.
func (s *Secrets) Version(ctx context.Context, ref resource.Secret) (string, error) {
	r, err := parse(ref)
	if err != nil {
		return "", err
	}
	if r.scheme == schemeMachine {
		if s.config.Machine == nil {
			return "", notHere(ref)
		}
		if machine, ok := s.config.Machine.(state.SecretVersions); ok {
			return machine.Version(ctx, ref)
		}
		if ref.Version != "" {
			return ref.Version, nil
		}
		_, version, err := s.config.Machine.Resolve(ctx, ref)
		return version, err
	}
	if r.exact() {
		return r.selector, nil
	}
	if k, ok := s.have(s.versions, r.text()); ok {
		return k.version, k.err
	}
	c, err := s.clients(ctx, r.region)
	if err != nil {
		return "", err
	}
	var version string
	if r.scheme == schemeSSM {
		version, err = s.parameterVersion(ctx, c, r)
	} else {
		version, err = s.managedVersion(ctx, c, r)
	}
	if err == nil {
		s.keep(s.versions, r.text(), kept{version: version}, versionKeep)
		return version, nil
	}
	if err = r.fault(err); fault.Is(err, fault.Denied) || fault.Is(err, fault.NotFound) {
		s.keep(s.versions, r.text(), kept{err: err}, refusedKeep)
	}
	return "", err
}

// notHere rejects a secret of a machine.
func notHere(ref resource.Secret) error {
	return fault.New(fault.Unsupported, "resolve secret",
		"the secret %s is on a machine, and a function has none", ref.Source).
		WithHint("keep it in Parameter Store (ssm:/name) or Secrets Manager (secretsmanager:id), " +
			"or serve the agent on its machine with `southbound agent run NAME`")
}

// have returns a cached entry that has not expired.
func (s *Secrets) have(m map[string]kept, key string) (kept, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := m[key]
	return k, ok && s.config.Now().Before(k.until)
}

func (s *Secrets) keep(m map[string]kept, key string, k kept, how time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.config.Now()
	if len(m) >= maxKept {
		for key, old := range m {
			if !now.Before(old.until) || len(m) >= maxKept {
				delete(m, key)
			}
		}
	}
	k.until = now.Add(min(how, s.config.Keep))
	m[key] = k
}

// clients returns the clients of a region; "" is the region of the configuration.
func (s *Secrets) clients(ctx context.Context, region string) (clients, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.regions[region]; ok {
		return c, nil
	}
	if s.base == nil {
		cfg, err := s.config.Load(ctx)
		if err != nil {
			return clients{}, fault.Wrap(fault.KindOf(err), "resolve secret", err)
		}
		s.base = &cfg
	}
	cfg := s.base.Copy()
	if region != "" {
		cfg.Region = region
	}
	if cfg.Region == "" {
		return clients{}, fault.New(fault.Invalid, "resolve secret", "no region is known").
			WithHint("set AWS_REGION, or write the ARN of the secret")
	}
	c := clients{ssm.NewFromConfig(cfg), secretsmanager.NewFromConfig(cfg)}
	s.regions[region] = c
	return c, nil
}

// String returns no secret.
func (s *Secrets) String() string { return "secrets" }

// GoString returns no secret.
func (s *Secrets) GoString() string { return s.String() }
