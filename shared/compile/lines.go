package compile

import (
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
)

// Lines returns a function that returns the line of a model at a place, for diag.Problem.Lines. It
// returns no lines of documents, since they may hold secrets.
func Lines() func(diag.Pos) (string, bool) {
	files := map[string][]string{}
	return func(at diag.Pos) (string, bool) {
		if filepath.Ext(at.File) != ".cf" {
			return "", false
		}
		lines, ok := files[at.File]
		if !ok {
			if info, err := os.Stat(at.File); err == nil && info.Size() <= syntax.MaxText {
				text, _ := os.ReadFile(at.File) // a file that cannot be read has no lines
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
