package main

import (
	"fmt"
	"os"
	"strings"
)

// page checks the Markdown file at path, without its blocks of code.
func (c *checker) page(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	c.markdown(path, string(text))
	return nil
}

// markdown checks the text of a page. A fence begins or ends a block of code; spans of code in a
// line are names.
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
			c.pages.add(part)
			for _, word := range refused.FindAllString(part, -1) {
				c.found = append(c.found, fmt.Sprintf("%s:%d: %q: name the noun, the actor or the time",
					path, i+1, word))
			}
		}
	}
}
