// Package source reads resource documents, format 1, and the project file.
package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"southbound/shared/deploy"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/schema"
)

// maxDocument bounds one document file, in bytes.
const maxDocument = 64 << 20

// Options say what to read.
type Options struct {
	Path  string    // a file, a directory, or "-": JSON lines from Stdin
	Stdin io.Reader // for "-"
	Types *schema.Registry
	// Check, when not nil, finds what else is wrong with a model that has problems already, so that all are named at once.
	Check func(*deploy.Model) diag.Problems
}

// Load reads all documents under opts.Path as one model. What is wrong with them is returned at once, as diag.Problems; a path
// that cannot be read is a fault.
func Load(ctx context.Context, opts Options) (*deploy.Model, Inputs, error) {
	l := &loader{types: opts.Types, model: &deploy.Model{Files: map[string]deploy.Blob{}}, files: map[string]fileSum{}, agents: map[string]agentAt{}}
	docs, root, err := findDocs(opts)
	if err != nil {
		return nil, Inputs{}, err
	}
	l.root = root
	sum := newDigest()
	for _, d := range docs {
		if err := ctx.Err(); err != nil {
			return nil, Inputs{}, fault.Wrap(fault.Canceled, "read documents", err)
		}
		text, err := d.read()
		if err != nil {
			return nil, Inputs{}, err
		}
		sum.document(d.name, text)
		l.document(d, text)
	}
	l.finish()
	l.model.Where = l.where
	if len(l.problems) > 0 && opts.Check != nil {
		l.problems = append(l.problems, opts.Check(l.model)...)
	}
	if err := l.problems.Err(); err != nil {
		return nil, Inputs{}, err
	}
	in := Inputs{Documents: names(docs)}
	for _, p := range slices.Sorted(mapKeys(l.files)) {
		in.Files = append(in.Files, p)
		sum.file(p, l.files[p].hash)
	}
	l.model.Fingerprint = sum.String()
	return l.model, in, nil
}

func mapKeys[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// doc is one document file.
type doc struct {
	name  string // as shown
	path  string
	stdin io.Reader
}

func names(docs []doc) []string {
	out := make([]string, len(docs))
	for i, d := range docs {
		out[i] = d.name
	}
	return out
}

// findDocs finds the documents and the directory that files must not leave.
func findDocs(opts Options) ([]doc, string, error) {
	if opts.Path == "-" {
		return []doc{{name: "-", stdin: opts.Stdin}}, ".", nil
	}
	info, err := os.Stat(opts.Path)
	if err != nil {
		return nil, "", pathError(opts.Path, err)
	}
	if !info.IsDir() {
		return []doc{{name: opts.Path, path: opts.Path}}, filepath.Dir(opts.Path), nil
	}
	var docs []doc
	err = filepath.WalkDir(opts.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if path != opts.Path && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		ext := filepath.Ext(name)
		if d.IsDir() || name == projectFile || ext != ".yaml" && ext != ".yml" && ext != ".json" {
			return nil
		}
		docs = append(docs, doc{name: path, path: path})
		return nil
	})
	if err != nil {
		return nil, "", pathError(opts.Path, err)
	}
	if len(docs) == 0 {
		return nil, "", fault.New(fault.Invalid, "read documents", "there is no *.yaml, *.yml or *.json under %s", opts.Path).
			WithHint("name a file or a directory with resource documents")
	}
	return docs, opts.Path, nil
}

func pathError(path string, err error) error {
	hint := "name a file, a directory or - for standard input"
	if errors.Is(err, fs.ErrPermission) {
		hint = "it must be readable"
	}
	return &fault.Error{Kind: fault.Invalid, Op: "read " + path, Err: errors.Unwrap(err), Hint: hint}
}

// read returns the text of a document, within bounds.
func (d doc) read() ([]byte, error) {
	r := d.stdin
	if d.path != "" {
		f, err := os.Open(d.path)
		if err != nil {
			return nil, pathError(d.path, err)
		}
		defer f.Close()
		r = f
	}
	text, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "read "+d.name, err)
	}
	if len(text) > maxDocument {
		return nil, diag.Problems{{Pos: diag.Pos{File: d.name}, Message: fmt.Sprintf("the document is larger than %d MiB", maxDocument>>20),
			Hint: "split it into several files"}}
	}
	return text, nil
}

// loader collects a model.
type loader struct {
	types    *schema.Registry
	root     string
	model    *deploy.Model
	problems diag.Problems
	files    map[string]fileSum
	agents   map[string]agentAt
	places   []resourcePlace
	names    []string // files, for places
}

func (l *loader) problem(file string, at place, hint, format string, args ...any) {
	l.problems.Add(diag.Problem{Pos: diag.Pos{File: file, Line: int(at.line), Column: int(at.column)}, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// document parses one file and takes what it holds.
func (l *loader) document(d doc, text []byte) {
	if !l.encoding(d.name, text) {
		return
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	l.names = append(l.names, d.name)
	switch {
	case d.path == "":
		lines(text, func(line int32, doc []byte) {
			if n := l.parseJSON(d.name, doc, line); n != nil {
				l.take(d, n)
			}
		})
	case filepath.Ext(d.path) == ".json":
		if n := l.parseJSON(d.name, text, 0); n != nil {
			l.take(d, n)
		}
	default:
		for _, n := range l.parseYAML(d.name, text) {
			l.take(d, n)
		}
	}
}

// encoding checks that the text is UTF-8.
func (l *loader) encoding(file string, text []byte) bool {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		l.problem(file, place{1, 1}, "save it as UTF-8", "the document is UTF-16")
		return false
	}
	if utf8.Valid(text) {
		return true
	}
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	line := 1 + bytes.Count(text[:at], []byte("\n"))
	column := at - bytes.LastIndexByte(text[:at], '\n')
	l.problem(file, place{int32(line), int32(column)}, "save it as UTF-8", "the text is not UTF-8 at byte %d", at+1) //nolint:gosec // bounded
	return false
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

// parseYAML reads the documents of a file. A large plain one is read in pieces, at the same time.
func (l *loader) parseYAML(file string, text []byte) []*node {
	if n := l.parsePieces(file, text); n != nil {
		return []*node{n}
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var out []*node
	for {
		var y yaml.Node
		err := dec.Decode(&y)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			l.yamlError(file, err)
			return nil
		}
		if len(y.Content) == 0 {
			continue
		}
		c := &converter{l: l, file: file, open: map[*yaml.Node]bool{}}
		if n := c.convert(y.Content[0], 0); n.kind != leaf || n.scalar != nil {
			out = append(out, n)
		}
	}
}

func (l *loader) yamlError(file string, err error) {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	at := place{1, 1}
	if m := yamlLine.FindStringSubmatch(msg); m != nil {
		n, _ := strconv.ParseInt(m[1], 10, 32)
		at.line = int32(n)
		msg = strings.TrimPrefix(msg, m[0]+": ")
	}
	hint := ""
	if strings.Contains(msg, "tab") || strings.Contains(msg, "cannot start any token") {
		hint = "indent with spaces, not tabs"
	}
	l.problem(file, at, hint, "this is no YAML: %s", msg)
}

// pieceSize is about how many bytes are parsed as one piece.
const pieceSize = 64 << 10

// notPlain matches what may mean something across pieces: anchors, aliases, tags, block scalars, directives, tabs and quotes that
// do not end on their line.
var notPlain = regexp.MustCompile(`(?m)(^|[\s\[{,:-])[&*!][^\s]|[|>][-+0-9]*\s*(#.*)?$|^(---|\.\.\.|%)|\t|\r`)

// parsePieces splits a long list of resources between its items and has the library parse the pieces. It returns nil when the text is short
// or not plain, or when a piece has any error, and then the whole is parsed as one.
func (l *loader) parsePieces(file string, text []byte) *node {
	if len(text) < 4*pieceSize || notPlain.Match(text) {
		return nil
	}
	head := regexp.MustCompile(`(?m)^resources:[ ]*(#.*)?\n`).FindIndex(text)
	if head == nil {
		return nil
	}
	body := text[head[1]:]
	indent := len(body) - len(bytes.TrimLeft(body, " "))
	item := []byte("\n" + strings.Repeat(" ", indent) + "- ")
	if !bytes.HasPrefix(body[indent:], []byte("- ")) {
		return nil
	}
	var cuts []int
	for at := 0; at < len(body); {
		cuts = append(cuts, at)
		next := bytes.Index(body[min(at+pieceSize, len(body)):], item)
		if next < 0 {
			break
		}
		at += pieceSize + next + 1
	}
	for l := range bytes.Lines(body) { // nothing but items and what belongs to them may follow
		t := bytes.TrimRight(l, "\n")
		if len(t) > 0 && t[0] != ' ' && t[0] != '#' && (indent > 0 || t[0] != '-') || bytes.Count(t, []byte(`"`))%2 == 1 || bytes.Count(t, []byte(`'`))%2 == 1 {
			return nil
		}
	}
	first := int32(bytes.Count(text[:head[1]], []byte("\n"))) //nolint:gosec // bounded
	parts := make([]*piece, len(cuts))
	line := first
	for i, from := range cuts {
		to := len(body)
		if i+1 < len(cuts) {
			to = cuts[i+1]
		}
		parts[i] = &piece{text: body[from:to], line: line}
		line += int32(bytes.Count(parts[i].text, []byte("\n"))) //nolint:gosec // bounded
	}
	top := &piece{text: append(slices.Clone(text[:head[1]]), "  []\n"...)}
	parsePieces(file, append(parts, top))
	return join(parts, top)
}

// piece is a part of a document that is parsed by itself.
type piece struct {
	text []byte
	line int32
	root *node
	bad  bool
}

func parsePieces(file string, parts []*piece) {
	var wg sync.WaitGroup
	next := make(chan *piece)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for p := range next {
				p.parse(file)
			}
		})
	}
	for _, p := range parts {
		next <- p
	}
	close(next)
	wg.Wait()
}

func (p *piece) parse(file string) {
	var y yaml.Node
	if err := yaml.Unmarshal(p.text, &y); err != nil || len(y.Content) != 1 {
		p.bad = true
		return
	}
	own := &loader{}
	c := &converter{l: own, file: file, line: p.line, open: map[*yaml.Node]bool{}}
	p.root = c.convert(y.Content[0], 0)
	p.bad = len(own.problems) > 0
}

func join(parts []*piece, top *piece) *node {
	if top.bad || top.root.kind != object || top.root.get("resources") == nil {
		return nil
	}
	all := top.root.get("resources")
	for _, p := range parts {
		if p.bad || p.root.kind != list {
			return nil
		}
		all.items = append(all.items, p.root.items...)
	}
	return top.root
}

// Inputs are the names of what a Load has read; with them Fingerprint tells without parsing whether anything changed.
type Inputs struct {
	Documents []string `json:"documents"`
	Files     []string `json:"files"`
}

// Fingerprint returns what Load would give as Model.Fingerprint; false when documents came or went, or cannot be read.
func (in Inputs) Fingerprint(opts Options) (string, bool) {
	if opts.Path == "-" {
		return "", false
	}
	docs, root, err := findDocs(opts)
	if err != nil || !slices.Equal(names(docs), in.Documents) {
		return "", false
	}
	sum := newDigest()
	for _, d := range docs {
		text, err := d.read()
		if err != nil {
			return "", false
		}
		sum.document(d.name, text)
	}
	l := &loader{root: root}
	for _, p := range in.Files {
		f, err := l.hashFile(p)
		if err != nil {
			return "", false
		}
		sum.file(p, f.hash)
	}
	return sum.String(), true
}

// digest makes fingerprints.
type digest struct {
	h interface {
		io.Writer
		Sum([]byte) []byte
	}
}

func newDigest() *digest { return &digest{sha256.New()} }

func (d *digest) document(name string, text []byte) {
	fmt.Fprintf(d.h, "document %q %d\n", name, len(text))
	_, _ = d.h.Write(text)
}

func (d *digest) file(name, hash string) { fmt.Fprintf(d.h, "file %q %s\n", name, hash) }

// String returns the fingerprint.
func (d *digest) String() string { return hex.EncodeToString(d.h.Sum(nil)) }
