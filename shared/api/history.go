package api

import (
	"context"
	"slices"
	"strings"

	"southbound/shared/api/document"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Described is a stored version with its agents.
type Described struct {
	Version
	// Agents have the form of documents.
	Agents map[string]map[string]any `json:"agents"`
}

// maxFetched is how many bytes of a file can be fetched over the API.
const maxFetched = 4 << 20

// Environments implements Home.
func (s *environmentService) Environments(ctx context.Context) ([]string, error) {
	names, err := s.Engine.State.Envs(ctx)
	return names, fault.Wrap(fault.Unknown, "list environments", err)
}

// exists rejects an environment that was never used.
func (s *environmentService) exists(ctx context.Context, env string) error {
	names, err := s.Environments(ctx)
	if err != nil || slices.Contains(names, env) {
		return err
	}
	return fault.New(fault.NotFound, "", "there is no environment %q", env).
		WithHint("GET /v1/environments lists them; an export makes one")
}

// known returns err. If nothing was found, it rejects an environment that does not exist: a
// misspelt name is an error, and not an empty environment.
func (s *environmentService) known(ctx context.Context, env string, found int, err error) error {
	if err != nil || found > 0 {
		return err
	}
	return s.exists(ctx, env)
}

// VersionFile implements Home.
func (s *versionService) VersionFile(
	ctx context.Context, env string, number int, hash string,
) ([]byte, error) {
	v, err := s.Env.Engine.VersionOf(ctx, env, number)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(v.Files, hash) {
		return nil, fault.New(fault.NotFound, "read version", "version %d has no file %.80q",
			number, hash)
	}
	blobs, err := s.Env.Engine.Files.Get(ctx, []string{hash})
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read file", err)
	}
	return blobs[0], nil
}

// Release implements Home.
func (s *exportService) Release(
	ctx context.Context, env string, number int, by Origin,
) (deploy.Exported, error) {
	out, err := s.Env.Engine.Release(ctx, env, number, state.Origin(by))
	s.Env.changed(env)
	return out, err
}

// Compare implements Home.
func (s *versionService) Compare(
	ctx context.Context, env string, from, to int, whole bool,
) (deploy.DryRun, error) {
	out := deploy.DryRun{Version: to}
	stored, err := s.Env.Engine.State.Env(ctx, env)
	if err != nil {
		return out, fault.Wrap(fault.Unknown, "read environment", err)
	}
	out.Planned, err = s.Env.Engine.Compare(ctx, env, from, to, deploy.CompareOptions{Whole: whole})
	if err != nil || from != stored.Released {
		return out, err
	}
	out.Refused, err = s.refusal(ctx, env, to)
	return out, err
}

// refusal returns why the release of a version would be rejected; nil: it would succeed.
func (s *versionService) refusal(ctx context.Context, env string, number int) (refused, err error) {
	err = s.Env.Engine.MayRelease(ctx, env, number)
	if problems, _ := diag.Of(err); len(problems) > 0 {
		return err, nil
	}
	return nil, err
}

// Described implements Home.
func (s *versionService) Described(ctx context.Context, env string, number int) (Described, error) {
	v, err := s.Env.Engine.VersionOf(ctx, env, number)
	if err != nil {
		return Described{}, err
	}
	all, state, err := s.Env.Engine.VersionsOf(ctx, env)
	if err != nil {
		return Described{}, err
	}
	d := Described{versionOf(&v, state.Released), map[string]map[string]any{}}
	d.InForce = wire.OrEmpty(inForce(all, state)[number])
	for _, a := range v.Agents {
		if about := document.Agent(a); about != nil {
			d.Agents[a.Name] = about
		}
	}
	return d, nil
}

// Descriptions implements Home.
func (s *versionService) Descriptions(
	ctx context.Context, env string, number int, id resource.ID, f func(*document.Description) error,
) error {
	for part := 0; ; {
		items, next, err := s.descriptions(ctx, env, number, id, part)
		if err != nil {
			return err
		}
		for i := range items {
			if err := f(&items[i]); err != nil {
				return err
			}
		}
		if part = next; part == 0 {
			return nil
		}
	}
}

// descriptions returns a part of the resources of a version and the number of the following part,
// or one resource; 0: there are no more.
func (s *versionService) descriptions(
	ctx context.Context, env string, number int, id resource.ID, n int,
) ([]document.Description, int, error) {
	v, err := s.Env.Engine.VersionOf(ctx, env, number)
	if err != nil {
		return nil, 0, err
	}
	if id != "" {
		r, err := s.Env.Engine.VersionResource(ctx, &v, id)
		if err != nil {
			return nil, 0, err
		}
		return []document.Description{document.Describe(&r)}, 0, nil
	}
	part, err := s.Env.Engine.VersionPart(ctx, &v, n)
	if err != nil {
		return nil, 0, err
	}
	out := make([]document.Description, len(part.Resources))
	for i := range part.Resources {
		out[i] = document.Describe(&part.Resources[i])
	}
	return out, part.Next, nil
}

// maxLooked is how many earlier actions are searched for one that has read the thing.
const maxLooked = 50

// lastSeen returns the last action that has read the thing; nil: none of the recent actions has,
// for example because the agent was not reached.
func (s *resourceService) lastSeen(ctx context.Context, env string, last *Action) (*Action, error) {
	if last == nil || hasRead(last) {
		return last, nil
	}
	before, err := s.ActionService.Actions(ctx, env, ActionQuery{Resource: last.Resource, Before: last.ID,
		Limit: maxLooked})
	for i := range before {
		if hasRead(&before[i]) {
			return &before[i], nil
		}
	}
	return nil, err
}

// hasRead reports whether an action has read the thing.
func hasRead(a *Action) bool {
	return a.Outcome == state.StatusDeployed || a.Outcome == state.StatusNonCompliant ||
		len(a.Changes) > 0
}

// attributes fills in the desired attributes, and the values that the last action which read the
// thing left or found. An action for another intent is used only for attributes that it changed or
// found to differ.
func (d *Detail) attributes(row *state.Row, last *Action) {
	d.Desired = map[string]any{}
	res, err := resource.Decode(row.Body)
	if err != nil {
		return
	}
	d.Desired = document.Describe(res).Attributes
	if last == nil {
		return
	}
	done := last.Outcome == state.StatusDeployed && last.Action != state.ActionDryRun
	at := last.Finished
	d.SeenAt = &at
	if done && (res.Purged && last.Version == row.Version || last.Change == diff.Purged) {
		return
	}
	d.Seen = map[string]any{}
	for name, v := range d.Desired {
		switch c, differs := last.Changes[name]; {
		case last.Version == row.Version && (!differs || done):
			d.Seen[name] = v
		case differs && done && c.Desired != nil:
			d.Seen[name] = c.Desired
		case differs && !done && c.Current != nil:
			d.Seen[name] = c.Current
		}
	}
	if last.Change == diff.Created && !done {
		d.Seen = nil
	}
}

// Forgetting names what to forget: it sets one of the three members.
type Forgetting struct {
	ID     resource.ID `json:"id,omitempty" minLength:"1" maxLength:"4096" doc:"a resource that left the model"`
	Agent  string      `json:"agent,omitempty" minLength:"1" maxLength:"255" doc:"an agent without managed resources"`
	Filter []string    `json:"filter,omitempty" minItems:"1" maxItems:"1000" minLength:"1" doc:"the terms of a filter: the resources that match and left the model"`
}

// Forgotten counts and names the forgotten resources.
type Forgotten struct {
	Forgotten int           `json:"forgotten" doc:"number of resources"`
	IDs       []resource.ID `json:"ids" doc:"the first of them"`
}

// maxForgotten is how many of the forgotten resources are named.
const maxForgotten = 1000

// Forget implements Home.
func (s *resourceService) Forget(ctx context.Context, env string, f Forgetting) (Forgotten, error) {
	var ids []resource.ID
	var err error
	switch {
	case count(f.ID != "", f.Agent != "", len(f.Filter) > 0) != 1:
		return Forgotten{}, fault.New(fault.Usage, "forget",
			"name a resource, an agent or a filter, and not several")
	case len(f.Filter) > 0:
		ids, err = s.forgetMatching(ctx, env, f.Filter)
	case f.ID != "":
		ids, err = s.Env.Engine.Forget(ctx, env, f.ID)
	default:
		ids, err = s.Env.Engine.ForgetAgent(ctx, env, f.Agent)
	}
	s.Env.changed(env)
	return Forgotten{len(ids), wire.OrEmpty(ids[:min(len(ids), maxForgotten)])}, err
}

// forgetMatching forgets the resources that the terms of a filter select and that left the model.
func (s *resourceService) forgetMatching(
	ctx context.Context, env string, terms []string,
) ([]resource.ID, error) {
	var ids []resource.ID
	if err := s.Resources(ctx, env, terms, func(r *Resource) error {
		ids = append(ids, r.ID)
		return nil
	}); err != nil {
		return nil, err
	}
	gone, err := s.Env.Engine.ForgetLeft(ctx, env, ids)
	if err == nil && len(gone) == 0 {
		err = fault.New(fault.NotFound, "forget", "nothing that matches %s has left the model",
			strings.Join(terms, " ")).WithHint("`southbound resources status=orphaned` lists what has")
	}
	return gone, err
}

// count returns how many of the conditions are true.
func count(conditions ...bool) int {
	n := 0
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}
