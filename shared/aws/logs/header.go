package logs

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

type item = attributevalue.Item

// header summarizes the actions that an item covers, and locates them.
//
// Large: it is a stored record. Its fields are attributes of one item, and filters of the table
// refer to them by name.
type header struct {
	part, sort string   // key; sort begins with the largest id or the latest time
	count      int      // number of all actions or changes that the item covers
	least      string   // smallest id
	finished   [2]int64 // milliseconds of the earliest and latest end, rounded down and up
	versions   [2]int   // lowest and highest
	outcomes   []string // all that occur
	kinds      []string // all that occur
	severity   int      // of the most severe line
	resources  []uint16 // marks; nil: unknown
	agents     []uint16 // marks; nil: unknown
	expires    int64    // seconds

	data         []byte // compressed; nil: in an object
	object       string
	offset, size int // of the part in the object; size 0: the whole object
}

// greatest returns the largest id, or the latest time, of the actions that the item covers.
func (h *header) greatest() string {
	i := strings.LastIndexByte(h.sort, '/')
	return h.sort[:max(i, 0)]
}

// maxAgents is the largest number of agents that a header lists.
const maxAgents = 32

// describe returns the header of actions that are sorted by id.
func describe(actions []state.Action) header {
	h := header{count: len(actions), finished: [2]int64{math.MaxInt64, math.MinInt64},
		versions: [2]int{math.MaxInt, 0}}
	if len(actions) > 0 {
		h.least = actions[0].ID
	}
	for i := range actions {
		a := &actions[i]
		down := a.Finished.UnixMilli()
		up := down
		if a.Finished.Nanosecond()%int(time.Millisecond) != 0 {
			up++
		}
		h.finished[0], h.finished[1] = min(h.finished[0], down), max(h.finished[1], up)
		h.versions[0], h.versions[1] = min(h.versions[0], a.Version), max(h.versions[1], a.Version)
		h.outcomes, h.kinds = include(h.outcomes, string(a.Outcome)),
			include(h.kinds, string(a.Action))
		h.agents = include(h.agents, markOf(a.Resource.Agent()))
		for _, l := range a.Messages {
			h.severity = max(h.severity, state.Severity(l.Level))
		}
	}
	if len(h.agents) > maxAgents {
		h.agents = nil
	}
	return h
}

func include[T cmp.Ordered](list []T, v T) []T {
	if i, have := slices.BinarySearch(list, v); !have {
		return slices.Insert(list, i, v)
	}
	return list
}

// selection is a query, prepared for comparison with headers.
type selection struct {
	state.ActionQuery
	since time.Time // the later of Since and the horizon
	now   int64
	ids   [2]string // smallest and largest requested id
}

func newSelection(q state.ActionQuery, horizon, now time.Time) *selection {
	s := &selection{ActionQuery: q, since: q.Since, now: now.Unix()}
	if horizon.After(s.since) {
		s.since = horizon
	}
	if len(q.IDs) > 0 {
		s.ids = [2]string{slices.Min(q.IDs), slices.Max(q.IDs)}
	}
	return s
}

// may reports whether an item may cover matching actions.
func (s *selection) may(h *header) bool {
	has := func(list []string,
		word string) bool {
		return word == "" || slices.Contains(list, word)
	}
	marked := func(list []uint16, text string) bool {
		return text == "" || list == nil || slices.Contains(list, markOf(text))
	}
	switch {
	case h.expires <= s.now,
		!s.since.IsZero() && time.UnixMilli(h.finished[1]).Before(s.since), !s.Until.IsZero() &&
			!time.UnixMilli(h.finished[0]).Before(s.Until),
		s.After != "" && h.greatest() <= s.After, s.Before != "" && h.least >= s.Before,
		len(s.IDs) > 0 && (s.ids[1] < h.least || s.ids[0] > h.greatest()),
		s.Version != 0 && (s.Version < h.versions[0] || s.Version > h.versions[1]),
		!has(h.outcomes, string(s.Outcome)), !has(h.kinds, string(s.Action)),
		h.severity < state.Severity(s.Level),
		!marked(h.resources, string(s.Resource)), !marked(h.agents, s.agent()):
		return false
	}
	return true
}

// agent returns the agent to which actions must belong, or "" for any.
func (s *selection) agent() string {
	if s.Agent == "" && s.Resource != "" {
		return s.Resource.Agent()
	}
	return s.Agent
}

// selects reports whether an action matches.
func (s *selection) selects(a *state.Action) bool {
	return !a.Finished.Before(s.since) && s.Selects(a)
}

// item returns the header as an item of the table: see docs/design/log.md.
func (h *header) item() item {
	i := item{"k": attributevalue.Text(h.part), "s": attributevalue.Text(h.sort),
		"c": attributevalue.Number(h.count), "f": attributevalue.Number(h.finished[0]),
		"t":             attributevalue.Number(h.finished[1]),
		ExpiryAttribute: attributevalue.Number(h.expires)}
	if h.least != "" {
		i["l"] = attributevalue.Text(h.least)
	}
	if h.versions != [2]int{} {
		i["v"], i["w"] = attributevalue.Number(h.versions[0]), attributevalue.Number(h.versions[1])
	}
	for name, words := range map[string][]string{"o": h.outcomes, "g": h.kinds} {
		if len(words) > 0 {
			i[name] = attributevalue.Text(strings.Join(words, ","))
		}
	}
	if h.severity > 0 {
		i["e"] = attributevalue.Number(h.severity)
	}
	for name, marks := range map[string][]uint16{"r": h.resources, "a": h.agents} {
		if len(marks) > 0 {
			i[name] = attributevalue.Blob(packMarks(marks))
		}
	}
	if h.object == "" {
		i["d"] = attributevalue.Blob(h.data)
		return i
	}
	i["p"] = attributevalue.Text(h.object)
	if h.size > 0 {
		i["q"], i["z"] = attributevalue.Number(h.offset), attributevalue.Number(h.size)
	}
	return i
}

func headerOf(i item) *header {
	h := &header{part: attributevalue.TextOf(i, "k"), sort: attributevalue.TextOf(i, "s"),
		count: int(attributevalue.NumberOf(i, "c")), least: attributevalue.TextOf(i, "l"),
		finished: [2]int64{attributevalue.NumberOf(i, "f"), attributevalue.NumberOf(i, "t")},
		versions: [2]int{int(attributevalue.NumberOf(i, "v")),
			int(attributevalue.NumberOf(i, "w"))},
		outcomes:  strings.Split(attributevalue.TextOf(i, "o"), ","),
		kinds:     strings.Split(attributevalue.TextOf(i, "g"), ","),
		severity:  int(attributevalue.NumberOf(i, "e")),
		resources: marksOf(i, "r"), agents: marksOf(i, "a"),
		expires: attributevalue.NumberOf(i, ExpiryAttribute),
		object:  attributevalue.TextOf(i, "p"), offset: int(attributevalue.NumberOf(i, "q")),
		size: int(attributevalue.NumberOf(i, "z"))}
	if b, ok := i["d"].(*types.AttributeValueMemberB); ok {
		h.data = b.Value
	}
	return h
}

func packMarks(marks []uint16) []byte {
	var out []byte
	for _, m := range marks {
		out = binary.BigEndian.AppendUint16(out, m)
	}
	return out
}

func marksOf(i item, name string) []uint16 {
	b, ok := i[name].(*types.AttributeValueMemberB)
	if !ok {
		return nil
	}
	var out []uint16
	for raw := b.Value; len(raw) >= 2; raw = raw[2:] {
		out = append(out, binary.BigEndian.Uint16(raw))
	}
	return out
}

// marks returns the marks of the actions' resources, without duplicates.
func marks(actions []state.Action) []uint16 {
	var out []uint16
	seen := map[resource.ID]bool{}
	for i := range actions {
		if id := actions[i].Resource; !seen[id] {
			seen[id] = true
			out = include(out, markOf(string(id)))
		}
	}
	return out
}
