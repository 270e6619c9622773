package cli

import (
	"context"
	"encoding/json"
	"math/big"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

func (a *app) discoverCommand() *cobra.Command {
	agent := ""
	cmd := command("discover TYPE", "Describe what exists as resources",
		"discover lists what exists of a type on an agent and writes a document that applies as \"nothing to do\". It changes nothing. What no resource can describe is\n"+
			"left out and named on standard error. With --json the document is one line, which `southbound apply -` takes.",
		"  southbound discover pkg::Package > packages.yaml\n  southbound discover svc::Service --agent web1 --json | southbound apply -",
		exactArgs(1, "one type"), a.look, func(ctx context.Context, args []string) error { return a.discover(ctx, args[0], agent) })
	cmd.Flags().StringVar(&agent, "agent", "local", "agent to look at; one that the environment does not have is this machine")
	return cmd
}

// document is what discover writes: format 1.
type document struct {
	Southbound int           `json:"southbound" yaml:"southbound"`
	Agents     yamlAgents    `json:"agents,omitempty" yaml:"agents,omitempty"`
	Resources  []description `json:"resources" yaml:"resources"`
}

type yamlAgents map[string]map[string]any

type description struct {
	Type       string         `json:"type" yaml:"type"`
	Agent      string         `json:"agent" yaml:"agent"`
	Attributes map[string]any `json:"attributes" yaml:"attributes"`
}

func (a *app) discover(ctx context.Context, typ, agent string) error {
	if a.engine == nil {
		return fault.New(fault.Unsupported, "discover", "it looks from this machine, so it does not go through --api").WithHint("leave --api out; agents that only the server knows have to be described here, too")
	}
	d, err := a.engine.Discover(ctx, a.env, typ, agent)
	if err != nil {
		return err
	}
	doc := document{Southbound: 1, Resources: []description{}}
	for i := range d.Resources {
		r := &d.Resources[i]
		attrs, _ := written(r.Attributes).(map[string]any)
		for name, v := range r.Attributes {
			attrs[name] = literal(v)
		}
		doc.Resources = append(doc.Resources, description{r.Type, r.Agent, attrs})
	}
	if err := a.describeAgent(ctx, &doc, agent); err != nil {
		return err
	}
	a.leftOut(d.Left)
	if a.json {
		a.line(doc)
		return nil
	}
	text, err := yaml.Marshal(doc)
	if err != nil {
		return fault.Wrap(fault.Internal, "write the document", err)
	}
	_, err = a.out.Write(text)
	return err
}

// describeAgent adds the agent when a document that only names it would mean another. An agent with options has to be described by hand: they may hold
// secrets, which are not written.
func (a *app) describeAgent(ctx context.Context, doc *document, agent string) error {
	agents, err := a.own.Agents(ctx, a.env)
	if err != nil {
		return err
	}
	known := agents[agent].Agent
	if known.Name == "" || known.Transport == "local" && known.Lanes <= 1 {
		return nil
	}
	described := map[string]any{"transport": known.Transport}
	if known.Lanes > 1 {
		described["lanes"] = known.Lanes
	}
	for name, v := range known.Options {
		described[name] = written(v)
	}
	doc.Agents = yamlAgents{agent: described}
	return nil
}

// mostLeft is how many things that are left out are named.
const mostLeft = 20

func (a *app) leftOut(left []deploy.LeftOut) {
	for i, l := range left {
		if i == mostLeft {
			a.say("and %d more are left out", len(left)-i)
			return
		}
		a.say("left out: %s: %s", l.ID, l.Why)
	}
}

// literal writes a value of an attribute so that a document that has it means it: what looks like a reference is wrapped.
func literal(v any) any {
	if looksLikeReference(v) {
		return map[string]any{"value": written(v)}
	}
	return written(v)
}

// looksLikeReference reports whether a document would not take a value for itself.
func looksLikeReference(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, form := range []string{"file", "secret", "parameter", "fact", "value"} {
			if _, has := v[form]; has {
				return true
			}
		}
		for _, e := range v {
			if looksLikeReference(e) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if looksLikeReference(e) {
				return true
			}
		}
	}
	return false
}

// written returns a value as the encoders write it. References are written in their own forms.
func written(v any) any {
	switch v := v.(type) {
	case *big.Int:
		return json.Number(v.String())
	case resource.Secret:
		out := map[string]any{"secret": v.Source}
		if v.Version != "" {
			out["version"] = v.Version
		}
		return out
	case resource.Parameter:
		return map[string]any{"parameter": v.Name}
	case resource.Fact:
		return map[string]any{"fact": v.Name, "of": string(v.Of)}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = written(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = written(v[k])
		}
		return out
	}
	return v
}
