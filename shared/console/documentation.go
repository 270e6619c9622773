package console

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"southbound/shared/service/definition"
)

// diagramPage is the page in which diagrams are drawn, and diagramPolicy its policy: the frame has
// an origin of its own, no forms, no navigation of the page around it and no connections. It reads
// only its own scripts; mermaid writes styles into the diagram.
const (
	diagramPage   = "diagram.html"
	diagramPolicy = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; " +
		"sandbox allow-scripts; frame-ancestors 'self'"
)

// Languages of fenced blocks that are not shown as code.
const (
	languageMermaid  = "mermaid"
	languageSetState = "setState"
)

// documentationPages returns no rows: documentation is part of the page of an instance.
func (s *site) documentationPages() []route { return nil }

// documentationView is the data of the template "documentation".
type documentationView struct {
	Tabs   []docTab
	Script string // draws diagrams; "": there are none
}

// docTab is the content of one attribute. A single one has neither title nor icon.
type docTab struct {
	ID    string
	Title string
	Icon  iconView
	Open  bool
	Parts []docPart
	Plain string // the text, if it cannot be rendered
	Empty bool
}

// docPart is a part of a text: HTML, a diagram, or a button that sets the state of the instance.
type docPart struct {
	block
	Frame string // the page that draws the diagram; "": its text is shown
	Name  string // of the diagram: its first line
	Form  *transferForm
	Note  string // why there is no button
	Label string // of the button
}

// transferForm is a form that sets the state of an instance: the URL that it posts to, and its hidden
// fields.
type transferForm struct {
	Action string
	Fields [][2]string
}

// documentation returns the texts that a service documents its instances with: the attributes with
// the annotation web_presentation "documentation", which only the model writes. offer returns the
// form that sets a state; nil: this transfer is not offered now.
func (s *site) documentation(
	r *request, def *definition.Service, attributes map[string]any,
	offer func(target string) *transferForm,
) documentationView {
	var v documentationView
	var order []float64
	texts := slices.DeleteFunc(slices.Clone(def.Attributes), func(a definition.Attribute) bool {
		return a.Modifier != definition.ReadOnly || a.Annotations["web_presentation"] != "documentation"
	})
	top := 2 // of headings: below the title of the page, or of the card
	if len(texts) > 1 {
		top = 3
	}
	for _, a := range texts {
		tab := docTab{ID: "doc-" + a.Name, Title: titleOf(&a), Open: true}
		if name, is := a.Annotations["web_icon"].(string); is {
			tab.Icon = s.icons.find(name)
		}
		if open, is := a.Annotations["web_default_open"].(bool); is {
			tab.Open = open
		}
		s.fill(r, &tab, textOf(attributes, &a), top, offer)
		at, _ := slices.BinarySearch(order, orderOf(&a)+1e-9) // after those with the same order
		order = slices.Insert(order, at, orderOf(&a))
		v.Tabs = slices.Insert(v.Tabs, at, tab)
	}
	for _, tab := range v.Tabs {
		if slices.ContainsFunc(tab.Parts, func(p docPart) bool { return p.Frame != "" }) {
			v.Script = r.root(s.files.url("drawing.js"))
		}
	}
	if len(v.Tabs) == 1 {
		v.Tabs[0].Title, v.Tabs[0].Icon = "", iconView{}
	}
	return v
}

// textOf returns the text of an attribute; its default if the set has no value.
func textOf(attributes map[string]any, a *definition.Attribute) string {
	value, has := attributes[a.Name]
	if !has {
		value = a.Default
	}
	text, _ := value.(string)
	return text
}

// titleOf returns the title of a text: that of the annotation, otherwise the name of the attribute
// in words.
func titleOf(a *definition.Attribute) string {
	if title, is := a.Annotations["web_title"].(string); is && strings.TrimSpace(title) != "" {
		return title
	}
	words := strings.TrimSpace(strings.ReplaceAll(a.Name, "_", " "))
	return strings.ToUpper(words[:min(1, len(words))]) + words[min(1, len(words)):]
}

// orderOf returns the annotation web_order; texts without it come last.
func orderOf(a *definition.Attribute) float64 {
	switch n := a.Annotations["web_order"].(type) {
	case float64:
		return n
	case int:
		return float64(n)
	case json.Number:
		f, err := n.Float64()
		if err == nil {
			return f
		}
	}
	return 1e6
}

// fill renders the text of a tab.
func (s *site) fill(
	r *request, tab *docTab, text string, top int, offer func(target string) *transferForm,
) {
	if tab.Empty = strings.TrimSpace(text) == ""; tab.Empty {
		return
	}
	blocks, ok := s.markdown.render(text, tab.ID+"-", top, languageMermaid, languageSetState)
	if !ok {
		tab.Plain = text[:min(len(text), maxMarkdown/8)]
		if len(tab.Plain) < len(text) {
			tab.Plain = strings.ToValidUTF8(tab.Plain, "") + "…"
		}
		return
	}
	for _, b := range blocks {
		part := docPart{block: b}
		switch b.Language {
		case languageMermaid:
			part.Name = firstLine(b.Text)
			if s.hasDiagrams() {
				part.Frame = s.root(s.files.url(diagramPage))
			}
		case languageSetState:
			part.setState(r, offer)
		}
		tab.Parts = append(tab.Parts, part)
	}
}

// firstLine returns the first line of a diagram that has text, as the name of its frame.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "%%") {
			return cut(line, 80).Text
		}
	}
	return "diagram"
}

// setState makes a button of a block with a target state, if that transfer is offered now.
func (p *docPart) setState(r *request, offer func(target string) *transferForm) {
	var block struct {
		TargetState string `json:"targetState"`
		DisplayText string `json:"displayText"`
	}
	if err := json.Unmarshal([]byte(p.Text), &block); err != nil || block.TargetState == "" {
		p.Note = "This button is invalid: it needs targetState and displayText as JSON."
		return
	}
	p.Label = cmp.Or(strings.TrimSpace(block.DisplayText), "Set state "+block.TargetState)
	if !r.canChange() || offer == nil {
		p.Note = p.Label + ": not offered here."
		return
	}
	if p.Form = offer(block.TargetState); p.Form == nil {
		p.Note = p.Label + ": not offered in this state."
	}
}
