package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// result is what a document file holds.
type result struct {
	parts []*part
	size  int64
	hash  string // of its bytes
	items itemsOf
}

// part is what was read at once: a document, or a piece of one.
type part struct {
	report
	resources []resource.Resource
	places    []resourceAt // of resources
	members   []memberAt
	agents    []agentAt
	dropped   []resource.ID // likely ids of incomplete resources; "" where that cannot be told
	spans     []span
	noted     []noted // of items, if that is wanted
}

// document reads a file.
func (l *loader) document(ctx context.Context, d document) result {
	p := &part{report: report{file: d.name}}
	out := result{parts: []*part{p}}
	text, err := l.tree.readUntil(ctx, d)
	if err != nil {
		p.dropped = append(p.dropped, "")
		p.unreadable(err)
		return out
	}
	sum := sha256.Sum256(text)
	out.size, out.hash = int64(len(text)), hex.EncodeToString(sum[:])
	text, ok := p.check(text)
	if !ok {
		p.dropped = append(p.dropped, "")
		return out
	}
	b := newBudget(len(text))
	switch {
	case d.format == formatLines:
		out.parts = append(out.parts, l.lines(ctx, d, text, b)...)
	case d.isJSON(text):
		out.parts = append(out.parts, l.json(ctx, d, text, b)...)
	default:
		out.parts = append(out.parts, l.yaml(ctx, d, p.directive(text), b)...)
	}
	if l.note && d.format != formatLines && ctx.Err() == nil {
		out.items = l.itemsIn(d, out.parts, text)
	}
	if ctx.Err() != nil { // some parts were left out
		return out
	}
	if b.over.Load() {
		p.dropped = append(p.dropped, "")
		b.tooMuch(&p.report)
		out.parts = []*part{p}
	}
	for _, p := range out.parts {
		p.blame()
	}
	return out
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

// isJSON reports whether a text in YAML is JSON, which is read faster and in less memory. YAML
// takes it for the same, unless there are other line breaks in it.
func isJSON(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, jsonBlanks), []byte("{")) &&
		!hasOtherBreaks(text) &&
		jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true))
}

func (l *loader) yaml(ctx context.Context, d document, text []byte, b *budget) []*part {
	t := l.taker(d, b)
	o, cut := t.outlineYAML(text, l.pieceSize)
	if cut {
		items := func(t *part, p piece) ([]node, bool) { return o.itemsYAML(&t.report, p) }
		if parts, ok := l.pieces(ctx, d, o, b, items); ok {
			return parts
		}
		o.before(b)
		if parts, ok := l.pieces(ctx, d, o, b, items); ok {
			return parts
		}
	}
	if b.over.Load() {
		return nil
	}
	b.again()
	if cut && b.refuses(&report{}, place{}, text) {
		if p, ok := l.salvagePieces(d, o, b); ok {
			return []*part{p}
		}
		b.again()
	}
	docs, ok := t.parseYAML(text)
	if len(docs) == 0 && ok {
		t.add(place{1, 1},
			"a document starts with `southbound: 1`; a name that starts with _ leaves a file out",
			"there is no document in the file")
	}
	if len(t.broken) > 0 {
		if !t.full {
			if p, ok := l.salvage(d, text, b); ok {
				return []*part{p}
			}
		}
		t.dropped = append(t.dropped, "")
	}
	for i := range docs {
		t.document(&docs[i])
	}
	return []*part{t.part}
}

// document reads what a document says.
func (t *taker) document(n *node) {
	t.defaults = t.loader.defaults
	if t.header(n) {
		t.all(n)
	} else {
		t.dropped = append(t.dropped, "")
	}
}

func (l *loader) json(ctx context.Context, d document, text []byte, b *budget) []*part {
	t := l.taker(d, b)
	if len(bytes.Trim(text, jsonBlanks)) == 0 {
		t.add(place{1, 1}, `a document starts with {"southbound": 1`,
			"there is no document in the file")
		return []*part{t.part}
	}
	o, ok := t.outlineJSON(text, place{1, 1}, l.pieceSize)
	if !ok {
		t.dropped = append(t.dropped, "")
	}
	if o.pieces == nil {
		t.document(&o.root)
		return []*part{t.part}
	}
	parts, _ := l.pieces(ctx, d, o, b, func(t *part, p piece) ([]node, bool) {
		return t.itemsJSON(p)
	})
	return append(parts, t.part)
}

// lines reads JSON lines, each of which is a document.
func (l *loader) lines(ctx context.Context, d document, text []byte, b *budget) []*part {
	var starts []piece
	from, at := 0, place{1, 1}
	for i, line := 0, int32(1); i < len(text); line++ {
		n := bytes.IndexByte(text[i:], '\n') + 1
		if n == 0 {
			n = len(text) - i
		}
		i += n
		if i-from >= l.pieceSize || i == len(text) {
			starts = append(starts, piece{text[from:i], at})
			from, at = i, place{line + 1, 1}
		}
	}
	parts := make([]*part, len(starts))
	var found atomic.Bool
	costs := costsOf(starts)
	b.reserve(slices.Max(append(costs, 0)))
	parallel(len(starts), func(i int) {
		if ctx.Err() != nil || b.over.Load() {
			return
		}
		defer b.gate.enter(costs[i])()
		t := l.taker(d, b)
		parts[i] = t.part
		at := starts[i].at
		for line := range bytes.Lines(starts[i].text) {
			if len(bytes.Trim(line, jsonBlanks)) > 0 {
				found.Store(true)
				t.line(line, at)
			}
			at.line++
		}
	})
	if !found.Load() {
		t := l.taker(d, b)
		t.add(place{1, 1}, `each line is a document: {"southbound": 1, "resources": [...]}`,
			"there is no document on standard input")
		parts = append(parts, t.part)
	}
	return parts
}

func (t *taker) line(text []byte, at place) {
	j := t.newJSON(bytes.TrimRight(text, "\r\n"), at)
	j.single = true
	n, err := j.value(0)
	if err == nil {
		err = j.end()
	}
	if err != nil {
		n.broken()
		t.dropped = append(t.dropped, "")
	}
	t.document(&n)
}

// taker turns the nodes of a document into agents and resources.
//
// Large: it has a method for each part of a document, which share the defaults, the places and the
// problems.
type taker struct {
	*part
	loader   *loader
	doc      document
	defaults defaults
	texts    map[string]string // one copy of each text that resources share
	relative bool              // what is being read has an id that leaves out its agent
	uses     []string          // the files that the item refers to that is being read
	room     []byte            // see frame
}

func (l *loader) taker(d document, b *budget) *taker {
	return &taker{part: &part{report: report{file: d.name, budget: b}}, loader: l, doc: d,
		defaults: l.defaults, texts: map[string]string{}}
}

// defaults are the values for resources of a document that do not say otherwise.
type defaults struct {
	agents   []string // a resource is made for each
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

// header reads what a document says besides its resources. It returns false if it is not a document
// of this format.
func (t *taker) header(n *node) bool {
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
	t.spans = append(t.spans, span{at: n.at})
	var format *node
	for i := range n.items {
		m := &n.items[i]
		if m.key != keyResources && !t.budget.keep(keptOf(m)) {
			return false
		}
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
	if n.cut && n.get(keyDefaults) == nil {
		t.defaults.badAgent = true // they may follow
	}
	switch {
	case format == nil:
		if !n.bad {
			t.add(n.at, "add `southbound: 1`", "the document does not say its format")
		}
	case format.cut: // it is what it is
	case format.bad:
		return false
	case format.value != int64(1):
		t.add(format.at, "this program reads format 1: `southbound: 1`",
			"the format %s is not known", shown(format))
		return false
	}
	return true
}

// shown returns a value as messages show it.
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

// common reads a member that both resources and defaults can have. It returns false if it is
// another one.
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

// all reads the list of resources of a document. A list with nothing under it may be one whose items
// were lost, and is no way to describe none.
func (t *taker) all(doc *node) {
	n := doc.get(keyResources)
	switch {
	case n == nil:
	case n.kind != list:
		t.dropped = append(t.dropped, "")
		switch {
		case n.bad, n.null() && doc.cut:
		case n.null():
			t.add(n.at, "write `resources: []` if none is meant, or leave it out",
				"resources has nothing under it")
		default:
			t.add(n.at, "start each resource with `- type:`", "resources is a list")
		}
	default:
		t.resources(n.items)
	}
}

func (t *taker) resources(nodes []node) {
	t.part.resources = slices.Grow(t.part.resources, len(nodes))
	t.places = slices.Grow(t.places, len(nodes))
	for i := range nodes {
		if !t.budget.keep(keptOfResource(&nodes[i])) {
			return
		}
		made := len(t.part.resources)
		t.uses = t.uses[:0]
		t.resource(&nodes[i])
		if t.loader.note {
			t.noteItem(nodes[i].at.line, t.part.resources[made:])
		}
		nodes[i] = node{}
	}
	// most are wrong: do not keep the room for them
	if len(t.part.resources) < cap(t.part.resources)/2 {
		t.part.resources, t.places = slices.Clone(t.part.resources), slices.Clone(t.places)
	}
}

// agentAt is an agent and where it is described.
type agentAt struct {
	resource.Agent
	at diag.Pos
}
