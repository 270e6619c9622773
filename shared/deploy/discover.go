package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Discovery lists the objects of one type that exist on one agent.
type Discovery struct {
	// Resources describe the objects, in order of id. Each was compared with reality and needs no
	// change. Attributes that are read-only, sensitive or at their default are left out.
	Resources []resource.Resource
	// Notes state what the user has to add to some of Resources before an apply: secrets that the
	// type requires and that cannot be read back. These resources were not compared with reality.
	Notes map[resource.ID]string
	// LeftOut lists objects that no resource describes, with reasons.
	LeftOut []LeftOut
}

// LeftOut is an object that was found and that no resource describes.
type LeftOut struct {
	ID  resource.ID
	Why string
}

// DiscoveryQuery selects the objects to discover.
type DiscoveryQuery struct {
	Type, Agent string
	// Like holds attributes, as text, that narrow the listing. Some types require them, such as a
	// bucket or a path.
	Like map[string]string
	// Declaration is the hash of the stored file that declares Type; "": Type is one of the engine's
	// own types.
	Declaration string
	// Import holds the identifiers of the objects, as the target has them. If it is empty, the handler
	// lists the objects.
	Import []string
}

// Discover lists the objects of a type on an agent, managed or not, and changes nothing. If the
// environment describes agents, Discover returns NotFound for an agent that it does not describe.
// If the environment describes no agents, an unknown agent is local. Discover returns Unsupported
// if the handler of the type can neither list nor import, Invalid if an identifier is wrong, Unavailable if this program has no handler for it, and
// NotFound if the declaration of the type is not stored.
func (e *Engine) Discover(ctx context.Context, env string, of DiscoveryQuery) (Discovery, error) {
	typ, err := e.listedType(ctx, of)
	if err != nil {
		return Discovery{}, err
	}
	like, err := parseLike(typ, of.Like)
	if err == nil {
		err = checkImport(of)
	}
	if err != nil {
		return Discovery{}, err
	}
	selects, err := selectorsOf(typ, like)
	if err != nil {
		return Discovery{}, err
	}
	agents, err := e.State.Agents(ctx, env)
	if err != nil {
		return Discovery{}, fault.Wrap(fault.Unknown, "read agents", err)
	}
	d := &discoverer{runs: e.runner(), env: env, typ: typ, like: like, selects: selects, ids: of.Import,
		agent: agents[of.Agent].Agent, seen: map[resource.ID]bool{},
		out: Discovery{Notes: map[resource.ID]string{}}}
	if d.agent.Name == "" {
		if err := misnamed(of.Agent, agents); err != nil {
			return Discovery{}, err
		}
		d.agent = model.LocalAgent(of.Agent)
	}
	if !typ.Reached(d.agent.Transport) {
		return Discovery{}, unreached(typ, d.agent, agents)
	}
	defer d.session.Close()
	if err := d.list(ctx); err != nil {
		return Discovery{}, err
	}
	for part := range slices.Chunk(d.found, run.MaxGroup) {
		if err := d.check(ctx, part); err != nil {
			return Discovery{}, err
		}
	}
	slices.SortFunc(
		d.out.Resources,
		func(a, b resource.Resource) int { return cmp.Compare(a.ID, b.ID) },
	)
	slices.SortFunc(d.out.LeftOut, func(a, b LeftOut) int { return cmp.Compare(a.ID, b.ID) })
	return d.out, nil
}

// listedType returns the type of a query.
func (e *Engine) listedType(ctx context.Context, of DiscoveryQuery) (*schema.Compiled, error) {
	if of.Declaration != "" {
		d, err := e.declarations.Read(ctx, e.Files, resource.File{Hash: of.Declaration})
		if err != nil {
			return nil, err
		}
		types := d.Types()
		i := slices.IndexFunc(types, func(t *schema.Compiled) bool { return t.Name == of.Type })
		if i < 0 {
			return nil, fault.New(fault.NotFound, "discover", "its declaration does not declare %s",
				of.Type).WithHint("run the command beside the southbound.lock that declares it")
		}
		return types[i], nil
	}
	typ, ok := e.Types.Type(of.Type)
	if ok {
		return typ, nil
	}
	err := fault.New(fault.NotFound, "discover", "there is no type %q", of.Type).
		WithHint("`southbound types` lists them")
	if similar := e.Types.Nearest(of.Type); similar != "" {
		err = err.WithHint("did you mean %s?", similar)
	}
	return nil, err
}

// misnamed rejects an agent that an environment does not have, if the environment describes other
// agents.
func misnamed(name string, agents map[string]state.Agent) error {
	var names []string
	for _, a := range agents {
		if a.Described {
			names = append(names, a.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	hint := "`southbound agents` lists them"
	if near := schema.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return fault.New(fault.NotFound, "discover", "the environment has no agent %q", name).
		WithHint("%s", hint)
}

// unreached rejects an agent with a transport that does not reach the type.
func unreached(typ *schema.Compiled, a resource.Agent, agents map[string]state.Agent) error {
	var fit []string
	for _, other := range agents {
		if other.Described && typ.Reached(other.Transport) {
			fit = append(fit, other.Name)
		}
	}
	slices.Sort(fit)
	hint := "apply a document that describes an agent with this transport, and name it with --agent"
	if len(fit) > 0 {
		hint = "name one with --agent: " + strings.Join(fit[:min(len(fit), 10)], ", ")
	}
	return fault.New(fault.Usage, "discover", "agent %q has the transport %s, and %s is reached over %s",
		a.Name, a.Transport, typ.Name, strings.Join(typ.Over(), " and ")).WithHint("%s", hint)
}

// checkImport rejects identifiers that are empty or are there twice.
func checkImport(of DiscoveryQuery) error {
	if len(of.Import) > 0 && len(of.Like) > 0 {
		return fault.New(fault.Usage, "discover", "identifiers and attributes both select objects").
			WithHint("leave out --import or the attributes")
	}
	for i, id := range of.Import {
		switch {
		case id == "":
			return fault.New(fault.Usage, "discover", "an identifier is empty").
				WithHint("name an object with --import ID")
		case slices.Contains(of.Import[:i], id):
			return fault.New(fault.Usage, "discover", "the identifier %q is there twice", id).
				WithHint("name each object once")
		}
	}
	return nil
}

// parseLike reads the attributes of DiscoveryQuery.Like.
func parseLike(typ *schema.Compiled, texts map[string]string) (map[string]any, error) {
	out := map[string]any{}
	for name, text := range texts {
		a, ok := typ.Attribute(name)
		if !ok {
			return nil, fault.New(fault.Usage, "discover", "%s has no attribute %q", typ.Name,
				name).
				WithHint("`southbound type %s` lists them", typ.Name)
		}
		v, err := a.DataType.Coerce(text)
		if err != nil {
			return nil, fault.New(fault.Usage, "discover", "attribute %s: %v", name, err)
		}
		out[name] = v
	}
	return out, nil
}

// discoverer holds the state of one call of Discover.
type discoverer struct {
	like    map[string]any
	ids     []string
	selects map[string]any // the attributes in like by which the handler does not list
	runs    *run.Runner
	env     string
	typ     *schema.Compiled
	agent   resource.Agent
	session run.Session
	seen    map[resource.ID]bool
	found   []resource.Resource
	out     Discovery
}

// list calls the handler's list operation and takes the selected objects.
func (d *discoverer) list(ctx context.Context) error {
	q := run.ListQuery{Type: d.typ, Agent: d.agent, Like: d.like, IDs: d.ids}
	found, imported, err := d.runs.List(ctx, d.env, q, &d.session)
	if err != nil {
		return err
	}
	for _, f := range found {
		switch {
		case !d.selected(f):
		case imported:
			d.takeImported(f)
		default:
			d.take(f)
		}
	}
	return nil
}

// selected reports whether an object has the requested attributes.
func (d *discoverer) selected(f provider.Found) bool {
	for name, want := range d.selects {
		a, _ := d.typ.Attribute(name)
		v, err := resource.FromGo(f.Attributes[name])
		if err == nil && v == nil {
			v = a.Default
		}
		if err != nil || !resource.Equal(v, want) {
			return false
		}
	}
	return true
}

// selectorsOf returns those of the given attributes that select among the objects that a handler
// lists. It rejects attributes that the handler neither lists by nor reports, since they would have
// no effect. These are parameters, secrets, and a name that differs from the fixed name of all
// listed objects.
func selectorsOf(typ *schema.Compiled, like map[string]any) (map[string]any, error) {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(like)) {
		a, _ := typ.Attribute(name)
		switch {
		case slices.Contains(typ.Listed, name), slices.Contains(typ.Listed, schema.AnyAttribute),
			name == provider.ProviderAttribute:
			continue
		case a.Sensitive, a.Behaviour == schema.WriteOnly, a.Behaviour == schema.Parameter,
			a.Behaviour == schema.Namevar && a.Default != nil &&
				!resource.Equal(a.Default, like[name]):
			return nil, fault.New(fault.Usage, "discover",
				"%s cannot be listed by the attribute %s", typ.Name, name).
				WithHint("leave it out; %s", listedBy(typ))
		}
		out[name] = like[name]
	}
	return out, nil
}

// listedBy describes the attributes by which objects of a type are listed and selected.
func listedBy(typ *schema.Compiled) string {
	names := slices.Clone(typ.Listed)
	for i := range typ.Attributes {
		a := &typ.Attributes[i]
		if !a.Sensitive && !slices.Contains(names, a.Name) && a.Default == nil &&
			(a.Behaviour == schema.Namevar || a.Behaviour == schema.Property ||
				a.Behaviour == schema.InitOnly) {
			names = append(names, a.Name)
		}
	}
	return "it is listed by " + strings.Join(names, ", ")
}

// take converts a found object into a resource, or records why it cannot.
func (d *discoverer) take(f provider.Found) {
	attrs, refers := map[string]any{}, ""
	for i := range d.typ.Attributes {
		a, _ := d.typ.Attribute(d.typ.Attributes[i].Name)
		v, err := resource.FromGo(f.Attributes[a.Name])
		if err != nil || v == nil || a.Behaviour == schema.ReadOnly || a.Sensitive ||
			a.Behaviour != schema.Namevar && resource.Equal(v, a.Default) {
			continue
		}
		if attrs[a.Name] = v; len(resource.References(v)) > 0 && refers == "" {
			refers = a.Name
		}
	}
	id, ok := model.FoundID(d.typ, d.agent.Name, attrs)
	switch {
	case !ok:
		d.out.LeftOut = append(
			d.out.LeftOut,
			LeftOut{
				ID:  resource.NewID(d.typ.Name, d.agent.Name),
				Why: "it has no name that a resource can have",
			},
		)
		return
	case d.seen[id]:
		d.out.LeftOut = append(d.out.LeftOut,
			LeftOut{ID: id, Why: "another thing has the same name"})
		return
	}
	d.seen[id] = true
	if refers != "" {
		// A hostile machine may name a secret of this machine, and would receive it by an apply.
		d.out.LeftOut = append(d.out.LeftOut, LeftOut{ID: id,
			Why: refers + ": the value contains a reference, which could name a secret of another machine"})
		return
	}
	note := d.standIns(id, attrs)
	if _, problems := d.typ.Check(attrs); len(problems) > 0 {
		d.out.LeftOut = append(
			d.out.LeftOut,
			LeftOut{ID: id, Why: problems[0].Attribute + ": " + problems[0].Message},
		)
		return
	}
	r := resource.Resource{
		ID:         id,
		Type:       d.typ.Name,
		Agent:      d.agent.Name,
		Attributes: attrs,
		Flags:      resource.Flags{ReceiveEvents: true},
	}
	if note == "" {
		d.found = append(d.found, r)
		return
	}
	d.out.Resources = append(d.out.Resources, r)
	d.out.Notes[id] = note
}

// standIns adds a reference for each secret that the type requires and that the found object does
// not show. It returns the instruction for the user, or "" if there are no such secrets.
func (d *discoverer) standIns(id resource.ID, attrs map[string]any) string {
	var names, sources []string
	_, problems := d.typ.Check(attrs)
	for _, p := range problems {
		a, ok := d.typ.Attribute(p.Attribute)
		if _, there := attrs[p.Attribute]; !ok || !a.Sensitive || there {
			continue
		}
		source := "env:" + variable(string(id)+"_"+a.Name)
		attrs[a.Name] = resource.Secret{Source: source}
		names, sources = append(names, a.Name), append(sources, source)
	}
	if names == nil {
		return ""
	}
	return strings.Join(names, ", ") + " cannot be read back: set " + strings.Join(sources, ", ") +
		", or write its source in the document"
}

// variable returns the name of an environment variable, built from the letters and digits of a
// text.
func variable(text string) string {
	words := strings.FieldsFunc(strings.ToUpper(text), func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
	return "SECRET_" + strings.Join(words, "_")
}

// check compares resources with reality. It keeps the resources that need no change, and records
// the reason for each one that it leaves out.
func (d *discoverer) check(ctx context.Context, part []resource.Resource) error {
	runs := make([]*run.Run, len(part))
	for i := range part {
		full := part[i]
		full.Attributes, _ = d.typ.Check(full.Attributes)
		model.NameDeclaration(&full, d.typ)
		// If the resource cannot be encoded, it does not decode either, and NewRun reports that.
		body, _ := full.Encode()
		row := &state.Row{ID: full.ID, Intent: state.Intent{Body: body}}
		r := d.runs.NewRun(ctx, d.env, row, nil, &d.session)
		if r.Over() {
			return errors.New(r.Reason)
		}
		r.SetDry(nil, false)
		d.runs.Connect(ctx, r, d.agent)
		r.Bind(ctx)
		runs[i] = r
	}
	x := &run.Executor{Runner: d.runs, Runs: slices.Clone(runs), Dry: true}
	if err := x.Execute(ctx); err != nil {
		return err
	}
	for i, r := range runs {
		switch act, _ := r.Decided(); {
		case r.Over():
			d.out.LeftOut = append(d.out.LeftOut, LeftOut{ID: part[i].ID, Why: r.Reason})
		case act != diff.NoChange:
			d.out.LeftOut = append(d.out.LeftOut, LeftOut{ID: part[i].ID,
				Why: "a read disagrees with the list: it would be " + string(act)})
		default:
			d.out.Resources = append(d.out.Resources, part[i])
		}
	}
	return nil
}
