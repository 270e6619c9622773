package api

import (
	"cmp"
	"context"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

const (
	maxPage   = 5000
	pageBytes = 3 << 20
)

// Page is a part of a list. Next, if not empty, is the cursor of the following part.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// Limit is the number of items to return.
type Limit struct {
	Limit int `query:"limit" minimum:"1" maximum:"5000" default:"1000" doc:"number of items of a page; a page with a next may have fewer"`
}

// Paging pages through a list whose cursors are numbers.
type Paging struct {
	Limit
	Cursor string `query:"cursor" maxLength:"9" pattern:"^[0-9]+$" doc:"value of next of the previous page"`
}

// pager makes pages of a bounded number of items and bytes.
type pager[T any] struct {
	page  Page[T]
	limit int
	bytes int
}

// add adds an item, and reports whether it fit; if not, the page is full.
func (p *pager[T]) add(v T) (bool, error) {
	b, err := encode(v)
	if err != nil {
		return false, err
	}
	if len(p.page.Items) == p.limit || p.bytes+len(b) > pageBytes && p.bytes > 0 {
		return false, nil
	}
	p.bytes += len(b) + 1
	p.page.Items = append(p.page.Items, v)
	return true, nil
}

func newPager[T any](limit int) *pager[T] {
	return &pager[T]{limit: min(max(limit, 1), maxPage), page: Page[T]{Items: []T{}}}
}

// KeyPaging pages through a list whose cursors are keys of items, so that unchanged items are
// neither skipped nor repeated while the list changes.
type KeyPaging struct {
	Limit
	Cursor string `query:"cursor" minLength:"3" maxLength:"20000" pattern:"^k([0-9a-f]{2})+$" patternDescription:"next of a page" doc:"value of next of the previous page"`
}

// keyMark is the prefix of a cursor that is a key. A cursor that is the number of an item, as an
// earlier server returned it, is rejected instead of being used as a key.
const keyMark = "k"

// pageBy makes the page of the items of a list after the key of a cursor, in the order of their
// keys.
func pageBy[T any](
	list []T, key func(*T) string, g KeyPaging, err error,
) (*out[Page[T]], error) {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(key(&a), key(&b)) })
	keys := make([]string, len(list))
	for i := range list {
		keys[i] = key(&list[i])
	}
	return pageBehind(list, keys, g, err)
}

// pageBehind is pageBy for a list with the keys of its items, which are sorted.
func pageBehind[T any](
	list []T, keys []string, g KeyPaging, err error,
) (*out[Page[T]], error) {
	digits, is := strings.CutPrefix(g.Cursor, keyMark)
	after, wrong := hex.DecodeString(digits)
	if (wrong != nil || is != (g.Cursor != "")) && err == nil {
		err = fault.New(fault.Usage, "", "this is not a cursor of this list")
	}
	p := newPager[T](g.Limit.Limit)
	for i := 0; err == nil && i < len(list); i++ {
		if g.Cursor != "" && keys[i] <= string(after) {
			continue
		}
		var ok bool
		if ok, err = p.add(list[i]); !ok && err == nil {
			p.page.Next = keyMark + hex.EncodeToString([]byte(keys[i-1]))
			break
		}
	}
	return answer(p.page, err)
}

// pageOf makes the page of a list that never changes. It begins at the number of an item.
func pageOf[T any](list []T, g Paging, err error) (*out[Page[T]], error) {
	from := 0
	if g.Cursor != "" && err == nil {
		if from, err = strconv.Atoi(g.Cursor); err != nil || from < 0 {
			err = fault.New(fault.Usage, "", "this is not a cursor of this list")
		}
	}
	p := newPager[T](g.Limit.Limit)
	for i := min(from, len(list)); err == nil && i < len(list); i++ {
		var ok bool
		if ok, err = p.add(list[i]); !ok && err == nil {
			p.page.Next = strconv.Itoa(i)
			break
		}
	}
	return answer(p.page, err)
}

func (r *routes) lists() {
	serve(r, http.MethodGet, "/v1/types", "types", "Resource types",
		func(ctx context.Context, g *Paging) (*out[Page[Type]], error) {
			list, err := r.s.Types(ctx)
			return pageOf(list, *g, err)
		})
	type listIn struct {
		InEnvironment
		KeyPaging
	}
	serve(r, http.MethodGet, inEnv+"/resources", "resources", "Resources, in order of id",
		r.resources)
	serve(r, http.MethodGet, inEnv+"/actions", "actions", "Actions, newest first", r.actions)
	serve(r, http.MethodGet, inEnv+"/versions", "versions", "Versions, ascending",
		func(ctx context.Context, i *struct {
			InEnvironment
			Paging
		}) (*out[Page[Version]], error) {
			return r.versions(ctx, i.Env, i.Paging)
		})
	serve(r, http.MethodGet, inEnv+"/agents", "agents", "Agents, by name",
		func(ctx context.Context, i *listIn) (*out[Page[Agent]], error) {
			list, err := r.s.Agents(ctx, i.Env)
			err = r.s.known(ctx, i.Env, len(list), err)
			return pageBy(list, func(g *Agent) string { return g.Name }, i.KeyPaging, err)
		})
	serve(r, http.MethodGet, inEnv+"/parameters", "parameters", "Parameters, by name",
		func(ctx context.Context, i *listIn) (*out[Page[state.Parameter]], error) {
			list, err := r.s.Parameters(ctx, i.Env, false)
			err = r.s.known(ctx, i.Env, len(list), err)
			return pageBy(list, parameterKey, i.KeyPaging, err)
		})
	serve(r, http.MethodGet, inEnv+"/facts", "facts", "Facts, by resource and name",
		func(ctx context.Context, i *listIn) (*out[Page[state.Parameter]], error) {
			list, err := r.s.Parameters(ctx, i.Env, true)
			err = r.s.known(ctx, i.Env, len(list), err)
			return pageBy(list, parameterKey, i.KeyPaging, err)
		})
}

// parameterKey is the order of parameters, by name, and of facts, by resource and name.
func parameterKey(p *state.Parameter) string { return string(p.Of) + "\x00" + p.Name }

// versions pages by number, since old versions are removed.
func (r *routes) versions(ctx context.Context, env string, g Paging) (*out[Page[Version]], error) {
	after := 0
	if g.Cursor != "" {
		var err error
		if after, err = strconv.Atoi(g.Cursor); err != nil {
			return nil, problemOf(fault.New(fault.Usage, "", "this is not a cursor of this list"))
		}
	}
	list, err := r.s.Versions(ctx, env)
	err = r.s.known(ctx, env, len(list), err)
	p := newPager[Version](g.Limit.Limit)
	for _, v := range list {
		if v.Version <= after {
			continue
		}
		if ok, _ := p.add(v); !ok {
			p.page.Next = strconv.Itoa(p.page.Items[len(p.page.Items)-1].Version)
			break
		}
	}
	return answer(p.page, err)
}

type resourcesIn struct {
	InEnvironment
	Limit
	Cursor string   `query:"cursor" minLength:"1" maxLength:"4096" doc:"value of next of the previous page: an id"`
	Filter []string `query:"filter,explode" maxItems:"20" nullable:"false" doc:"all terms must match, of several agent= any; other keys and an id at most once"`
}

// scanRows is how many rows one read returns, and maxScanned how many rows a page may read, however
// few of them match.
const (
	scanRows   = 1000
	maxScanned = 50_000
)

func (r *routes) resources(ctx context.Context, i *resourcesIn) (*out[Page[Resource]], error) {
	filter, err := state.ParseFilter(i.Filter)
	if err != nil {
		return nil, problemOf(err)
	}
	claimed, err := r.s.Engine.Claimed(ctx, i.Env)
	if err != nil {
		return nil, problemOf(err)
	}
	p := newPager[Resource](i.Limit.Limit)
	after := resource.ID(i.Cursor)
	for scanned := 0; ; scanned += scanRows {
		if scanned >= maxScanned {
			p.page.Next = string(after)
			return answer(p.page, nil)
		}
		rows, err := r.s.Engine.State.ScanRows(ctx, i.Env, after, scanRows)
		if err != nil {
			return nil, problemOf(fault.Wrap(fault.Unknown, "read resources", err))
		}
		for n := range rows {
			l := resourceOf(&rows[n], &claimed)
			if !filter.Match(&rows[n]) || filter.Status != "" && l.Status != filter.Status {
				after = l.ID
				continue
			}
			ok, err := p.add(l)
			if err != nil {
				return nil, problemOf(err)
			}
			if !ok {
				p.page.Next = string(after)
				return answer(p.page, nil)
			}
			after = l.ID
		}
		if len(rows) < scanRows {
			return answer(p.page, r.s.known(ctx, i.Env, scanned+len(rows)+len(i.Cursor), nil))
		}
	}
}

type actionsIn struct {
	InEnvironment
	Limit
	Cursor   string    `query:"cursor" minLength:"1" maxLength:"100" doc:"value of next of the previous page: only actions with a smaller id"`
	Resource string    `query:"resource" minLength:"1" maxLength:"4096" doc:"actions of the resource with this id"`
	Agent    string    `query:"agent" minLength:"1" maxLength:"255"`
	Version  int       `query:"version" minimum:"0" maximum:"2147483647" doc:"actions for this version; 0: for any"`
	Action   string    `query:"action" enum:"deploy,repair,dryrun"`
	Outcome  string    `query:"outcome" enum:"deployed,failed,skipped,blocked,undefined,available,deploying,orphaned,non_compliant,unavailable"`
	After    string    `query:"after" minLength:"1" maxLength:"100" doc:"only actions with a greater id: later actions"`
	Since    time.Time `query:"since"`
	Until    time.Time `query:"until"`
	Level    string    `query:"level" enum:"DEBUG,INFO,WARNING,ERROR,debug,info,warning,error" doc:"with a log line of at least this severity"`
	Text     string    `query:"text" minLength:"1" maxLength:"1000" doc:"with a log line that contains this text"`
	Notable  bool      `query:"notable" doc:"only actions that changed something or failed"`
}

func (r *routes) actions(ctx context.Context, i *actionsIn) (*out[Page[Action]], error) {
	q := ActionQuery{Resource: resource.ID(i.Resource), Agent: i.Agent, Version: i.Version,
		Action: state.ActionKind(i.Action), Outcome: state.Status(i.Outcome),
		After: i.After, Before: i.Cursor, Since: i.Since, Until: i.Until, Level: levelOf(i.Level),
		Text: i.Text, Notable: i.Notable, Limit: min(max(i.Limit.Limit, 1), maxPage)}
	found, next, err := r.s.actionsPage(ctx, i.Env, q)
	if err != nil {
		return nil, problemOf(err)
	}
	if i.Cursor == "" && i.After == "" { // such pages continue an earlier answer
		if err := r.s.known(ctx, i.Env, len(found), nil); err != nil {
			return nil, problemOf(err)
		}
	}
	p := newPager[Action](i.Limit.Limit)
	p.page.Next = next
	for n := range found {
		ok, err := p.add(found[n])
		if err != nil {
			return nil, problemOf(err)
		}
		if !ok {
			p.page.Next = found[n-1].ID
			break
		}
	}
	return answer(p.page, nil)
}

func (r *routes) single() {
	serve(r, http.MethodGet, "/v1/types/{name}", "type", "One resource type",
		func(ctx context.Context, i *struct {
			Name string `path:"name" minLength:"1" maxLength:"1000" pattern:"^[A-Za-z0-9_:]+$" patternDescription:"letters, digits, _ and ::"`
		}) (*out[Type], error) {
			t, ok := r.s.Engine.Types.Type(i.Name)
			if !ok {
				return nil, problemOf(UnknownType(i.Name, r.s.Engine.Types.Nearest(i.Name)))
			}
			return answer(typeOf(t), nil)
		})
	serve(r, http.MethodGet, "/v1/environments", "environments", "Names of environments",
		func(ctx context.Context, g *KeyPaging) (*out[Page[string]], error) {
			list, err := r.s.Environments(ctx)
			return pageBy(list, func(name *string) string { return *name }, *g, err)
		})
	serve(r, http.MethodGet, inEnv+"/progress", "progress", "How far it is",
		func(ctx context.Context, i *InEnvironment) (*out[Progress], error) {
			p, err := r.s.Progress(ctx, i.Env)
			return answer(p, r.s.known(ctx, i.Env, p.Last, err))
		})
	serve(r, http.MethodGet, inEnv+"/health", "health", "Problems, causes first",
		func(ctx context.Context, i *InEnvironment) (*out[Health], error) {
			t, err := r.s.Health(ctx, i.Env)
			err = r.s.known(ctx, i.Env, len(t.Groups), err)
			t.bound()
			return answer(t, err)
		})
	serve(r, http.MethodGet, inEnv+"/resources/{id}", "resource", "One resource",
		func(ctx context.Context, i *struct {
			InEnvironment
			ID string `path:"id" minLength:"1" maxLength:"4096"`
		}) (*out[Detail], error) {
			return answer(r.s.Resource(ctx, i.Env, resource.ID(i.ID)))
		})
}

// maxNamed is how many blocked resources an answer names.
const maxNamed = 20_000

// bound removes ids beyond the first maxNamed.
func (t *Health) bound() {
	room := maxNamed
	for i := range t.Single {
		p := &t.Single[i]
		p.Because = p.Because[:min(len(p.Because), room)]
		room -= len(p.Because)
	}
}

// UnknownType is the error for an unknown type; similar is a similar name, or "".
func UnknownType(name, similar string) error {
	e := fault.New(fault.NotFound, "", "unknown type %q", name).
		WithHint("`southbound types` lists them")
	if similar != "" {
		e = e.WithHint("did you mean %q?", similar)
	}
	return e
}

func levelOf(s string) provider.Level {
	for _, l := range []provider.Level{provider.LevelDebug, provider.LevelInfo,
		provider.LevelWarning, provider.LevelError} {
		if strings.EqualFold(string(l), s) {
			return l
		}
	}
	return ""
}
