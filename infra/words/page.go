package main

import (
	"fmt"
	"os"
	"strings"
)

// unread are pages of docs that still use refused words. A page leaves the list when it is
// rewritten, and no page joins it.
var unread = strings.Fields(`
	docs/invariants.md
	docs/language/lsm.md docs/language/templates.md
	docs/design/aws-store.md docs/design/engine-today.md
	docs/design/export.md docs/design/indexes.md
	docs/design/jobs.md docs/design/lsp.md
	docs/design/packages-and-services.md
	docs/design/python-functions.md
	docs/design/secretsources.md docs/design/targets.md docs/design/terraform.md
`)

// page checks the Markdown file at path, without its blocks of code.
func (c *checker) page(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	c.markdown(path, string(text))
	return nil
}

// markdown checks the text of a page. A fence begins or ends a block of code; spans of
// code in a line are names.
func (c *checker) markdown(path, text string) {
	fenced := false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if fenced || strings.HasPrefix(line, "    ") {
			continue
		}
		for j, part := range strings.Split(line, "`") {
			if j%2 == 1 {
				continue
			}
			for _, word := range refused.FindAllString(part, -1) {
				c.found = append(c.found, fmt.Sprintf("%s:%d: %q: name the noun, the actor or the time",
					path, i+1, word))
			}
		}
	}
}
