package source

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/deploy"
	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// resourcePlace is where a resource and its parts stand.
type resourcePlace struct {
	file  int32
	at    place
	parts []partPlace
}

type partPlace struct {
	name string
	at   place
}

// where implements deploy.Model.Where.
func (l *loader) where(i int, attribute string) diag.Pos {
	if i >= len(l.places) {
		return diag.Pos{}
	}
	p := l.places[i]
	at := p.at
	for _, part := range p.parts {
		if part.name == attribute {
			at = part.at
		}
	}
	return diag.Pos{File: l.names[p.file], Line: int(at.line), Column: int(at.column)}
}

type agentAt struct {
	agent resource.Agent
	pos   diag.Pos
}

// taker takes one document.
type taker struct {
	*loader
	d        doc
	defaults map[string]*node
}

func (t *taker) bad(n *node, hint, format string, args ...any) {
	t.problem(t.d.name, n.at, hint, format, args...)
}

var (
	topKeys      = []string{"southbound", "defaults", "agents", "resources"}
	defaultKeys  = []string{"agent", "set", "purged", "purge_on_delete", "report_only", "send_event", "receive_events", "managed"}
	resourceKeys = append([]string{"type", "attributes", "requires"}, defaultKeys...)
)

// take adds what a document holds to the model.
func (l *loader) take(d doc, n *node) {
	t := &taker{loader: l, d: d, defaults: map[string]*node{}}
	if n.kind != object {
		t.bad(n, "it starts with `southbound: 1`", "a document is a map")
		return
	}
	t.known(n, topKeys)
	switch f := n.get("southbound"); {
	case f == nil:
		t.bad(n, "add `southbound: 1`", "the document does not say its format")
	case f.scalar != int64(1):
		t.bad(f, "this program reads format 1", "unknown format")
	}
	if defs := t.object(n, "defaults"); defs != nil {
		t.known(defs, defaultKeys)
		for i, k := range defs.keys {
			t.defaults[k] = defs.items[i]
		}
	}
	if agents := t.object(n, "agents"); agents != nil {
		for i, name := range agents.keys {
			t.agent(name, agents.keyAt[i], agents.items[i])
		}
	}
	res := n.get("resources")
	if res == nil || res.kind == leaf && res.scalar == nil {
		return
	}
	if res.kind != list {
		t.bad(res, "start each resource with `- type:`", "resources is a list")
		return
	}
	for _, r := range res.items {
		t.resource(r)
	}
}

// object returns a member that must be a map; nil when it is absent or empty.
func (t *taker) object(n *node, key string) *node {
	m := n.get(key)
	if m == nil || m.kind == leaf && m.scalar == nil {
		return nil
	}
	if m.kind != object {
		t.bad(m, "", "%s is a map", key)
		return nil
	}
	return m
}

// known refuses members that mean nothing.
func (t *taker) known(n *node, keys []string) {
	for i, k := range n.keys {
		if slices.Contains(keys, k) {
			continue
		}
		hint := "known are " + strings.Join(keys, ", ")
		if near := schema.Nearest(k, keys); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		t.problem(t.d.name, n.keyAt[i], hint, "unknown member %q", k)
	}
}

func (t *taker) agent(name string, at place, n *node) {
	pos := diag.Pos{File: t.d.name, Line: int(at.line), Column: int(at.column)}
	a := resource.Agent{Name: name, Transport: "local", Lanes: 1, Options: map[string]any{}}
	if !resource.ValidAgent(name) {
		t.problem(t.d.name, at, "", "%q cannot name an agent: it must be printable and at most 255 bytes", name)
	}
	if n.kind != object {
		t.bad(n, "such as {transport: local}", "an agent is a map")
		return
	}
	for i, k := range n.keys {
		v := n.items[i]
		switch k {
		case "transport":
			s, ok := v.scalar.(string)
			if !ok || s == "" {
				t.bad(v, "local, ssh, http or aws", "the transport is text")
			}
			a.Transport = s
		case "lanes":
			lanes, ok := v.scalar.(int64)
			if !ok || lanes < 1 || lanes > 1024 {
				t.bad(v, "", "lanes is a whole number between 1 and 1024")
			}
			a.Lanes = int(lanes)
		default:
			a.Options[k] = t.value(v)
		}
	}
	if first, twice := t.agents[name]; twice {
		if first.agent.Transport != a.Transport || first.agent.Lanes != a.Lanes || !resource.Equal(first.agent.Options, a.Options) {
			t.problems.Add(diag.Problem{Pos: pos, Message: fmt.Sprintf("agent %q is described differently at %s", name, first.pos),
				Hint: "describe it once", Related: []diag.Pos{first.pos}})
		}
		return
	}
	t.agents[name] = agentAt{a, pos}
}

// finish completes the model.
func (l *loader) finish() {
	for _, name := range slices.Sorted(mapKeys(l.agents)) {
		l.model.Agents = append(l.model.Agents, l.agents[name].agent)
	}
}

// text returns a member that must be text, or what the defaults say.
func (t *taker) text(n *node, key string) string {
	m := n.get(key)
	if m == nil {
		m = t.defaults[key]
	}
	if m == nil {
		return ""
	}
	s, ok := m.scalar.(string)
	if !ok || s == "" {
		t.bad(m, "put it in quotes when it looks like a number", "%s is text", key)
	}
	return s
}

func (t *taker) flag(n *node, key string, usual bool) bool {
	m := n.get(key)
	if m == nil {
		m = t.defaults[key]
	}
	if m == nil {
		return usual
	}
	b, ok := m.scalar.(bool)
	if !ok {
		t.bad(m, "write true or false", "%s is true or false", key)
	}
	return b
}

func (t *taker) resource(n *node) {
	if n.kind != object {
		t.bad(n, "", "a resource is a map")
		return
	}
	t.known(n, resourceKeys)
	r := resource.Resource{Type: t.text(n, "type"), Agent: t.text(n, "agent"), Set: t.text(n, "set")}
	r.Flags = resource.Flags{Purged: t.flag(n, "purged", false), PurgeOnDelete: t.flag(n, "purge_on_delete", false),
		ReportOnly: t.flag(n, "report_only", false), SendEvent: t.flag(n, "send_event", false), ReceiveEvents: t.flag(n, "receive_events", true)}
	managed := t.flag(n, "managed", true)
	where := resourcePlace{file: int32(len(t.names) - 1), at: n.at} //nolint:gosec // bounded
	for i, k := range n.keys {
		if k == "type" || k == "requires" || k == "set" || k == "agent" {
			where.parts = append(where.parts, partPlace{k, n.items[i].at})
		}
	}
	if n.get("type") == nil {
		t.bad(n, "add type: fs::File, for example; `southbound types` lists them", "the resource has no type")
	}
	if r.Agent == "" && n.get("agent") == nil {
		t.bad(n, "add agent: NAME, or defaults: {agent: NAME} to the document", "the resource has no agent")
	}
	attrs := n.get("attributes")
	switch {
	case attrs == nil:
		t.bad(n, "add attributes", "the resource has no attributes")
		return
	case attrs.kind != object:
		t.bad(attrs, "", "attributes is a map")
		return
	}
	r.Attributes = make(map[string]any, len(attrs.keys)+2)
	for i, k := range attrs.keys {
		r.Attributes[k] = t.value(attrs.items[i])
		where.parts = append(where.parts, partPlace{k, attrs.items[i].at})
	}
	r.Requires = t.requires(n.get("requires"))
	if !managed || r.Type == "" || r.Agent == "" {
		return
	}
	if t.identify(&r, n, attrs) {
		t.model.Resources = append(t.model.Resources, r)
		t.places = append(t.places, where)
	}
}

// identify gives a resource its id.
func (t *taker) identify(r *resource.Resource, n, attrs *node) bool {
	typ, ok := t.types.Type(r.Type)
	if !ok {
		hint := "`southbound types` lists them"
		if near := t.types.Nearest(r.Type); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		t.bad(n.get("type"), hint, "unknown type %q", r.Type)
		return false
	}
	if !resource.ValidAgent(r.Agent) {
		t.bad(n, "", "%q cannot name an agent: it must be printable and at most 255 bytes", r.Agent)
		return false
	}
	keys := make([]resource.Key, 0, 2)
	for _, name := range typ.Namevars() {
		v, given := r.Attributes[name]
		if !given {
			if a, _ := typ.Attribute(name); a.Default != nil {
				v = a.Default
			}
		}
		text, ok := resource.KeyText(v)
		if !ok {
			at := attrs
			if m := attrs.get(name); m != nil {
				at = m
			}
			t.problems.Add(diag.Problem{Pos: diag.Pos{File: t.d.name, Line: int(at.at.line), Column: int(at.at.column)}, Attribute: name,
				Message: fmt.Sprintf("%s names the resource: it needs a literal value that is not empty", name), Hint: "add it to the attributes"})
			return false
		}
		keys = append(keys, resource.Key{Name: name, Value: text})
	}
	r.ID = resource.NewID(r.Type, r.Agent, keys...)
	return true
}

func (t *taker) requires(n *node) []resource.ID {
	if n == nil || n.kind == leaf && n.scalar == nil {
		return nil
	}
	if n.kind != list {
		t.bad(n, `such as ["fs::Directory[web1,path=/srv]"]`, "requires is a list of ids")
		return nil
	}
	var out []resource.ID
	for _, e := range n.items {
		s, _ := e.scalar.(string)
		if _, err := resource.ParseID(s); err != nil {
			t.bad(e, "such as fs::Directory[web1,path=/srv]", "%q is no id: %v", s, err)
			continue
		}
		out = append(out, resource.ID(s))
	}
	return out
}

// value reads a value, and the forms that stand for others.
func (t *taker) value(n *node) any {
	switch n.kind {
	case list:
		out := make([]any, len(n.items))
		for i, e := range n.items {
			out[i] = t.value(e)
		}
		return out
	case object:
		if form := t.form(n); form != nil {
			return form()
		}
		out := make(map[string]any, len(n.keys))
		for i, k := range n.keys {
			out[k] = t.value(n.items[i])
		}
		return out
	}
	return n.scalar
}

// form returns the reader of a form, by exactly its members; nil for a literal map.
func (t *taker) form(n *node) func() any {
	text := func(key string) string {
		s, _ := n.get(key).scalar.(string)
		if s == "" {
			t.bad(n.get(key), "", "%s needs text", key)
		}
		return s
	}
	switch keys := strings.Join(slices.Sorted(slices.Values(n.keys)), " "); keys {
	case "file":
		return func() any { return t.file(n.get("file"), text("file")) }
	case "secret", "secret version":
		return func() any {
			s := resource.Secret{Source: text("secret")}
			if keys != "secret" {
				s.Version = text("version")
			}
			if scheme, name, ok := strings.Cut(s.Source, ":"); s.Source != "" && (!ok || name == "" || !slices.Contains([]string{"env", "file", "ssm", "secretsmanager"}, scheme)) {
				t.bad(n.get("secret"), "write env:NAME, file:PATH, ssm:/name or secretsmanager:id", "unknown source of a secret")
			}
			return s
		}
	case "parameter":
		return func() any { return resource.Parameter{Name: text("parameter")} }
	case "fact of":
		return func() any {
			of := text("of")
			if _, err := resource.ParseID(of); of != "" && err != nil {
				t.bad(n.get("of"), "such as sys::Facts[web1,name=web1]", "of is no id: %v", err)
			}
			return resource.Fact{Name: text("fact"), Of: resource.ID(of)}
		}
	case "value":
		return func() any { return t.literal(n.get("value")) }
	}
	return nil
}

// literal reads a value in which nothing is a form.
func (t *taker) literal(n *node) any {
	switch n.kind {
	case list:
		out := make([]any, len(n.items))
		for i, e := range n.items {
			out[i] = t.literal(e)
		}
		return out
	case object:
		out := make(map[string]any, len(n.keys))
		for i, k := range n.keys {
			out[k] = t.literal(n.items[i])
		}
		return out
	}
	return n.scalar
}

// fileSum is a file that was hashed.
type fileSum struct {
	hash string
	size int64
}

// file hashes a file beside the document.
func (t *taker) file(n *node, name string) any {
	if name == "" {
		return nil
	}
	dir := "."
	if t.d.path != "" {
		dir = filepath.Dir(t.d.path)
	}
	path := filepath.Join(dir, name)
	if filepath.IsAbs(name) || !t.inside(path) {
		t.bad(n, "keep files inside the directory that is exported", "%s is outside of %s", name, t.root)
		return nil
	}
	sum, seen := t.files[path]
	if !seen {
		var err error
		if sum, err = t.hashFile(path); err != nil {
			t.bad(n, "the path is relative to the document", "the file %s cannot be read: %v", name, err)
			return nil
		}
		t.files[path] = sum
		t.model.Files[sum.hash] = deploy.Blob{Hash: sum.hash, Size: sum.size, Open: func() (io.ReadCloser, error) { return os.Open(path) }}
	}
	return resource.File{Hash: sum.hash, Size: sum.size}
}

// inside reports whether a path stays within the root, links followed.
func (l *loader) inside(path string) bool {
	root, err := filepath.EvalSymlinks(l.root)
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = filepath.Clean(path) // it is missing: that is said elsewhere
		root = filepath.Clean(l.root)
	}
	root, _ = filepath.Abs(root)
	real, _ = filepath.Abs(real)
	rel, err := filepath.Rel(root, real)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

func (l *loader) hashFile(path string) (fileSum, error) {
	f, err := os.Open(path)
	if err != nil {
		return fileSum{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fileSum{}, err
	}
	if !info.Mode().IsRegular() {
		return fileSum{}, fmt.Errorf("it is not a regular file")
	}
	h := sha256.New()
	n, err := io.Copy(h, f)
	return fileSum{hex.EncodeToString(h.Sum(nil)), n}, err
}
