package lsp

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/lang/lsp/names"
	"southbound/shared/lang/lsp/text"
)

// spot is the place of a request.
type spot struct {
	view   *view
	file   *names.File
	text   *text.Text
	offset int
}

// spot finds a place; false if it is not in a readable text.
func (s answers) spot(uri string, p text.Position) (spot, bool) {
	path, ok := pathOf(uri)
	if !ok {
		return spot{}, false
	}
	path = s.built.original(path)
	v := s.viewOf(path)
	if v == nil {
		return spot{}, false
	}
	f := v.names.File(path)
	if f == nil {
		return spot{}, false
	}
	t := s.textOf(f)
	return spot{v, f, t, t.Offset(p, s.encoding)}, true
}

// textOf returns the text of a file that belongs to its tree.
func (s *workspace) textOf(f *names.File) *text.Text {
	if p := s.texts.trees[f.Path]; p != nil && p.tree == f.Tree {
		return p.Text
	}
	return text.New(f.Tree.Text)
}

// use returns the name at a place; nil if it has no known symbol.
func (at *spot) use() *names.Use {
	u := at.view.names.Uses(at.file).At(at.offset)
	if u == nil || u.Symbol == nil {
		return nil
	}
	return u
}

// named returns a place and the name at it; nil if there is no name with a known symbol.
func (s answers) named(uri string, p text.Position) (spot, *names.Use) {
	at, ok := s.spot(uri, p)
	if !ok {
		return at, nil
	}
	return at, at.use()
}

func (s answers) definition(_ context.Context, p positionParams) (any, error) {
	at, u := s.named(p.TextDocument.URI, p.Position)
	if u == nil {
		return nil, nil
	}
	if l, ok := s.pluginPlace(u.Symbol); ok {
		return []location{l}, nil
	}
	return s.locations(at.view.names.Definitions(u.Symbol)), nil
}

// locations converts places to the protocol's format.
func (s answers) locations(places []names.Place) []location {
	out := []location{}
	for _, p := range places {
		t := s.textOf(p.File)
		if l, ok := s.location(p.File.Path, t, t.Range(p.From, p.To, s.encoding)); ok {
			out = append(out, l)
		}
	}
	return out
}

func (s answers) references(ctx context.Context, p referenceParams) (any, error) {
	at, u := s.named(p.TextDocument.URI, p.Position)
	if u == nil {
		return nil, nil
	}
	places := at.view.names.References(u.Symbol)
	if !p.Context.IncludeDeclaration {
		places = slices.DeleteFunc(places, func(p names.Place) bool { return p.Def })
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return s.locations(places), nil
}

func (s answers) highlight(_ context.Context, p positionParams) (any, error) {
	type kind struct {
		Range text.Range `json:"range"`
		Kind  int        `json:"kind"`
	}
	at, u := s.named(p.TextDocument.URI, p.Position)
	if u == nil {
		return nil, nil
	}
	const read, written = 2, 3
	out := []kind{}
	same := u.Symbol.Same()
	for _, other := range at.view.names.Uses(at.file).List {
		if other.Symbol != nil && same[other.Symbol] {
			k := kind{at.text.Range(other.From, other.To, s.encoding), read}
			if other.Def {
				k.Kind = written
			}
			out = append(out, k)
		}
	}
	return out, nil
}

func (s answers) hover(_ context.Context, p positionParams) (any, error) {
	at, u := s.named(p.TextDocument.URI, p.Position)
	if u == nil {
		return nil, nil
	}
	code, doc := at.view.names.Describe(u.Symbol)
	return hover{s.markup(code, doc), at.text.Range(u.From, u.To, s.encoding)}, nil
}

// signatureHelp returns the parameters of the call or constructor around a place.
func (s answers) signatureHelp(_ context.Context, p positionParams) (any, error) {
	at, ok := s.spot(p.TextDocument.URI, p.Position)
	if !ok {
		return nil, nil
	}
	c := at.view.names.Calling(at.file, at.offset)
	if c == nil {
		return nil, nil
	}
	one := signature{Label: c.Label, Parameters: []parameter{}}
	for _, label := range c.Params {
		one.Parameters = append(one.Parameters, parameter{label})
	}
	if _, doc := at.view.names.Describe(c.Symbol); doc != "" {
		one.Documentation = &markup{"plaintext", doc}
	}
	return signatureHelp{Signatures: []signature{one}, ActiveParameter: c.Active}, nil
}

// markup formats code and its documentation for the client.
func (s answers) markup(code, doc string) markup {
	formats := s.client.TextDocument.Hover.ContentFormat
	if !slices.Contains(formats, "markdown") {
		return markup{"plaintext", strings.TrimSpace(code + "\n\n" + doc)}
	}
	// Two trailing spaces force line breaks in Markdown. Empty lines still separate paragraphs.
	doc = strings.ReplaceAll(doc, "\n", "  \n")
	return markup{"markdown", strings.TrimSpace("```southbound\n" + code + "\n```\n\n" + doc)}
}

// symbolKinds maps kinds to the numbers of the protocol.
var symbolKinds = map[names.Kind]int{
	names.Namespace: 3, names.Entity: 5, names.Attribute: 8, names.Relation: 7, names.Typedef: 26,
	names.Implementation: 6, names.Plugin: 12, names.Variable: 13, names.Primitive: 26,
}

func (s answers) documentSymbol(_ context.Context, p documentParams) (any, error) {
	at, ok := s.spot(p.TextDocument.URI, text.Position{})
	if !ok {
		return nil, nil
	}
	outline := at.view.names.Outline(at.file)
	if s.client.TextDocument.DocumentSymbol.Hierarchical {
		return s.tree(at.text, outline), nil
	}
	out := []symbolInformation{}
	var add func([]names.Outline, string)
	add = func(list []names.Outline, in string) {
		for _, o := range list {
			out = append(out, symbolInformation{
				o.Symbol.Name, symbolKinds[o.Symbol.Kind],
				location{p.TextDocument.URI, at.text.Range(o.From, o.To, s.encoding)}, in,
			})
			add(o.Children, o.Symbol.Name)
		}
	}
	add(outline, "")
	return out, nil
}

func (s answers) tree(t *text.Text, outline []names.Outline) []documentSymbol {
	out := make([]documentSymbol, len(outline))
	for i, o := range outline {
		out[i] = documentSymbol{
			Name: o.Symbol.Name, Detail: o.Detail, Kind: symbolKinds[o.Symbol.Kind],
			Range:          t.Range(o.From, o.To, s.encoding),
			SelectionRange: t.Range(o.Symbol.From, o.Symbol.To, s.encoding),
			Children:       s.tree(t, o.Children),
		}
		if o.Symbol.Kind == names.Relation {
			out[i].Name = o.Symbol.Owner.Name + "." + o.Symbol.Name
		}
	}
	return out
}

// workspaceSymbol returns the definitions in all used models whose names contain the letters of the
// query in order.
func (s answers) workspaceSymbol(ctx context.Context, p queryParams) (any, error) {
	const limit = 500
	out := []symbolInformation{}
	seen := map[string]bool{}
	for _, v := range s.inUse() {
		for _, f := range v.names.Files {
			if f.BuiltIn || seen[f.Path] || !filepath.IsAbs(f.Path) || ctx.Err() != nil {
				continue
			}
			seen[f.Path] = true
			t := s.textOf(f)
			for _, o := range v.names.Outline(f) {
				if len(out) < limit && matches(o.Symbol.Name, p.Query) {
					r := t.Range(o.Symbol.From, o.Symbol.To, s.encoding)
					l, _ := s.location(f.Path, t, r)
					out = append(out, symbolInformation{
						o.Symbol.Name, symbolKinds[o.Symbol.Kind], l, f.Namespace,
					})
				}
			}
		}
	}
	return out, nil
}

// matches reports whether a name contains the letters of a query in order, ignoring case.
func matches(name, query string) bool {
	rest := strings.ToLower(name)
	for _, r := range strings.ToLower(query) {
		_, behind, ok := strings.Cut(rest, string(r))
		if !ok {
			return false
		}
		rest = behind
	}
	return true
}
