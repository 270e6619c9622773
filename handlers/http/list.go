package http

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/provider"
)

// maxPages is how many pages of a list are read.
const maxPages = 1000

// list reads all pages of a list. It also returns their size in bytes.
func (a *caller) list(path string) ([]any, int, error) {
	var out []any
	var before []byte
	size := 0
	pages := &pages{a: a, first: path, seen: map[string]bool{path: true}}
	for n := 0; path != ""; n++ {
		if n == maxPages {
			return nil, 0, provider.Errorf(provider.NeedsChange,
				"the list at %s has more than %d pages; ask for fewer objects in find's path", path,
				maxPages)
		}
		r, err := a.call(http.MethodGet, path, nil, "", "")
		switch {
		case err != nil:
			return nil, 0, err
		case r.missing() && (n == 0 || pages.counted()):
			return out, size, nil
		case !r.ok():
			return nil, 0, a.refused(http.MethodGet, r)
		}
		size += len(r.Body)
		v, err := r.json()
		if err != nil {
			return nil, 0, err
		}
		in, _ := at(v, a.pointer("items"))
		items, ok := in.([]any)
		if !ok && in != nil {
			return nil, 0, provider.Errorf(provider.NeedsChange,
				"the answer of %s has no list at %q; see items of find", path, a.pointer("items"))
		}
		if n > 0 && len(items) > 0 && bytes.Equal(r.Body, before) {
			return nil, 0, provider.Errorf(provider.NeedsChange,
				"the list at %s answers the same page twice; see page, offset and cursor of find",
				path)
		}
		out, before = append(out, items...), r.Body
		if path, err = pages.next(r, v, path, len(items)); err != nil {
			return nil, 0, err
		}
	}
	return out, size, nil
}

// pages iterates over pages.
type pages struct {
	a     *caller
	first string
	items int // so far
	seen  map[string]bool
}

// counted reports whether this handler counts the pages, so that only an empty page marks the end.
func (p *pages) counted() bool { return p.a.pointer("page") != "" || p.a.pointer("offset") != "" }

// next returns the path of the page after this one, "" if it is the last.
func (p *pages) next(r *answer, v any, path string, items int) (string, error) {
	p.items += items
	a, next := p.a, ""
	switch {
	case p.counted() && items == 0:
	case a.pointer("page") != "":
		number := 1
		if n, err := strconv.Atoi(query(path).Get(a.pointer("page"))); err == nil {
			number = n
		}
		next = with(path, a.pointer("page"), strconv.Itoa(number+1))
	case a.pointer("offset") != "":
		from, _ := strconv.Atoi(query(p.first).Get(a.pointer("offset")))
		next = with(path, a.pointer("offset"), strconv.Itoa(from+p.items))
	case a.pointer("cursor") != "":
		in, _ := at(v, a.pointer("next"))
		if mark, ok := scalarText(in); ok && mark != "false" {
			next = with(path, a.pointer("cursor"), mark)
		}
	default:
		var err error
		if next, err = a.linked(r, v, path); err != nil {
			return "", err
		}
	}
	if next != "" && p.seen[next] {
		return "", provider.Errorf(provider.NeedsChange,
			"the list at %s goes in a circle, back to %s", p.first, a.redact(clean(next, 200)))
	}
	p.seen[next] = true
	return next, nil
}

func query(path string) url.Values {
	_, text, _ := strings.Cut(path, "?")
	v, err := url.ParseQuery(text)
	if err != nil {
		return url.Values{}
	}
	return v
}

// with returns a path with a parameter of its query set.
func with(path, name, value string) string {
	before, _, _ := strings.Cut(path, "?")
	v := query(path)
	v.Set(name, value)
	return before + "?" + v.Encode()
}

// linked returns the path of the next page that an answer itself contains.
func (a *caller) linked(r *answer, v any, path string) (string, error) {
	link := ""
	if p := a.pointer("next"); p != "" {
		in, _ := at(v, p)
		link, _ = scalarText(in)
	} else {
		link = nextLink(r.Header.Values("Link"))
	}
	if link == "" {
		return "", nil
	}
	before, query, _ := strings.Cut(link, "?")
	if before == "" {
		before, _, _ = strings.Cut(path, "?")
		return before + "?" + query, nil
	}
	below, ok := a.conn.Below(before, path)
	if !ok {
		return "", provider.Errorf(provider.NeedsChange,
			"the list at %s goes on at another place than the API: %s", path,
			a.redact(clean(before, 200)))
	}
	if query != "" {
		below += "?" + query
	}
	return below, nil
}

// nextLink returns the target of rel=next (RFC 8288).
func nextLink(headers []string) string {
	for link := range strings.SplitSeq(strings.Join(headers, ","), "<") {
		target, params, ok := strings.Cut(link, ">")
		if !ok {
			continue
		}
		for p := range strings.SplitSeq(strings.TrimRight(params, ", "), ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
			for rel := range strings.FieldsSeq(strings.Trim(strings.TrimSpace(value), `"`)) {
				if strings.EqualFold(strings.TrimSpace(name), "rel") &&
					strings.EqualFold(rel, "next") {
					return target
				}
			}
		}
	}
	return ""
}

// List implements provider.Lister: the objects of the list that the request describes, with its
// attributes. The request's name is a pointer to the name in an object.
func (o object) List(ctx *provider.Context, found func(provider.Found) error) error {
	like := ctx.Desired()
	named, _ := like.Attributes["name"].(string)
	_, listed := member(like.Attributes, "find", "path").(string)
	if collection, _ := like.Attributes["collection"].(string); collection == "" && !listed ||
		!strings.HasPrefix(named, "/") {
		return provider.Errorf(provider.NeedsChange,
			"name the list, and where its objects have their names: collection=/users "+
				"path=/users/{name} name=/login, as in documents")
	}
	attrs := map[string]any{"id_at": "/id", "object_at": ""}
	for name, v := range like.Attributes {
		attrs[name] = v
	}
	like.Attributes = attrs
	a, err := newAPI(ctx, like)
	if err != nil {
		return err
	}
	path, _ := member(attrs, "find", "path").(string)
	if path == "" {
		path = a.text("collection")
	}
	if path, err = a.scope.path(path); err != nil {
		return err
	}
	items, _, err := a.list(path)
	if err != nil {
		return err
	}
	for _, item := range items {
		attrs, err := a.describe(item, named)
		if err != nil {
			return err
		}
		if attrs == nil {
			continue
		}
		if err := found(provider.Found{Attributes: attrs}); err != nil {
			return err
		}
	}
	return nil
}

// describe returns the attributes of a resource for an object of a list, nil for an object that was
// removed. Lists often show less of an object than its own path.
func (a *reader) describe(item any, named string) (map[string]any, error) {
	if named == "/" { // for items that consist only of their names
		named = ""
	}
	v, _ := at(item, named)
	name, ok := scalarText(v)
	if !ok {
		return map[string]any{}, nil // the engine reports the missing name
	}
	one := *a
	attrs := make(map[string]any, len(a.want.Attributes))
	for k, v := range a.want.Attributes {
		attrs[k] = v
	}
	attrs["name"] = name
	one.want.Attributes = attrs
	one.scope = newScope(one.want)
	t := one.thing(item)
	if gone, err := one.isLike("gone", t); err != nil || gone {
		return nil, err
	}
	switch match := matchAt(named, v); {
	case !remembers(attrs):
	case match != nil: // so that the object can be created again after it was removed
		attrs["find"] = map[string]any{"match": match}
	default: // otherwise it could not be identified again
		attrs["path"] = strings.ReplaceAll(a.text("path"), "{id}", url.PathEscape(t.id))
		delete(attrs, "collection")
	}
	full, err := one.get(t.id)
	if err != nil {
		return nil, err
	}
	if full == nil {
		return nil, nil
	}
	want, shaped := a.want.Attributes["body"].(map[string]any)
	have, ok := full.value.(map[string]any)
	if !ok {
		return nil, provider.Errorf(provider.NeedsChange,
			"the answer of the API has no object at %q; see object_at", a.text("object_at"))
	}
	if !shaped {
		want = have
		delete(want, strings.TrimPrefix(a.text("id_at"), "/"))
	}
	attrs["body"] = one.shape(want, have, shaped)
	return attrs, nil
}

// matchAt returns the `find` condition that identifies objects by the text at a pointer. It returns
// nil if none exists, since v is not text or the pointer leads through a list.
func matchAt(pointer string, v any) any {
	if _, ok := v.(string); !ok || pointer == "" {
		return nil
	}
	var out any = "$name"
	parts := strings.Split(pointer, "/")[1:]
	for _, part := range slices.Backward(parts) {
		if _, err := strconv.Atoi(part); err == nil || part == "" {
			return nil
		}
		out = map[string]any{strings.NewReplacer("~1", "/", "~0", "~").Replace(part): out}
	}
	return out
}

// shape returns the members of an object that a template names, in a form in which a document means
// them literally.
func (a *reader) shape(template, have any, shaped bool) any {
	if text, ok := template.(string); ok && shaped && len(bodyNames(text)) > 0 {
		if v, err := a.scope.body(text); err == nil && covers(v, have) {
			return text
		}
	}
	switch have := have.(type) {
	case map[string]any:
		names, only := template.(map[string]any)
		out := make(map[string]any, len(have))
		for k, v := range have {
			if t, in := names[k]; in || !shaped || !only {
				out[k] = a.shape(t, v, shaped && only)
			}
		}
		return out
	case []any:
		out := make([]any, len(have))
		for i, v := range have {
			out[i] = a.shape(nil, v, false)
		}
		return out
	case string:
		return literal(a.redact(have))
	}
	return have
}

// literal escapes a text so that a document means it literally, without references to names.
func literal(text string) string {
	if whole().MatchString(text) || inText().MatchString(text) {
		return strings.ReplaceAll(text, "$", "$$")
	}
	return text
}
