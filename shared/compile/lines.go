package compile

import (
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
)

// Lines returns a function that returns the lines of models at places, for diag.Problem.Lines.
// Those of documents are not shown: they may hold what is secret in its place.
func Lines() func(diag.Pos) (string, bool) {
	files := map[string][]string{}
	return func(at diag.Pos) (string, bool) {
		if filepath.Ext(at.File) != ".cf" {
			return "", false
		}
		lines, ok := files[at.File]
		if !ok {
			if info, err := os.Stat(at.File); err == nil && info.Size() <= syntax.MaxText {
				text, _ := os.ReadFile(at.File) // what cannot be read is not shown
				lines = strings.Split(string(text), "\n")
			}
			files[at.File] = lines
		}
		if at.Line < 1 || at.Line > len(lines) || !utf8.ValidString(lines[at.Line-1]) {
			return "", false
		}
		return strings.TrimRight(lines[at.Line-1], "\r"), true
	}
}
