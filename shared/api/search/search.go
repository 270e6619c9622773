// Package search finds resources, instances, parameters, services, agents and versions by a word.
package search

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/api/agents"
	"southbound/shared/api/client"
	"southbound/shared/api/environments"
	"southbound/shared/api/parameters"
	"southbound/shared/api/resources"
	"southbound/shared/api/server"
	"southbound/shared/api/tenant"
	"southbound/shared/api/versions"
	"southbound/shared/api/wire"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/service/orders"
)

// The kinds of hits, in the order in which they are listed.
const (
	KindResource  = "resource"
	KindInstance  = "instance"
	KindService   = "service"
	KindAgent     = "agent"
	KindParameter = "parameter"
	KindVersion   = "version"
)

// The bounds of a search. Each kind has at most Limit hits.
const (
	DefaultLimit = 20
	MaxLimit     = 100
	MaxText      = 500
	// maxPages bounds the pages of resources that are read for hits.
	maxPages = 2
)

// Hit is a thing whose name matches.
type Hit struct {
	Kind    string       `json:"kind" enum:"resource,instance,service,agent,parameter,version"`
	ID      string       `json:"id" doc:"id of a resource or an instance, name, or number of a version"`
	Label   string       `json:"label" doc:"name for people: the identity of an instance, author and message of a version"`
	Exact   bool         `json:"exact" doc:"the text is its id, name, identity or number"`
	Service string       `json:"service,omitempty" doc:"service of an instance"`
	Status  state.Status `json:"status,omitempty" doc:"status of a resource"`
	State   string       `json:"state,omitempty" doc:"state of an instance"`
}

// Hits are the results of a search: exact ones first, then by kind.
type Hits struct {
	Items []Hit `json:"items"`
	More  bool  `json:"more" doc:"there may be more hits: use a longer text"`
}

// Reader searches.
type Reader interface {
	// Search returns what matches a text, at most limit hits of each kind; 0: DefaultLimit.
	Search(ctx context.Context, env, text string, limit int) (Hits, error)
}

// Service answers from the other services.
type Service struct{ Sources Sources }

// Sources are the services in whose lists a search looks.
type Sources struct {
	Env        *environments.Service
	Resources  *resources.Service
	Agents     *agents.Service
	Parameters *parameters.Service
	Versions   *versions.Service
	Orders     *tenant.Orders
}

// finder collects the hits of one search.
type finder struct {
	Sources
	env, text, lower string
	limit            int
	found            Hits
}

// Search implements Reader.
func (s *Service) Search(ctx context.Context, env, text string, limit int) (Hits, error) {
	text, limit, err := checked(text, limit)
	if err == nil {
		err = s.Sources.Env.Require(ctx, env)
	}
	if err != nil {
		return Hits{}, err
	}
	f := &finder{Sources: s.Sources, env: env, text: text, lower: strings.ToLower(text), limit: limit,
		found: Hits{Items: []Hit{}}}
	for _, find := range []func(context.Context) error{
		f.resources, f.instances, f.services, f.agents, f.parameters, f.versions,
	} {
		if err := find(ctx); err != nil {
			return Hits{}, err
		}
	}
	slices.SortStableFunc(f.found.Items, func(a, b Hit) int {
		switch {
		case a.Exact == b.Exact:
			return 0
		case a.Exact:
			return -1
		}
		return 1
	})
	return f.found, nil
}

// checked returns the text and the limit of a search.
func checked(text string, limit int) (string, int, error) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > MaxText {
		return "", 0, fault.New(fault.Usage, "search", "the text has no or too many characters").
			WithHint("write 1 to %d", MaxText)
	}
	if limit == 0 {
		limit = DefaultLimit
	}
	return text, min(max(limit, 1), MaxLimit), nil
}

// add adds a hit of a list; it returns false if the list has enough.
func (f *finder) add(n *int, h Hit) bool {
	if *n == f.limit {
		f.found.More = true
		return false
	}
	*n++
	f.found.Items = append(f.found.Items, h)
	return true
}

// matches reports whether a name has the text, and is the text.
func (f *finder) matches(name string) (is, exact bool) {
	return strings.Contains(strings.ToLower(name), f.lower), name == f.text
}

func (f *finder) resources(ctx context.Context) error {
	n, seen := 0, map[resource.ID]bool{}
	if _, err := resource.ParseID(f.text); err == nil {
		row, err := f.Env.Engine.Row(ctx, f.env, resource.ID(f.text))
		if err == nil {
			seen[row.ID] = true
			f.add(&n, Hit{Kind: KindResource, ID: f.text, Label: f.text, Exact: true,
				Status: row.Status()})
		} else if !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	q := resources.Query{Filter: []string{"id~=" + f.text}}
	q.Limit = f.limit + 1
	for range maxPages {
		page, err := f.Resources.ResourcesPage(ctx, f.env, q)
		if err != nil {
			return err
		}
		for i := range page.Items {
			r := &page.Items[i]
			if !seen[r.ID] && !f.add(&n, Hit{Kind: KindResource, ID: string(r.ID),
				Label: string(r.ID), Status: r.Status}) {
				return nil
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
	f.found.More = true
	return nil
}

func (f *finder) instances(ctx context.Context) error {
	if f.Orders.Services == nil {
		return nil
	}
	service, name, of := strings.Cut(f.text, "/") // SERVICE/identity
	q := orders.Query{Filter: orders.Filter{Name: f.text}}
	q.Limit = f.limit + 1
	page, err := f.Orders.Services.List(ctx, f.env, q)
	if err == nil && len(page.Items) == 0 && of && name != "" {
		q.Filter = orders.Filter{Service: service, Name: name}
		page, err = f.Orders.Services.List(ctx, f.env, q)
	}
	if err != nil {
		if fault.Is(err, fault.NotFound) { // there is no such service
			return nil
		}
		return err
	}
	n := 0
	for i := range page.Items {
		one := &page.Items[i]
		identity := wire.Text(one.Identity)
		exact := one.ID == f.text || identity != "" &&
			(identity == f.text || one.Service+"/"+identity == f.text)
		if identity == "" {
			identity = one.ID
		}
		if !f.add(&n, Hit{Kind: KindInstance, ID: one.ID, Label: identity, Exact: exact,
			Service: one.Service, State: one.State}) {
			return nil
		}
	}
	return nil
}

func (f *finder) services(ctx context.Context) error {
	if f.Orders.Services == nil {
		return nil
	}
	offers, err := f.Orders.Services.Catalog(ctx, f.env, false, false)
	f.addNamed(KindService, len(offers), func(i int) string { return offers[i].Name })
	return err
}

func (f *finder) agents(ctx context.Context) error {
	list, err := f.Agents.Agents(ctx, f.env)
	f.addNamed(KindAgent, len(list), func(i int) string { return list[i].Name })
	return err
}

func (f *finder) parameters(ctx context.Context) error {
	list, err := f.Parameters.Parameters(ctx, f.env, false)
	f.addNamed(KindParameter, len(list), func(i int) string { return list[i].Name })
	return err
}

// addNamed adds the hits among things of one kind that have only a name, in their order.
func (f *finder) addNamed(kind string, count int, name func(i int) string) {
	n := 0
	for i := range count {
		if is, exact := f.matches(name(i)); is &&
			!f.add(&n, Hit{Kind: kind, ID: name(i), Label: name(i), Exact: exact}) {
			return
		}
	}
}

// versions searches numbers, authors, messages and commits, the newest version first.
func (f *finder) versions(ctx context.Context) error {
	list, err := f.Versions.Versions(ctx, f.env)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(strings.TrimPrefix(strings.TrimPrefix(f.text, "version "), "#"))
	if err != nil {
		number = 0
	}
	n := 0
	for i := len(list) - 1; i >= 0; i-- {
		v := &list[i]
		label := strings.TrimSpace(v.Author + " " + v.Message)
		exact := v.Version == number || v.Commit != "" && v.Commit == f.text
		is, _ := f.matches(label + "\n" + v.Commit)
		if !is && !exact {
			continue
		}
		if !f.add(&n, Hit{Kind: KindVersion, ID: strconv.Itoa(v.Version), Label: label,
			Exact: exact}) {
			return nil
		}
	}
	return nil
}

// Remote searches by a server.
type Remote struct{ *client.Conn }

// Search implements Reader.
func (c Remote) Search(ctx context.Context, env, text string, limit int) (Hits, error) {
	text, limit, err := checked(text, limit)
	if err != nil {
		return Hits{}, err
	}
	q := url.Values{"q": {text}, "limit": {strconv.Itoa(limit)}}
	return client.Ask[Hits](ctx, c.Conn, http.MethodGet,
		wire.EnvironmentPath(env, "search")+"?"+q.Encode(), nil)
}

// Routes serves searches.
func Routes(r *server.Router, s *Service) {
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/search", "search",
		"Resources, instances, services, agents, parameters and versions by a word",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			Q     string `query:"q" required:"true" minLength:"1" maxLength:"500" pattern:"\\S" patternDescription:"at least one character that is no space" doc:"a part of a name; upper and lower case are the same, except in ids"`
			Limit int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"number of hits of each kind"`
		}) (*server.Out[Hits], error) {
			return server.Answer(s.Search(ctx, i.Env, i.Q, i.Limit))
		})
}
