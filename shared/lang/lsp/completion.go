package lsp

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"southbound/shared/lang/lsp/names"
)

// completionKinds maps kinds to the numbers of the protocol.
var completionKinds = map[names.Kind]int{
	names.Namespace: 9, names.Entity: 7, names.Attribute: 5, names.Relation: 10, names.Typedef: 25,
	names.Implementation: 2, names.Plugin: 3, names.Variable: 6, names.Primitive: 25,
}

const keywordKind, parameterKind = 14, 6

func (s answers) completion(_ context.Context, p positionParams) (any, error) {
	out := completionList{Items: []completionItem{}}
	at, ok := s.spot(p.TextDocument.URI, p.Position)
	if !ok {
		return out, nil
	}
	content := at.text.String()
	from := at.offset
	for from > 0 && inName(content[from-1]) {
		from--
	}
	to := at.offset
	for to < len(content) && inName(content[to]) {
		to++
	}
	assigned := strings.HasPrefix(strings.TrimLeft(content[to:], " "), "=")
	r := at.text.Range(from, at.offset, s.encoding)
	found := at.view.names.Complete(at.file, at.offset, s.modules(at.view))
	for _, c := range found {
		item := completionItem{
			Label: c.Label, Kind: keywordKind, Detail: c.Detail,
			SortText: fmt.Sprintf("%d%s", c.Rank, c.Label),
		}
		insert := c.Label
		if c.Insert != "" {
			insert = c.Insert
		}
		if assigned {
			insert = strings.TrimSuffix(insert, "=")
		}
		item.TextEdit = &textEdit{r, insert}
		switch {
		case c.Symbol != nil:
			item.Kind = completionKinds[c.Symbol.Kind]
			if _, doc := at.view.names.Describe(c.Symbol); doc != "" {
				item.Documentation = &markup{"markdown", doc}
			}
			item.Deprecated = c.Symbol.Plugin != nil && c.Symbol.Plugin.Deprecated
		case !c.Keyword:
			item.Kind = parameterKind
		}
		out.Items = append(out.Items, item)
	}
	return out, nil
}

func inName(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// modules returns the names of modules that can be imported: built-in modules, and modules in the
// folders in which the model finds its modules.
func (s answers) modules(v *view) []string {
	out := v.library.modules()
	places := map[string]bool{filepath.Join(v.loaded.Dir, "libs"): true}
	if v.loaded.Env != nil {
		for _, dir := range v.loaded.Env.Modules {
			places[filepath.Dir(dir)] = true
		}
	}
	for _, dir := range v.editor.ModulePath {
		places[dir] = true
	}
	for place := range places {
		entries, err := os.ReadDir(place)
		if err != nil {
			continue
		}
		for _, e := range entries {
			out = append(out, namespaces(filepath.Join(place, e.Name(), "model"))...)
		}
	}
	return out
}

// namespaces returns the namespaces of a module by the folder of its texts.
func namespaces(model string) []string {
	const limit = 1000
	var out []string
	_ = filepath.WalkDir(model, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // skip paths that cannot be read
		case len(out) >= limit:
			return fs.SkipAll
		case filepath.Ext(path) == ".cf" && !d.IsDir():
			out = append(out, namespaceOf(path))
		}
		return nil
	})
	return out
}
