// Words reports words of comments in Go files for which the project has plain ones: `make verify`
// runs it. It exits with 1 if it finds any.
package main

import (
	"fmt"
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

// rare matches words that most sentences replace by a noun or a verb of the field.
var rare = regexp.MustCompile(`(?i)\b(what|says?|said|tells?|told)\b`)

const (
	most = 2 // rare words in 1,000 words of all comments
	dirs = "cmd functions handlers infra localstack shared"
)

func main() {
	words, rares, bad := 0, 0, 0
	for _, dir := range strings.Fields(dirs) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" ||
				strings.HasSuffix(path, "_test.go") {
				return err
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, group := range f.Comments {
				text := group.Text()
				words += len(strings.Fields(text))
				rares += len(rare.FindAllString(text, -1))
				for _, word := range refused.FindAllString(text, -1) {
					fmt.Printf("%s: %q: name the noun, the actor or the time\n",
						fset.Position(group.Pos()), word)
					bad++
				}
			}
			return nil
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if words*most < rares*1000 {
		fmt.Printf("what, say and tell: %d in %d words of comments; at most %d in 1,000\n", rares, words, most)
		bad++
	}
	if bad > 0 {
		os.Exit(1)
	}
}
