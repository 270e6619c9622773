package console

import (
	"html/template"
	"strconv"
	"strings"
)

// markup writes the rows of lists that would take html/template ten times as long. Its methods write
// the same as the blocks of templates with their names, which TestMarkup compares.
type markup struct{ b strings.Builder }

// tags is HTML that the program contains: constants only, never a text of a model, a host or a user.
type tags string

// put writes pairs of tags and a text. The text is escaped for elements and for values of attributes
// in double quotes.
func (m *markup) put(t tags, text string) *markup {
	m.b.WriteString(string(t))
	m.b.WriteString(template.HTMLEscapeString(text))
	return m
}

// end writes tags.
func (m *markup) end(t tags) *markup {
	m.b.WriteString(string(t))
	return m
}

// html returns the written HTML.
func (m *markup) html() template.HTML {
	return template.HTML(m.b.String()) //nolint:gosec // put escapes all texts
}

// link writes the beginning of a tag with an address of this server; another address is left out.
func (m *markup) link(t tags, url string) *markup {
	if !strings.HasPrefix(url, "/") || strings.HasPrefix(url, "//") {
		url = "#"
	}
	return m.put(t, url)
}

func (m *markup) status(s *statusView) {
	m.put(`<span class="status `, s.Tone).put(`"><svg class="icon" aria-hidden="true"><use href="#i-`, s.Icon).
		put(`"/></svg>`, s.Word).end(`</span>`)
}

func (m *markup) time(t *timeView) {
	if t.Machine == "" {
		m.end("–")
		return
	}
	m.put(`<time datetime="`, t.Machine).put(`" title="`, t.UTC).put(`">`, t.Text).end(`</time>`)
	if t.Ago != "" {
		m.put(` <span class="ago">`, t.Ago).end(`</span>`)
	}
}

func (m *markup) ref(r *resourceRef) {
	m.link(`<a class="ref" href="`, r.URL).put(`" title="`, r.Whole).end(`">`)
	if r.Type != "" {
		m.put(`<span class="muted">`, r.Type).end(`</span> `)
	}
	if r.Agent != "" {
		m.put(`<span class="on">`, r.Agent).end(`</span> `)
	}
	m.put(`<b>`, r.Key).end(`</b></a>`)
}

// levels returns the number of lines of an action, and of those that are errors or warnings.
func levels(lines, errors, warnings int) template.HTML {
	if lines == 0 {
		return ""
	}
	var m markup
	m.put(`<span class="muted">`, plural(lines, "line"))
	if errors > 0 {
		m.put(`, <b class="bad">`, plural(errors, "error")).end(`</b>`)
	}
	if warnings > 0 {
		m.put(`, <b class="warn">`, plural(warnings, "warning")).end(`</b>`)
	}
	return m.end(`</span>`).html()
}

// actionRows returns the rows of the list of actions.
func actionRows(rows []actionRow) template.HTML {
	var m markup
	m.b.Grow(900 * len(rows))
	for i := range rows {
		row := &rows[i]
		m.put(`<tr id="`, row.Row).link(`"><td data-label="Ended"><a href="`, row.URL).end(`">`).time(&row.At)
		m.end(`</a>`)
		if row.Took != "" {
			m.put(`<br><span class="muted word">took `, row.Took).end(`</span>`)
		}
		m.end("</td>\n<th scope=\"row\" data-label=\"Resource\">").ref(&row.Of)
		m.put("</th>\n<td data-label=\"Action\">", row.Kind)
		if row.Change != "" {
			m.put(` <b>`, row.Change).end(`</b>`)
		}
		m.put(`<br><span class="muted">version `, strconv.Itoa(row.Version)).
			end("</span></td>\n<td data-label=\"Outcome\">").status(&row.Outcome)
		m.end("</td>\n<td class=\"text\" data-label=\"Reason\">")
		if row.Reason != "" {
			m.put("", row.Reason).end(" ")
		}
		m.b.WriteString(string(row.Levels))
		m.end("</td></tr>\n")
	}
	return m.html()
}
