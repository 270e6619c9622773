package adopt

import (
	"maps"
	"slices"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/tf/wire"
)

// assign chooses the agents: one for each configuration of a provider.
func (p *planner) assign() error {
	configurations, providers := p.configurations()
	used, taken := map[string]bool{}, map[string]bool{}
	for _, c := range configurations {
		provider := providers[c]
		key := optionKey(provider, c)
		name, chosen := p.options.Agents[key]
		if used[key] = true; !chosen && len(configurations) == 1 {
			name, chosen = p.options.Agents[""]
			used[""] = true
		}
		if !chosen {
			name = agentName(provider, c)
		}
		if taken[name] {
			name += "-" + digest(c.String())
		}
		taken[name] = true
		if !resource.ValidAgent(name) {
			return fault.New(fault.Usage, "adopt", "%.100q is no valid name of an agent", name).
				WithHint("choose letters, digits, - and _")
		}
		p.agents[c] = name
		p.plan.Agents = append(p.plan.Agents, agentOf(name, provider, c))
	}
	return p.unused(used, len(configurations))
}

// configurations returns the configurations of providers in the order of their first objects, and
// their providers.
func (p *planner) configurations() ([]Configuration, map[Configuration]*Provider) {
	var order []Configuration
	providers := map[Configuration]*Provider{}
	for _, a := range p.all {
		c := a.object.Provider
		if providers[c] == nil {
			order = append(order, c)
			providers[c] = a.provider
		}
	}
	return order, providers
}

// optionKey returns the key of a configuration in Options.Agents: aws or aws.west.
func optionKey(p *Provider, c Configuration) string {
	if c.Alias == "" {
		return p.Name
	}
	return p.Name + "." + c.Alias
}

// agentName returns the default name of the agent of a configuration: its module, provider and alias.
func agentName(p *Provider, c Configuration) string {
	name := p.Name
	if c.Alias != "" {
		name += "-" + readable(c.Alias)
	}
	if c.Module != "" {
		name = readable(strings.ReplaceAll(c.Module, "module.", "")) + "-" + name
	}
	return name
}

// agentOf returns the agent of a configuration with the options that it needs.
func agentOf(name string, p *Provider, c Configuration) Agent {
	options := &p.Schemas.Provider.Block
	needed := required(options)
	return Agent{Name: name, Provider: p.Address, Of: c.String(), Required: needed,
		Optional: len(needed) == 0 && len(options.Attributes)+len(options.Blocks) > 0}
}

// unused returns the error for the first key of Options.Agents that no configuration has used; nil if
// there is none.
func (p *planner) unused(used map[string]bool, configurations int) error {
	for _, key := range slices.Sorted(maps.Keys(p.options.Agents)) {
		if used[key] {
			continue
		}
		keys := slices.DeleteFunc(slices.Sorted(maps.Keys(used)), func(k string) bool { return k == "" })
		if key == "" {
			return fault.New(fault.Usage, "adopt", "the state has %d configurations of providers",
				configurations).
				WithHint("name an agent for each: --agent %s=NAME", strings.Join(keys, "=NAME --agent "))
		}
		return fault.New(fault.Usage, "adopt", "the state has no configuration %.100q of a provider", key).
			WithHint("it has %s", strings.Join(keys, ", "))
	}
	return nil
}

// required returns the names of the required attributes and blocks of a configuration.
func required(b *wire.Block) []string {
	var out []string
	for i := range b.Attributes {
		if b.Attributes[i].Required {
			out = append(out, b.Attributes[i].Name)
		}
	}
	for i := range b.Blocks {
		if b.Blocks[i].MinItems > 0 {
			out = append(out, b.Blocks[i].Name)
		}
	}
	return out
}
