package source

import (
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"southbound/shared/diag"
	"southbound/shared/pattern"
	"southbound/shared/resource"
)

// mark is a marked place in a file: a name between braces.
var mark = pattern.Lazy(`\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*\}\}`)

// filled reads {file: path, with: {name: part}}: the text of a file in which parts replace marks.
func (t *taker) filled(file, with *node) any {
	if with.kind != object {
		if !with.bad {
			t.add(with.at, "write it such as {password: {secret: \"env:PASSWORD\"}}",
				"with is a map of the marks of the file")
		}
		return ""
	}
	given := map[string]any{}
	for i := range with.items {
		m := &with.items[i]
		given[m.key] = ""
		if part, ok := t.onePart(m); ok {
			given[m.key] = part
		}
	}
	text, name, ok := t.textAt(file)
	if !ok {
		return ""
	}
	used := map[string]bool{}
	var parts []any
	at := 0
	for _, m := range mark().FindAllStringSubmatchIndex(text, -1) {
		key := text[m[2]:m[3]]
		part, known := given[key]
		if !known && !used[key] {
			line := 1 + strings.Count(text[:m[0]], "\n")
			t.add(with.at, "add "+key+" to with", "%s:%d: the mark {{%s}} has no value", name, line,
				short(key)).Related = diag.At(diag.Pos{File: name, Line: line})
		}
		used[key] = true
		if !known {
			part = ""
		}
		parts = append(parts, text[at:m[0]], part)
		at = m[1]
	}
	for i := range with.items {
		if m := &with.items[i]; !used[m.key] {
			t.add(m.keyAt, "write {{"+short(m.key)+"}} in the file where the value belongs",
				"the file %s has no mark {{%s}}%s", name, short(m.key), others(used))
		}
	}
	return t.joined(file, append(parts, text[at:]))
}

// others lists the marks of a file for a message.
func others(used map[string]bool) string {
	if len(used) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(used))
	return ": it has " + strings.Join(names[:min(len(names), 5)], ", ")
}

// textAt reads a file as a text, and returns its path.
func (t *taker) textAt(n *node) (text, name string, ok bool) {
	f, ok := t.fileAt(n).(resource.File)
	if !ok || f.Hash == "" {
		return "", "", false
	}
	s, _ := n.value.(string)
	at := path.Join(path.Dir(t.doc.path), s)
	if f.Size > resource.MaxText {
		t.add(n.at, "leave with out; then the file may have any length",
			"the file %s has %d bytes, and a text has at most %d", short(s), f.Size, resource.MaxText)
		return "", "", false
	}
	b, err := t.loader.files.text(at)
	if err != nil || !utf8.Valid(b) {
		t.add(n.at, "leave with out, or make it UTF-8", "the file %s is not text", short(s))
		return "", "", false
	}
	return string(b), path.Join(path.Dir(t.file), s), true
}

// text returns the content of a file that get has read.
func (f *files) text(name string) ([]byte, error) {
	if e := f.get(name); e.data != nil {
		return e.data, nil
	}
	src, err := os.OpenInRoot(f.tree.dir, filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = src.Close() }()
	return io.ReadAll(io.LimitReader(src, resource.MaxText+1))
}
