package api

import (
	"context"
	"net/http"

	"southbound/shared/api/client"
	"southbound/shared/api/document"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Discover is a request for the existing things of a type on an agent.
type Discover struct {
	Type  string            `json:"type" minLength:"1" maxLength:"1000"`
	Agent string            `json:"agent" minLength:"1" maxLength:"255"`
	Like  map[string]string `json:"like,omitempty" doc:"attributes, as text, that select the listed things; some types require them"`
}

// Found is one existing thing.
type Found struct {
	ID         resource.ID    `json:"id"`
	Attributes map[string]any `json:"attributes,omitempty" doc:"in the form of documents"`
	Why        string         `json:"why,omitempty" doc:"reason why no resource can describe it"`
	Note       string         `json:"note,omitempty" doc:"attributes to add before the resource can be applied"`
}

// FoundDone is the response to a discovery. Things that do not fit into Items are in stored files, in
// order.
type FoundDone struct {
	Agent map[string]any `json:"agent,omitempty" doc:"description of the agent, if its name alone means another agent"`
	Total int            `json:"total"`
	Items []Found        `json:"items"`
	Parts []string       `json:"parts" doc:"hashes of results"`
}

// Discovered is the result of a discovery.
type Discovered struct {
	// Agent is the agent in the form of documents; nil if its name alone is enough.
	Agent map[string]any
	// Resources describe existing things. Left are the things without a describing resource.
	Resources, Left []Found
}

// Discover implements Home. If this process has handlers, an unknown agent stands for this machine.
func (s *comparisonService) Discover(ctx context.Context, env string, d Discover) (Discovered, error) {
	done, err := s.describe(ctx, env, d)
	if err != nil {
		return Discovered{}, err
	}
	return discovered(done, nil)
}

// foundHere makes the answer for a caller on another machine, for which this machine is no agent.
func (s *comparisonService) foundHere(ctx context.Context, env string, d Discover) (FoundDone, error) {
	agents, err := s.Env.Engine.State.Agents(ctx, env)
	if err != nil {
		return FoundDone{}, fault.Wrap(fault.Unknown, "read agents", err)
	}
	if agents[d.Agent].Transport == "" {
		return FoundDone{}, fault.New(fault.NotFound, "discover", "the environment has no agent %q",
			d.Agent).
			WithHint("`southbound agents` lists them; leave --api out to look from this machine")
	}
	done, err := s.describe(ctx, env, d)
	if err != nil {
		return FoundDone{}, err
	}
	done.Items, done.Parts, err = inParts(ctx, s.Env.Engine.Files, done.Items)
	return done, err
}

// describe makes the complete answer.
func (s *comparisonService) describe(ctx context.Context, env string, d Discover) (FoundDone, error) {
	have, err := s.Env.Engine.Discover(
		ctx,
		env,
		deploy.DiscoveryQuery{Type: d.Type, Agent: d.Agent, Like: d.Like},
	)
	if err != nil {
		return FoundDone{}, err
	}
	done := FoundDone{Total: len(have.Resources) + len(have.LeftOut)}
	for i := range have.Resources {
		f := Found{ID: have.Resources[i].ID, Attributes: map[string]any{},
			Note: have.Notes[have.Resources[i].ID]}
		for name, v := range have.Resources[i].Attributes {
			f.Attributes[name] = document.Literal(v)
		}
		done.Items = append(done.Items, f)
	}
	for _, l := range have.LeftOut {
		done.Items = append(done.Items, Found{ID: l.ID, Why: l.Why})
	}
	agents, err := s.Env.Engine.State.Agents(ctx, env)
	if err != nil {
		return FoundDone{}, fault.Wrap(fault.Unknown, "read agents", err)
	}
	done.Agent = document.Agent(agents[d.Agent].Agent)
	return done, nil
}

// discovered combines an answer with its parts, which it reads with get.
func discovered(
	done FoundDone, get func(hash string) (ResultPart[Found], error),
) (Discovered, error) {
	out := Discovered{Agent: done.Agent}
	items := done.Items
	for n := 0; ; n++ {
		for _, f := range items {
			if f.Why != "" {
				out.Left = append(out.Left, f)
			} else {
				out.Resources = append(out.Resources, f)
			}
		}
		if n == len(done.Parts) {
			return out, nil
		}
		part, err := get(done.Parts[n])
		if err != nil {
			return out, err
		}
		items = part.Items
	}
}

// Discover implements Home.
func (c comparisonRemote) Discover(ctx context.Context, env string, d Discover) (Discovered, error) {
	all, _, err := read(ctx, c.Conn, env, jobAsked{Discover: &d})
	if err == nil && all.Found == nil {
		err = fault.New(fault.Foreign, "ask "+c.Base.Host, "the server does not say what it found")
	}
	if err != nil {
		return Discovered{}, err
	}
	return discovered(*all.Found, func(hash string) (ResultPart[Found], error) {
		return client.Ask[ResultPart[Found]](ctx, c.Conn, http.MethodGet,
			wire.EnvironmentPath(env, "results/"+hash), nil)
	})
}
