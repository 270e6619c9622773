package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/dlclark/regexp2"

	"southbound/shared/cli"
	"southbound/shared/lang/syntax"
)

// installed is the extension with something where npm puts its dependency.
func installed(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS("vscode"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path.Join("vscode", name))
		files[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	files["node_modules/vscode-languageclient/package.json"] = &fstest.MapFile{Data: []byte("{}")}
	files["node_modules/vscode-languageclient/node.js"] = &fstest.MapFile{Data: []byte("//")}
	files["node_modules/vscode-languageclient/node.js.map"] = &fstest.MapFile{}
	files["node_modules/.bin/x"] = &fstest.MapFile{}
	return files
}

// TestPack holds the layout of the package, that it is the same each time, and that all that
// package.json names is in it.
func TestPack(t *testing.T) {
	t.Parallel()
	files := installed(t)
	var out, again bytes.Buffer
	if err := pack(&out, files); err != nil {
		t.Fatal(err)
	}
	if err := pack(&again, files); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("the second package differs, %v", err)
	}
	z, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, f := range z.File {
		have[f.Name] = true
	}
	for _, name := range []string{
		"extension.vsixmanifest", "[Content_Types].xml", "extension/README.md",
		"extension/extension.js", "extension/language-configuration.json",
		"extension/syntaxes/southbound.tmLanguage.json", "extension/package.json",
		"extension/node_modules/vscode-languageclient/node.js",
	} {
		if !have[name] {
			t.Errorf("%s is missing", name)
		}
	}
	for name := range have {
		if strings.HasSuffix(name, ".map") || strings.Contains(name, "/.") ||
			strings.Contains(name, "lock") {
			t.Errorf("%s is in the package", name)
		}
	}
	var m manifest
	data, err := fs.ReadFile(z, "extension.vsixmanifest")
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	if got := m.Metadata.Identity; got != (identity{"en-US", "southbound", cli.Version,
		"southbound"}) {
		t.Errorf("the identity is %v", got)
	}
	for _, a := range m.Assets {
		if !have[a.Path] {
			t.Errorf("the asset %s is missing", a.Path)
		}
	}
}

// TestNotInstalled holds that a package without what it needs is not made.
func TestNotInstalled(t *testing.T) {
	t.Parallel()
	err := pack(&bytes.Buffer{}, os.DirFS("vscode"))
	if err == nil || !strings.Contains(err.Error(), "vscode-languageclient is not installed") {
		t.Error(err)
	}
	out := path.Join(t.TempDir(), "x.vsix")
	if err := run("vscode", out); err == nil {
		t.Error("a package was made")
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("half a package is left")
	}
}

// TestJSON holds that every file that says so is JSON, and that package.json names files and the
// version of the program.
func TestJSON(t *testing.T) {
	t.Parallel()
	for name, f := range installed(t) {
		if strings.HasSuffix(name, ".json") && !json.Valid(f.Data) {
			t.Errorf("%s is not JSON", name)
		}
	}
	var p struct {
		Version     string `json:"version"`
		Main        string `json:"main"`
		Contributes struct {
			Languages []struct{ ID, Configuration string }
			Grammars  []struct{ Language, Path string }
		} `json:"contributes"`
	}
	data, err := os.ReadFile("vscode/package.json")
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil || len(p.Contributes.Languages) != 1 || len(p.Contributes.Grammars) != 1 {
		t.Fatal(p, err)
	}
	language, grammar := p.Contributes.Languages[0], p.Contributes.Grammars[0]
	for _, name := range []string{p.Main, language.Configuration, grammar.Path} {
		if _, err := os.Stat(path.Join("vscode", name)); err != nil {
			t.Error(err)
		}
	}
	if p.Version != cli.Version || grammar.Language != language.ID {
		t.Errorf("%+v", p)
	}
}

// rule is a rule of a grammar of TextMate.
type rule struct {
	Name     string          `json:"name"`
	Match    string          `json:"match"`
	Begin    string          `json:"begin"`
	End      string          `json:"end"`
	Include  string          `json:"include"`
	Patterns []rule          `json:"patterns"`
	Captures map[string]rule `json:"captures"`
	Rules    map[string]rule `json:"repository"`
}

func grammar(t *testing.T) rule {
	t.Helper()
	data, err := os.ReadFile("vscode/syntaxes/southbound.tmLanguage.json")
	if err != nil {
		t.Fatal(err)
	}
	var g rule
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestGrammar holds that each expression of the grammar can be compiled, and each rule that is
// included is there.
func TestGrammar(t *testing.T) {
	t.Parallel()
	g := grammar(t)
	var check func(where string, r rule)
	check = func(where string, r rule) {
		// an end may refer to groups of the beginning
		for _, text := range []string{r.Match, r.Begin, r.Begin + r.End} {
			if _, err := regexp2.Compile(text, regexp2.None); err != nil {
				t.Errorf("%s: %v", where, err)
			}
		}
		if _, ok := g.Rules[strings.TrimPrefix(r.Include, "#")]; r.Include != "" && !ok {
			t.Errorf("%s: there is no rule %s", where, r.Include)
		}
		if (r.Begin == "") != (r.End == "") {
			t.Errorf("%s begins or ends, and not both", where)
		}
		for _, in := range r.Patterns {
			check(where, in)
		}
		for name, in := range r.Rules {
			check(name, in)
		}
	}
	check("the grammar", g)
}

// scope returns the name that the rules of words give a word.
func scope(t *testing.T, g rule, word string) string {
	t.Helper()
	for _, r := range g.Rules["keyword"].Patterns {
		re, err := regexp2.Compile(r.Match, regexp2.None)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := re.FindStringMatch(word); err == nil && m != nil && m.String() == word {
			return r.Name
		}
	}
	return ""
}

// TestKeywords holds that every word of the language has a colour, and no other name that of one.
func TestKeywords(t *testing.T) {
	t.Parallel()
	g := grammar(t)
	words := syntax.Keywords()
	if len(words) < 20 {
		t.Fatal(words)
	}
	for _, w := range words {
		if scope(t, g, w) == "" {
			t.Errorf("%s has no colour", w)
		}
	}
	for _, w := range []string{"name", "ending", "forum", "is_defined", "Entity", "endx"} {
		if s := scope(t, g, w); s != "" {
			t.Errorf("%s is %s", w, s)
		}
	}
	for _, r := range g.Rules["keyword"].Patterns {
		body := strings.TrimSuffix(strings.TrimPrefix(r.Match, `\b(?:`), `)\b`)
		for w := range strings.SplitSeq(body, "|") {
			known := syntax.IsKeyword(w) || r.Name == "storage.type.southbound" ||
				r.Name == "variable.language.southbound"
			if !known {
				t.Errorf("%s is %s, and no word of the language", w, r.Name)
			}
		}
	}
}
