package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/fault"
)

// Built holds the members of a document that a program has created, with places in the text of the
// program.
type Built struct {
	// Dir is the base directory of relative paths of files ({file: path}) and secrets. They may lead
	// out of it.
	Dir       string
	Agents    []Entry // names are unique
	Resources []Entry
	// Files are the contents of files that are in no directory, by path.
	Files map[string][]byte
}

// Entry is an agent or a resource in the structure of a document. Values are nil, bool, string,
// int64, *big.Int, float64, []any and map[string]any; maps may be forms, such as {secret:
// "env:NAME"}.
type Entry struct {
	Name    string // of an agent
	Members map[string]any
	At      diag.Pos
	// Places are the places of members and attributes; the default is At.
	Places map[string]diag.Pos
}

// LoadBuilt is Load for members that a program has created. It uses Types, Agent,
// Elsewhere and Check of the options.
func LoadBuilt(ctx context.Context, b Built, opts Options) (*model.Model, error) {
	t := &tree{dir: string(filepath.Separator), elsewhere: opts.Elsewhere}
	if err := t.open(); err != nil {
		return nil, err
	}
	defer t.close()
	t.projects = nil
	dir, err := filepath.Abs(b.Dir)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "read "+b.Dir, err)
	}
	l := &loader{
		types: opts.Types, agent: opts.Agent, tree: t, files: newFiles(t),
		defaults: documentDefaults,
	}
	l.copies.max = maxCopies
	at := strings.TrimPrefix(filepath.ToSlash(dir), "/")
	for name, data := range b.Files {
		l.files.put(path.Join(at, name), data)
	}
	n := &numberer{}
	k := l.taker(document{path: at + "/-"})
	for i := range b.Agents {
		a := n.entry(&b.Agents[i])
		k.agent(&a)
	}
	nodes := make([]node, len(b.Resources))
	for i := range b.Resources {
		nodes[i] = n.entry(&b.Resources[i])
	}
	k.resources(pointers(nodes))
	k.blame()
	if err := context.Cause(ctx); err != nil {
		return nil, fault.Wrap(fault.KindOf(err), "read resources", err)
	}
	return l.built(b, k.part, n, opts)
}

// built returns the model of a part.
func (l *loader) built(b Built, p *part, n *numberer, opts Options) (*model.Model, error) {
	model, problems, more := l.join([]result{{part: p}})
	numbered, agent := model.Where, model.WhereAgent
	model.Where = func(i int, name string) diag.Pos { return n.real(numbered(i, name)) }
	model.WhereAgent = func(name string) diag.Pos { return n.real(agent(name)) }
	if len(problems) > 0 {
		for i := range problems {
			problems[i].Pos = n.real(problems[i].Pos)
			for j := range problems[i].Related {
				problems[i].Related[j].Pos = n.real(problems[i].Related[j].Pos)
			}
		}
		if opts.Check != nil {
			problems = also(problems, nil, opts.Check(model))
		}
		return nil, problems.ErrAnd(len(more[p.file]))
	}
	text, err := json.Marshal([]any{b.Agents, b.Resources})
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "write resources", err)
	}
	sum := sha256.Sum256(text)
	in := l.inputs(nil, nil)
	in.Documents = []Input{{Path: "-", Size: int64(len(text)), hash: hex.EncodeToString(sum[:])}}
	model.Fingerprint = in.digest()
	return model, nil
}

// MarshalJSON implements json.Marshaler. It omits places.
func (e Entry) MarshalJSON() ([]byte, error) { return json.Marshal([]any{e.Name, e.Members}) }

// numberer gives each value a place of its own, so that the values that one line of a loop creates
// are distinct. The line of such a place is the index, counted from 1, of a place in the text.
type numberer struct{ places []diag.Pos }

// real returns the place in the text for a numbered place.
func (n *numberer) real(p diag.Pos) diag.Pos {
	if p.Line < 1 || p.Line > len(n.places) {
		return diag.Pos{}
	}
	return n.places[p.Line-1]
}

func (n *numberer) next(p diag.Pos) int32 {
	n.places = append(n.places, p)
	return int32(len(n.places)) // the number of instances is limited
}

// entry returns the node of an agent or a resource.
func (n *numberer) entry(e *Entry) node {
	line := n.next(e.At)
	out := node{kind: object, key: e.Name, keyAt: place{line, 1}, at: place{line, 1}}
	out.items = n.members(e, e.Members)
	return out
}

func (n *numberer) members(e *Entry, of map[string]any) []node {
	items := make([]node, 0, len(of))
	for _, key := range slices.Sorted(maps.Keys(of)) {
		at, ok := e.Places[key]
		if !ok {
			at = e.At
		}
		line := n.next(at)
		v := node{}
		if attributes, is := of[key].(map[string]any); is && key == "attributes" && e.Name == "" {
			v = node{kind: object, items: n.members(e, attributes)}
		} else {
			v = nodeOf(of[key], place{line, 2})
		}
		v.key, v.keyAt, v.at = key, place{line, 1}, place{line, 2}
		items = append(items, v)
	}
	return items
}

// nodeOf returns the node of a value; all its parts have one place.
func nodeOf(v any, at place) node {
	out := node{at: at, keyAt: at}
	switch v := v.(type) {
	case []any:
		out.kind = list
		for _, item := range v {
			out.items = append(out.items, nodeOf(item, at))
		}
	case map[string]any:
		out.kind = object
		for _, key := range slices.Sorted(maps.Keys(v)) {
			item := nodeOf(v[key], at)
			item.key = key
			out.items = append(out.items, item)
		}
	case nil, bool, string, int64, *big.Int, float64:
		out.value = v
	default:
		panic(fmt.Sprintf("a value of type %T", v)) // a bug in the calling program
	}
	return out
}
