package tf

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"southbound/handlers/tf/agents"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/schema"
	"southbound/shared/tf/packages"
	"southbound/shared/tf/process"
	"southbound/shared/tf/value"
	"southbound/shared/tf/wire"
)

// terraformVersion is the version of Terraform that is sent to providers: the first one with write-only
// attributes.
const terraformVersion = "1.11.0"

// Options are the ports of a bridge.
type Options struct {
	// Store has the installed providers and their schemas.
	Store *packages.Store
	// Pool runs the providers. The caller closes it after the last run.
	Pool *process.Pool
	// Platform is that of the programs, "" for packages.Platform.
	Platform string
}

// Bridge returns the definition of the bridge to Terraform providers, with its transport. It serves
// the types that Types makes.
func Bridge(o Options) provider.Definition {
	b := &bridge{Options: o, programs: map[string]*program{}}
	if b.Platform == "" {
		b.Platform = packages.Platform()
	}
	return provider.Definition{
		Bridge: &provider.Bridge{Name: Prefix, Handler: b.handler, Theirs: theirs, Packages: b,
			Check: b.check},
		Transport: agents.Transport(func(_ context.Context, name string, options map[string]any) (any, error) {
			return newAgent(name, options)
		}),
	}
}

// VariableProviders names the directory of installed providers.
const VariableProviders = "SOUTHBOUND_PROVIDERS"

// Local returns the bridge of a program on this machine, and a function that ends the processes of
// providers. Providers are installed in the directory that VariableProviders names, by default in the
// user's cache.
func Local() (of provider.Definition, end func()) {
	dir := os.Getenv(VariableProviders)
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			cache = ".southbound"
		}
		dir = filepath.Join(cache, "southbound", "providers")
	}
	pool := process.New(process.Options{})
	return Bridge(Options{Store: &packages.Store{Dir: dir}, Pool: pool}), pool.Close
}

// bridge is shared by all handlers. It implements provider.Packages.
type bridge struct {
	Options

	mu       sync.Mutex
	programs map[string]*program // by address and version
}

// handler returns the handler of a type.
func (b *bridge) handler(t schema.Type) (provider.Handler, error) {
	m, err := metaOf(&t)
	switch {
	case err != nil:
		return nil, err
	case m.data:
		return &dataSource{b, m}, nil
	}
	return &handler{b, m, identityOf(&t)}, nil
}

// identityOf returns the names of the attributes by which the engine distinguishes two objects.
func identityOf(t *schema.Type) []string {
	var out []string
	for i := range t.Attributes {
		if a := &t.Attributes[i]; a.Behaviour == schema.ReadOnly && !a.Sensitive {
			out = append(out, a.Name)
		}
	}
	return out
}

// program is an installed provider.
type program struct {
	ready     sync.Mutex // held while the fields are made
	installed *packages.Installed
	schemas   *wire.Schemas

	mu    sync.Mutex
	types map[string]*value.Type // by kind and name
}

// program returns the installed provider of a type. It is found, checked and read once; errors are not
// kept, since an installation corrects most of them.
func (b *bridge) program(ctx context.Context, m *meta) (*program, error) {
	key := m.provider.String() + " " + m.version
	b.mu.Lock()
	p := b.programs[key]
	if p == nil {
		p = &program{types: map[string]*value.Type{}}
		b.programs[key] = p
	}
	b.mu.Unlock()
	p.ready.Lock()
	defer p.ready.Unlock()
	if p.installed == nil {
		i, err := b.Store.Find(ctx, m.provider, m.version, b.Platform)
		if err != nil {
			return nil, err
		}
		p.installed = i
	}
	// Each declaration states its own hashes.
	if err := packages.Check("use "+key, p.installed.Hashes, m.hashes); err != nil {
		return nil, err
	}
	if p.schemas == nil {
		s, err := b.schemas(ctx, p.installed)
		if err != nil {
			return nil, err
		}
		p.schemas = s
	}
	return p, nil
}

// schemas returns the schemas of a program, from the cache if they are there.
func (b *bridge) schemas(ctx context.Context, i *packages.Installed) (*wire.Schemas, error) {
	s, err := b.Store.Schemas(i.Digest)
	if !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Damaged) {
		return s, err
	}
	if s, err = ReadSchemas(ctx, b.Pool, i); err != nil {
		return nil, err
	}
	return s, b.Store.KeepSchemas(i.Digest, s)
}

// ReadSchemas starts an installed provider without a configuration, and returns its schemas. The
// caller caches them by packages.Store.KeepSchemas.
func ReadSchemas(
	ctx context.Context, pool *process.Pool, i *packages.Installed,
) (*wire.Schemas, error) {
	target := process.Target{Program: i.Executable, Digest: i.Digest}
	var out *wire.Schemas
	err := pool.Do(ctx, target, func(ctx context.Context, c *process.Call) error {
		s, d, err := c.Schemas(ctx)
		if err == nil && wire.Failed(d) {
			return fault.New(fault.Unsupported, "read schemas of a provider", "%v",
				&process.Refused{Diagnostics: d}).WithHint("use another version of the provider")
		}
		out = &s
		return err
	})
	if err != nil {
		return nil, err
	}
	err = pool.Do(ctx, target, func(ctx context.Context, c *process.Call) error {
		identities, d, err := c.Identities(ctx)
		if err == nil && !wire.Failed(d) {
			out.Identities = identities
		}
		return err
	})
	if err != nil && !fault.Is(err, fault.Unsupported) { // old providers do not have identities
		return nil, err
	}
	return out, nil
}

// compiled returns a type by its kind and name; the kinds are "resource", "data source", "identity" and
// "provider".
func (p *program) compiled(kind, name string) (*value.Type, error) {
	key := kind + " " + name
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.types[key]; t != nil {
		return t, nil
	}
	s, found := p.schemas.Provider, true
	switch kind {
	case "resource":
		s, found = p.schemas.Resources[name]
	case "data source":
		s, found = p.schemas.DataSources[name]
	case "identity":
		var i wire.IdentitySchema
		i, found = p.schemas.Identities[name]
		s = i.Schema()
	}
	if !found {
		return nil, fault.New(fault.Unsupported, "", "the provider %s %s has no %s %s",
			p.installed.Address, p.installed.Version, kind, name).WithHint("add the provider again")
	}
	t, err := value.Compile(&s)
	if err == nil {
		p.types[key] = t
	}
	return t, err
}

// errNoAgent is the reason why a resource cannot be served over another transport.
var errNoAgent = errors.New("the agent has another transport; use an agent with " +
	"transport: " + Transport)
