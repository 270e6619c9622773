package lsp

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/lang/lsp/names"
	"southbound/shared/lang/lsp/text"
)

// ours returns a function that reports whether a text of a view may be edited: a text in the folder
// of the project or the module, or the text of the view itself.
func (v *view) ours() func(*names.File) bool {
	dir := v.path
	if v.editor.Main != "" {
		name := strings.TrimSpace(strings.TrimPrefix(v.editor.Main, "import "))
		dir = filepath.Join(v.path, name)
	}
	return func(f *names.File) bool {
		rel, err := filepath.Rel(dir, f.Path)
		return err == nil && filepath.IsLocal(rel)
	}
}

// renaming returns the symbol to rename, or the reason why it cannot be renamed.
func (s answers) renaming(p positionParams) (spot, *names.Use, error) {
	at, ok := s.spot(p.TextDocument.URI, p.Position)
	if !ok {
		return at, nil, notOpen(p.TextDocument.URI)
	}
	u := at.use()
	if u == nil {
		return at, nil, failed("there is no name here whose meaning is known")
	}
	if why := at.view.names.Renameable(u.Symbol, at.view.ours()); why != "" {
		return at, nil, failed("%s", why)
	}
	return at, u, nil
}

func (s answers) prepareRename(_ context.Context, p positionParams) (any, error) {
	at, u, err := s.renaming(p)
	if err != nil {
		return nil, err
	}
	return struct {
		Range       text.Range `json:"range"`
		Placeholder string     `json:"placeholder"`
	}{at.text.Range(u.From, u.To, s.encoding), u.Symbol.Name}, nil
}

func (s answers) rename(_ context.Context, p renameParams) (any, error) {
	at, u, err := s.renaming(p.positionParams)
	if err != nil {
		return nil, err
	}
	for _, f := range at.view.names.Files {
		t := s.texts.trees[f.Path]
		if t != nil && t.broken() && strings.Contains(t.String(), u.Symbol.Name) {
			return nil, failed("%s cannot be read, so its names are not resolved", f.Path)
		}
	}
	edits, err := at.view.names.Rename(u.Symbol, p.NewName, at.view.ours())
	if err != nil {
		return nil, failed("%v", err)
	}
	return s.workspaceEdit(at.view, edits), nil
}

// workspaceEdit converts edits to the protocol's format, in the order of the files.
func (s answers) workspaceEdit(v *view, edits map[*names.File][]names.Edit) workspaceEdit {
	out := workspaceEdit{}
	if !s.client.Workspace.WorkspaceEdit.DocumentChanges {
		out.Changes = map[string][]textEdit{}
	}
	for _, f := range v.names.Files {
		list := edits[f]
		if len(list) == 0 {
			continue
		}
		t := s.textOf(f)
		id := versioned{URI: uriOf(f.Path)}
		if doc := s.docs[f.Path]; doc != nil {
			id = versioned{doc.uri, &doc.version}
		}
		changes := make([]textEdit, len(list))
		for i, e := range list {
			changes[i] = textEdit{t.Range(e.From, e.To, s.encoding), e.With}
		}
		slices.SortFunc(changes, func(a, b textEdit) int {
			if a.Range.Start.Line != b.Range.Start.Line {
				return int(a.Range.Start.Line) - int(b.Range.Start.Line)
			}
			return int(a.Range.Start.Character) - int(b.Range.Start.Character)
		})
		if out.Changes != nil {
			out.Changes[id.URI] = changes
		} else {
			out.DocumentChanges = append(out.DocumentChanges, documentEdit{id, changes})
		}
	}
	return out
}
