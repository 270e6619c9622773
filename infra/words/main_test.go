package main

import (
	"strings"
	"testing"
)

// TestFile pins which words of a file are reported.
func TestFile(t *testing.T) {
	for _, c := range []struct {
		name, path, src string
		want            int
	}{
		{"comment", "a.go", "package a // nobody\n", 1},
		{"message", "a.go", `package a; const m = "it was changed by someone"`, 1},
		{"message in parts", "a.go", `package a; const m = "it was " + "changed by whoever came"`, 1},
		{"plain message", "a.go", `package a; const m = "another writer changed it"`, 0},
		{"longer word", "a.go", `package a; const m = "the wanewd is a name"`, 0},
		{"name", "a.go", `package a; const m = "user nobody"`, 0},
		{"raw string", "a.go", "package a; const m = `nobody is a user`", 0},
		{"quotation", "a.go", `package a; const m = "the column told is set"`, 0},
		{"simulator", "shared/internal/simtest/a.go", `package a; const m = "nobody has done it"`, 0},
		{"comment of a simulator", "shared/internal/simtest/a.go", "package a // nobody\n", 1},
		{"test data", "infra/testdata/a.go", `package a; const m = "nobody has done it"`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got checker
			if err := got.file(c.path, c.src); err != nil || len(got.found) != c.want {
				t.Errorf("%d expected, %v, %v", c.want, got.found, err)
			}
		})
	}
	var c checker
	err := c.file("a.go", "// Package a says what it is.\npackage a\n")
	if err != nil || c.comments != (tally{6, 2}) {
		t.Errorf("%v, %v", c.comments, err)
	}
	if err := c.file("a.go", "package"); err == nil || !strings.Contains(err.Error(), "a.go") {
		t.Errorf("%v", err)
	}
}

// TestMarkdown pins which words of a page are reported.
func TestMarkdown(t *testing.T) {
	for _, c := range []struct {
		name, src string
		want      int
	}{
		{"sentence", "# Page\n\nNobody has done it, and somebody will.\n", 2},
		{"fence", "```\nnobody\n```\n", 0},
		{"after a fence", "```\nnobody\n```\nnobody\n", 1},
		{"indented block", "    nobody\n", 0},
		{"name", "The user `nobody` owns it.\n", 0},
		{"table", "| a | nobody |\n", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got checker
			got.markdown("a.md", c.src)
			if len(got.found) != c.want {
				t.Errorf("%d expected, %v", c.want, got.found)
			}
		})
	}
	var c checker
	c.markdown("a.md", "This says `what` it is.\n")
	if c.pages != (tally{4, 1}) || !c.pages.dense("pages") {
		t.Errorf("%v", c.pages)
	}
	if err := new(checker).page("absent.md"); err == nil {
		t.Error("an absent page has no error")
	}
}
