package tf

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/redact"
	"southbound/shared/tf/packages"
	"southbound/shared/tf/process"
	"southbound/shared/tf/value"
)

// agent is the connection of an agent. It has no process of its own: the pool starts one with the first
// call.
type agent struct {
	name    string
	address packages.Address
	config  map[string]any
	env     []string

	mu      sync.Mutex
	targets map[*program]process.Target
	refused error // of the provider, about the configuration
}

// newAgent returns the connection of an agent with these options.
func newAgent(name string, options map[string]any) (*agent, error) {
	a := &agent{name: name, targets: map[*program]process.Target{}}
	var err error
	if a.address, err = addressOf(options); err != nil {
		return nil, err
	}
	a.config, _ = options["config"].(map[string]any)
	env, _ := options["env"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(env)) {
		a.env = append(a.env, fmt.Sprintf("%s=%v", key, env[key]))
	}
	return a, nil
}

// addressOf returns the address of the provider in the options of an agent.
func addressOf(options map[string]any) (packages.Address, error) {
	text, _ := options["provider"].(string)
	return packages.ParseAddress(text)
}

// target returns the configured process of a provider for the agent.
func (a *agent) target(m *meta, p *program) (process.Target, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused != nil {
		return process.Target{}, a.refused
	}
	if t, made := a.targets[p]; made {
		return t, nil
	}
	if a.address != m.provider {
		return process.Target{}, provider.Errorf(provider.NeedsChange, "agent %s has the provider %s, and "+
			"%s is a type of %s; use an agent with this provider", a.name, a.address, m.name, m.provider)
	}
	t, err := a.configure(p)
	if err == nil {
		a.targets[p] = t
	}
	return t, err
}

func (a *agent) configure(p *program) (process.Target, error) {
	ty, err := p.compiled("provider", "")
	if err != nil {
		return process.Target{}, err
	}
	v, err := ty.FromAttributes(a.config)
	if err != nil {
		return process.Target{}, provider.With(fmt.Errorf("agent %s: config: %w", a.name,
			errors.New(textOf(err))), provider.ErrUnavailable)
	}
	config, err := encode(ty, v)
	if err != nil {
		return process.Target{}, err
	}
	var secrets redact.Set
	for _, text := range secretTexts(ty, v) {
		secrets.Add(text)
	}
	return process.Target{Program: p.installed.Executable, Digest: p.installed.Digest,
		Environment: a.env, Config: config,
		Start: process.Configure(terraformVersion, config, !p.schemas.Capabilities.SchemaOptional),
		Clean: func(text string) string { return secrets.Clean(text, diff.Redacted) }}, nil
}

// note records that the provider has refused the configuration, so that it is asked only once.
func (a *agent) note(err error) {
	var refused *process.Refused
	if !errors.As(err, &refused) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused = fault.Wrap(fault.Denied, "agent "+a.name, errors.New(textOf(err)))
}

// secretTexts returns the texts of the sensitive attributes of a value.
func secretTexts(ty *value.Type, v cty.Value) []string {
	var out []string
	for _, p := range ty.Sensitive(v) {
		if in, err := p.Apply(v); err == nil {
			out = append(out, textsIn(in)...)
		}
	}
	return out
}

// textsIn returns all texts and numbers within a value.
func textsIn(v cty.Value) []string {
	var out []string
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.IsNull() || !v.IsKnown() || !v.Type().IsPrimitiveType() {
			return true, nil
		}
		switch plain := value.Plain(v).(type) {
		case string:
			out = append(out, plain)
		case bool:
		default:
			out = append(out, fmt.Sprint(plain))
		}
		return true, nil
	})
	return out
}
