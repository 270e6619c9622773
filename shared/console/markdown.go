package console

import (
	"bytes"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	emoji "github.com/yuin/goldmark-emoji"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Bounds of texts that are rendered; others are shown as they are. maxMarkdown is in bytes, for
// maxDepth and maxCost see costly.
const (
	maxMarkdown = 1 << 20
	maxDepth    = 100
	maxCost     = 100_000_000
)

// markdown renders texts of models as HTML. The output has neither script nor style, whatever a
// text contains: raw HTML is not rendered, and sanitize removes all that its list of elements and
// attributes has not.
type markdown struct{ parse goldmark.Markdown }

func newMarkdown() *markdown {
	parse := goldmark.New(
		goldmark.WithExtensions(extension.GFM, extension.Typographer, emoji.Emoji),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(html.WithHardWraps(),
			renderer.WithNodeRenderers(util.Prioritized(markRenderer{}, 100))),
	)
	return &markdown{parse}
}

// block is a part of a rendered text: HTML, or a fenced block with a language of its own.
type block struct {
	HTML     template.HTML
	Language string // of a fenced block
	Text     string // of a fenced block
}

// The marks of fenced blocks in rendered HTML. Texts cannot contain them.
const markStart, markEnd = '\uE000', '\uE001'

var markPattern = regexp.MustCompile(`\x{E000}(\d+)\x{E001}`)

// render returns the blocks of a text. The ids of its headings begin with prefix, their levels with
// top. Fenced blocks of
// the languages in own are returned as such. If the text cannot be rendered, render returns false.
func (m *markdown) render(source, prefix string, top int, own ...string) ([]block, bool) {
	if len(source) > maxMarkdown || costly(source) {
		return nil, false
	}
	source = strings.Map(func(r rune) rune {
		if r == markStart || r == markEnd || r == 0 {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(source, "\uFFFD"))
	in := []byte(source)
	root := m.parse.Parser().Parse(text.NewReader(in),
		parser.WithContext(parser.NewContext(parser.WithIDs(&headingIDs{prefix: prefix}))))
	fenced := adapt(root, in, prefix, top, own)
	var out bytes.Buffer
	if err := m.parse.Renderer().Render(&out, in, root); err != nil {
		return nil, false
	}
	return split(sanitize(out.Bytes(), prefix), fenced), true
}

// split cuts HTML at its marks.
func split(out string, fenced []block) []block {
	var blocks []block
	at := 0
	for _, m := range markPattern.FindAllStringSubmatchIndex(out, -1) {
		n, err := strconv.Atoi(out[m[2]:m[3]])
		if err != nil || n >= len(fenced) {
			continue
		}
		blocks = append(blocks, block{HTML: sanitized(out[at:m[0]])}, fenced[n])
		at = m[1]
	}
	return append(blocks, block{HTML: sanitized(out[at:])})
}

// sanitized declares HTML that sanitize has cleaned as safe.
func sanitized(s string) template.HTML {
	return template.HTML(s) //nolint:gosec // sanitize has cleaned it
}

// costly reports whether a text takes long to render: time grows with the square of brackets and
// marks of emphasis in a paragraph, and with the depth of lists and quotes.
func costly(source string) bool {
	sum, marks := 0, 0
	for line := range strings.Lines(source) {
		if strings.TrimSpace(line) == "" {
			marks = 0
		}
		if depthOf(line) > maxDepth {
			return true
		}
		before := marks
		for i := range len(line) {
			switch line[i] {
			case '[':
				marks += 2
			case '*', '_', '~':
				marks++
			}
		}
		if sum += marks*marks - before*before; sum > maxCost {
			return true
		}
	}
	return false
}

// depthOf returns how deep the start of a line nests quotes and lists, by its markers and by its
// indentation.
func depthOf(line string) int {
	markers, indent := 0, 0
	for i := 0; i < len(line); i++ {
		next := byte(' ')
		if i+1 < len(line) {
			next = line[i+1]
		}
		blank := next == ' ' || next == '\t'
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			indent++
		case c == '>', (c == '-' || c == '*' || c == '+') && blank:
			markers++
		case (c == '.' || c == ')') && i > 0 && isDigit(line[i-1]) && blank:
			markers++
		case isDigit(c) && (isDigit(next) || next == '.' || next == ')'):
		default:
			i = len(line)
		}
	}
	if markers == 0 {
		return 0
	}
	return max(markers, indent/2)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// adapt changes a parsed text for a page: images become links, headings go below those of the page
// without gaps, and fenced blocks of own languages become marks. It returns these blocks.
func adapt(root ast.Node, source []byte, prefix string, top int, own []string) []block {
	var fenced []block
	var images []*ast.Image
	var marks []*ast.FencedCodeBlock
	var levels []int
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Image:
			images = append(images, n)
		case *ast.Heading:
			for len(levels) > 0 && levels[len(levels)-1] >= n.Level {
				levels = levels[:len(levels)-1]
			}
			levels = append(levels, n.Level)
			n.Level = min(6, len(levels)+top-1)
		case *ast.Link:
			if id, is := bytes.CutPrefix(n.Destination, []byte("#")); is {
				n.Destination = append([]byte("#"+prefix), id...)
			}
		case *ast.FencedCodeBlock:
			if language := string(n.Language(source)); slices.Contains(own, language) {
				marks = append(marks, n)
				fenced = append(fenced, block{Language: language, Text: linesOf(n, source)})
			}
		}
		return ast.WalkContinue, nil
	}) // the function returns no error
	for i, n := range marks {
		n.Parent().ReplaceChild(n.Parent(), n, &mark{number: i})
	}
	for _, n := range images {
		linkImage(n)
	}
	return fenced
}

func linesOf(n ast.Node, source []byte) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(source))
	}
	return b.String()
}

// linkImage replaces an image by a link, whose text is that of the image or its address. In a link,
// only the text remains.
func linkImage(n *ast.Image) {
	parent := n.Parent()
	children := []ast.Node{}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		children = append(children, c)
	}
	if len(children) == 0 {
		children = append(children, ast.NewString(n.Destination))
	}
	for p := parent; p != nil; p = p.Parent() {
		if p.Kind() == ast.KindLink {
			for _, c := range children {
				parent.InsertBefore(parent, n, c)
			}
			parent.RemoveChild(parent, n)
			return
		}
	}
	link := ast.NewLink()
	link.Destination, link.Title = n.Destination, n.Title
	for _, c := range children {
		link.AppendChild(link, c)
	}
	parent.ReplaceChild(parent, n, link)
}

// headingIDs makes the ids of headings. They begin with a prefix, so that they differ from all other
// ids of the page.
type headingIDs struct {
	prefix string
	used   map[string]int
}

// Generate implements parser.IDs.
func (h *headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r == ' ', r == '-', r == '_':
			return '-'
		}
		return -1
	}, string(value))
	if h.used == nil {
		h.used = map[string]int{}
	}
	id = id[:min(len(id), 60)]
	h.used[id]++
	if n := h.used[id]; n > 1 || id == "" {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(h.prefix + id)
}

// Put implements parser.IDs.
func (h *headingIDs) Put([]byte) {}

// mark is the place of a fenced block with a language of its own.
type mark struct {
	ast.BaseBlock
	number int
}

var kindMark = ast.NewNodeKind("Mark")

// Kind implements ast.Node.
func (m *mark) Kind() ast.NodeKind { return kindMark }

// Dump implements ast.Node.
func (m *mark) Dump(source []byte, level int) { ast.DumpHelper(m, source, level, nil, nil) }

// markRenderer writes marks.
type markRenderer struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (markRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(kindMark, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (
		ast.WalkStatus, error,
	) {
		if m, is := n.(*mark); is && entering {
			_, _ = fmt.Fprintf(w, "%c%d%c\n", markStart, m.number, markEnd)
		}
		return ast.WalkContinue, nil
	})
}
