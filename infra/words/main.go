// Words reports words of comments and texts in Go files, and of the pages in docs, for which the
// project has plain ones: `make verify` runs it. It exits with 1 if it finds any.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// refused matches words that hide the noun or the actor, and words of no precise time.
var refused = regexp.MustCompile(
	`(?i)\b(somebody|someone|anyone|nobody|whoever|anew|once (more|again)|over again|gone over|by itself|meanwhile|seldom|any more|says so|of that of)\b`)

// hidden matches words of texts that hide the actor. Texts quote other programs and name columns,
// so the list is shorter than that of comments.
var hidden = regexp.MustCompile(
	`(?i)\b(somebody|someone|anyone|nobody|whoever|anew|once (more|again)|over again|by itself|seldom|says so)\b`)

// rare matches words that most sentences replace by a noun or a verb of the field.
var rare = regexp.MustCompile(`(?i)\b(what|says?|said|tells?|told)\b`)

const (
	most = 2 // rare words in 1,000 words of all comments, and of all pages
	dirs = "README.md CONTRIBUTING.md CHANGELOG.md cmd docs examples functions handlers infra localstack shared"
)

func main() {
	var c checker
	for _, dir := range strings.Fields(dirs) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go"):
				return err
			case filepath.Ext(path) == ".go":
				return c.file(path, nil)
			case filepath.Ext(path) == ".md":
				return c.page(path)
			}
			return nil
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	for _, found := range c.found {
		fmt.Println(found)
	}
	comments, pages := c.comments.dense("comments"), c.pages.dense("pages")
	if comments || pages || len(c.found) > 0 {
		os.Exit(1)
	}
}

// A tally counts words, and the rare ones among them.
type tally struct{ words, rares int }

// add counts the words of a text.
func (t *tally) add(text string) {
	t.words += len(strings.Fields(text))
	t.rares += len(rare.FindAllString(text, -1))
}

// dense reports whether rare words are too many, and prints that.
func (t *tally) dense(of string) bool {
	if t.words*most >= t.rares*1000 {
		return false
	}
	fmt.Printf("what, say and tell: %d in %d words of %s; at most %d in 1,000\n",
		t.rares, t.words, of, most)
	return true
}

// A checker collects the refused words of files.
type checker struct {
	found           []string
	comments, pages tally
}

// file checks the file at path, whose source is src, or is read if src is nil.
func (c *checker) file(path string, src any) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	report := func(pos token.Pos, words []string) {
		for _, word := range words {
			c.found = append(c.found, fmt.Sprintf("%s: %q: name the noun, the actor or the time",
				fset.Position(pos), word))
		}
	}
	for _, group := range f.Comments {
		text := group.Text()
		c.comments.add(text)
		report(group.Pos(), refused.FindAllString(text, -1))
	}
	if strings.Contains(path, "simtest") || strings.Contains(path, "testdata") {
		return nil // users do not see their texts
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && isText(l) {
			report(l.Pos(), hidden.FindAllString(l.Value, -1))
		}
		return true
	})
	return nil
}

// isText reports whether a literal is a text for users: it has three words or more. Raw strings are
// sources of other languages.
func isText(l *ast.BasicLit) bool {
	return l.Kind == token.STRING && l.Value[0] == '"' && strings.Count(l.Value, " ") >= 2
}
