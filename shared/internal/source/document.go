package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// result is a document file that has been read.
type result struct {
	*part
	size int64
	hash string // of its bytes
}

// part holds the content of a document file.
type part struct {
	report
	resources []resource.Resource
	places    []resourceAt // of resources
	members   []memberAt
	agents    []agentAt
	dropped   []resource.ID // likely ids of incomplete resources; "" if unknown
	spans     []span
	items     itemsOf // with Options.Note
	ends      []int   // with Options.Note: the number of resources up to the end of each item
}

// document reads a document file.
func (l *loader) document(ctx context.Context, d document) result {
	text, err := l.tree.readUntil(ctx, d)
	if err != nil {
		p := &part{report: report{file: d.name}, dropped: []resource.ID{""}}
		p.unreadable(err)
		return result{part: p}
	}
	sum := sha256.Sum256(text)
	return result{l.parse(ctx, d, text), int64(len(text)), hex.EncodeToString(sum[:])}
}

// parse parses the text of a document file. It stops at a syntax error; in JSON lines, it skips to
// the next line.
func (l *loader) parse(ctx context.Context, d document, text []byte) *part {
	t := l.taker(d)
	if text, ok := t.check(text); ok {
		switch {
		case d.format == formatLines:
			t.lines(ctx, text)
		case d.isJSON(text):
			t.jsonFile(ctx, text)
		default:
			t.yaml(ctx, t.directive(text))
		}
	} else {
		t.dropped = append(t.dropped, "")
	}
	if len(t.broken) > 0 {
		t.dropped = append(t.dropped, "")
	}
	if l.note && ctx.Err() == nil {
		t.items = t.noted()
	}
	t.blame()
	return t.part
}

func (r *report) unreadable(err error) {
	hint := "it must be a file that can be read, or have a name that starts with _"
	switch {
	case r.file == "-":
		hint = "standard input holds JSON, a document a line, up to 100 MiB"
	case errors.Is(err, errTooLarge):
		hint = "split it into several files of a directory"
	case errors.Is(err, errOutside):
		hint = "a link must be relative and stay in the directory"
	}
	r.add(place{1, 1}, hint, "the document cannot be read: %v", err)
}

// isJSON reports whether a YAML text is also JSON, which parses faster and in less memory. The
// values are the same, unless the text has other line breaks.
func isJSON(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, jsonBlanks), []byte("{")) &&
		!hasOtherBreaks(text) &&
		jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true))
}

// isJSON reports whether a document file is parsed as JSON.
func (d document) isJSON(text []byte) bool { return d.format == formatJSON || isJSON(text) }

// yaml reads the documents of a YAML stream.
func (t *taker) yaml(ctx context.Context, text []byte) {
	c := &converter{report: &t.report}
	found := false
	for root := range c.roots(text) {
		items := takeItems(root)
		n := c.convert(root, 0)
		if n.null() {
			continue
		}
		found = true
		t.document(&n, func(yield func(*node) bool) {
			for i := range items {
				item := c.convert(items[i], 2)
				items[i] = nil // frees the memory while other documents are read
				if ctx.Err() != nil || !yield(&item) {
					return
				}
			}
		})
	}
	if !found && t.clean() {
		t.add(place{1, 1},
			"a document starts with `southbound: 1`; a name that starts with _ leaves a file out",
			"there is no document in the file")
	}
}

// jsonFile reads a document in JSON.
func (t *taker) jsonFile(ctx context.Context, text []byte) {
	if len(bytes.Trim(text, jsonBlanks)) == 0 {
		t.add(place{1, 1}, `a document starts with {"southbound": 1`,
			"there is no document in the file")
		return
	}
	t.json(ctx, t.newJSON(text, place{1, 1}))
}

// lines reads JSON lines; each line is a document.
func (t *taker) lines(ctx context.Context, text []byte) {
	at, found := place{1, 1}, false
	for line := range bytes.Lines(text) {
		if ctx.Err() != nil {
			return
		}
		if len(bytes.Trim(line, jsonBlanks)) > 0 {
			found = true
			j := t.newJSON(bytes.TrimRight(line, "\r\n"), at)
			j.single = true
			t.json(ctx, j)
		}
		at.line++
	}
	if !found {
		t.add(place{1, 1}, `each line is a document: {"southbound": 1, "resources": [...]}`,
			"there is no document on standard input")
	}
}

// json reads a document. It first checks the syntax of the whole document.
func (t *taker) json(ctx context.Context, j *jsonReader) {
	n, items, err := j.document()
	if err != nil {
		return
	}
	t.document(&n, func(yield func(*node) bool) {
		if items == nil {
			return
		}
		for n := range items.items {
			if ctx.Err() != nil || !yield(n) {
				return
			}
		}
	})
}

// document reads a document. items are the items of its list of resources that are not in n.
func (t *taker) document(n *node, items iter.Seq[*node]) {
	t.defaults = t.loader.defaults
	if !t.header(n) {
		t.dropped = append(t.dropped, "")
		return
	}
	t.all(n.get(keyResources), items)
	if t.loader.note {
		t.noteRest(n)
	}
}

// taker converts the nodes of a document to agents and resources.
//
// Large: it has a method for each part of a document, which share the defaults, the places and the
// problems.
type taker struct {
	*part
	loader   *loader
	doc      document
	defaults defaults
	texts    map[string]string // one copy of each text that resources share
	relative bool              // the current item has an id that omits its agent
	uses     []string          // the files that the current item refers to
	room     []byte            // buffer for the values of digests
}

func (l *loader) taker(d document) *taker {
	return &taker{part: &part{report: report{file: d.name}}, loader: l, doc: d,
		defaults: l.defaults, texts: map[string]string{}}
}

// defaults are the values of members that resources of a document omit.
type defaults struct {
	agents   []string // one resource is created for each
	set      string
	flags    resource.Flags
	managed  bool
	badAgent bool // the default for the agent is wrong
}

var documentDefaults = defaults{managed: true, flags: resource.Flags{ReceiveEvents: true}}

const (
	keySouthbound = "southbound"
	keyDefaults   = "defaults"
	keyAgents     = "agents"
	keyResources  = "resources"
)

// header reads the members of a document except its resources. It returns false if the document is
// not in this format.
func (t *taker) header(n *node) bool {
	t.spans = append(t.spans, span{at: n.at})
	if n.kind != object {
		if n.bad {
			return false
		}
		hint := "it starts with `southbound: 1`"
		if n.kind == list {
			hint = "put the list under `resources:`, below `southbound: 1`"
		}
		t.add(n.at, hint, "a document is a map")
		return false
	}
	var format *node
	for i := range n.items {
		m := &n.items[i]
		t.spans = append(t.spans, span{at: m.keyAt})
		switch m.key {
		case keySouthbound:
			format = m
		case keyDefaults:
			t.readDefaults(m)
		case keyAgents:
			t.readAgents(m)
		case keyResources:
		default:
			t.unknown(m, []string{keySouthbound, keyDefaults, keyAgents, keyResources})
		}
	}
	switch {
	case format == nil:
		if !n.bad {
			t.add(n.at, "add `southbound: 1`", "the document has no format")
		}
	case format.bad:
		return false
	case format.value != int64(1):
		t.add(format.at, "this program reads format 1: `southbound: 1`",
			"the format %s is not known", shown(format))
		return false
	}
	return true
}

// shown returns a value for messages.
func shown(n *node) string {
	switch {
	case n.kind == list:
		return "[...]"
	case n.kind == object:
		return "{...}"
	}
	if f, ok := n.value.(float64); ok && f == math.Trunc(f) {
		return fmt.Sprintf("%.1f", f)
	}
	b, err := json.Marshal(n.value)
	if err != nil {
		return "that stands here"
	}
	return short(string(b))
}

// unknown reports a member that the format does not have.
func (r *report) unknown(m *node, known []string) {
	hint := "there are " + strings.Join(known, ", ")
	if near := schema.Nearest(m.key, known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	if m.key == schema.CreateBeforeDestroy {
		hint = "write it below `attributes`, if the type has this attribute"
	}
	r.add(m.keyAt, hint, "unknown member %q", short(m.key))
}

func (t *taker) readDefaults(n *node) {
	if n.null() {
		return
	}
	if n.kind != object {
		t.add(n.at, "write it such as {agent: web1}", "defaults is a map")
		return
	}
	for i := range n.items {
		if m := &n.items[i]; !t.common(m, &t.defaults) {
			t.unknown(m, commonKeys)
		}
	}
	said := n.get("agent") != nil || n.get("agents") != nil
	t.defaults.badAgent = len(t.defaults.agents) == 0 && (n.bad || said)
	t.oneOf(n)
}

var commonKeys = []string{"agent", "agents", "set", "purged", "purge_on_delete", "prevent_destroy",
	"report_only", "send_event", "receive_events",
	"managed"}

// common reads a member that both resources and defaults can have. It returns false for any other
// member.
func (t *taker) common(m *node, d *defaults) bool {
	switch m.key {
	case "agent":
		d.agents = nil
		if name := t.agentName(m); name != "" {
			d.agents = []string{name}
		}
	case "agents":
		d.agents = t.agentNames(m)
	case "set":
		d.set = t.text(m)
	case "purged":
		t.flag(m, &d.flags.Purged)
	case "purge_on_delete":
		t.flag(m, &d.flags.PurgeOnDelete)
	case "prevent_destroy":
		t.flag(m, &d.flags.PreventDestroy)
	case "report_only":
		t.flag(m, &d.flags.ReportOnly)
	case "send_event":
		t.flag(m, &d.flags.SendEvent)
	case "receive_events":
		t.flag(m, &d.flags.ReceiveEvents)
	case "managed":
		t.flag(m, &d.managed)
	default:
		return false
	}
	return true
}

// text reads a member that must be text. Equal texts share one copy.
func (t *taker) text(m *node) string {
	s, ok := m.value.(string)
	switch {
	case m.bad:
		return ""
	case m.null() || ok && s == "":
		t.add(m.at, "write it, or leave it out", "%s is empty", m.key)
		return ""
	case t.names(m, m.key):
		return ""
	case !ok:
		hint := "put it in quotes"
		if m.kind != scalar {
			hint = "write one text, in quotes where it holds brackets"
		}
		t.add(m.at, hint, "%s is text", m.key)
		return ""
	}
	if known, ok := t.texts[s]; ok {
		return known
	}
	t.texts[s] = s
	return s
}

func (t *taker) flag(m *node, to *bool) {
	if b, ok := m.value.(bool); ok {
		*to = b
		return
	}
	if m.bad {
		return
	}
	t.add(m.at, "write true or false; yes, no, on and off are text in YAML 1.2",
		"%s is true or false", m.key)
}

// all reads the list of resources of a document. It rejects a null list, which does not clearly
// mean an empty one.
func (t *taker) all(n *node, items iter.Seq[*node]) {
	switch {
	case n == nil:
	case n.kind == list:
		t.resources(pointers(n.items))
		t.resources(items)
		return
	case n.bad:
	case n.null():
		t.add(n.at, "write `resources: []` if none is meant, or leave it out",
			"resources has nothing under it")
	default:
		t.add(n.at, "start each resource with `- type:`", "resources is a list")
	}
	if n != nil {
		t.dropped = append(t.dropped, "")
	}
}

// pointers returns pointers to the nodes of a list.
func pointers(nodes []node) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for i := range nodes {
			if !yield(&nodes[i]) {
				return
			}
		}
	}
}

func (t *taker) resources(items iter.Seq[*node]) {
	for n := range items {
		var value digest
		if t.loader.note {
			t.room = n.append(t.room[:0])
			value = digestOf(t.room)
		}
		made := len(t.part.resources)
		t.uses = t.uses[:0]
		t.resource(n)
		if t.loader.note {
			t.noteItem(value, made)
		}
	}
}

// agentAt is an agent and the place of its description.
type agentAt struct {
	resource.Agent
	at diag.Pos
}
