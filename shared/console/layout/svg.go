package layout

import (
	"cmp"
	"html"
	"math"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SVG returns the drawing as an element of a page in HTML. It has classes and attributes, no style,
// script or id. Boxes with a URL are links. All texts are escaped.
func (d *Drawing) SVG() string {
	b := &element{}
	b.open("svg", "class", "drawing", "viewBox", "0 0 "+strconv.Itoa(d.Width)+" "+
		strconv.Itoa(d.Height), "width", strconv.Itoa(d.Width), "height", strconv.Itoa(d.Height),
		"role", "group", "aria-label", plain(cmp.Or(d.Title, "Graph")))
	for i := range d.Lines {
		b.line(d, &d.Lines[i])
	}
	for i := range d.Boxes {
		b.box(&d.Boxes[i])
	}
	b.close("svg")
	return b.String()
}

// element writes elements.
type element struct{ strings.Builder }

// open writes a start tag with pairs of attributes. Attributes with an empty value are left out.
func (b *element) open(name string, attributes ...string) {
	b.WriteString("<" + name)
	for i := 0; i < len(attributes); i += 2 {
		if attributes[i+1] != "" {
			b.WriteString(" " + attributes[i] + `="` + html.EscapeString(attributes[i+1]) + `"`)
		}
	}
	b.WriteString(">")
}

func (b *element) close(name string) { b.WriteString("</" + name + ">") }

// text writes an element that holds a text.
func (b *element) text(name, text string, attributes ...string) {
	b.open(name, attributes...)
	b.WriteString(html.EscapeString(text))
	b.close(name)
}

func (b *element) line(d *Drawing, l *Line) {
	class := "line"
	if l.Back {
		class += " back"
	}
	b.open("g", "class", join(class, l.Class))
	b.text("title", l.title(d))
	var path strings.Builder
	for i, p := range l.Points {
		path.WriteByte("ML"[min(i, 1)])
		path.WriteString(strconv.Itoa(p.X) + " " + strconv.Itoa(p.Y))
	}
	b.open("path", "d", path.String())
	b.close("path")
	b.open("path", "class", "head", "d", head(l.Points))
	b.close("path")
	if l.Label.W > 0 {
		b.text("text", cut(plain(l.Label.Text), labelCells),
			"x", strconv.Itoa(l.Label.X+l.Label.W/2), "y", strconv.Itoa(l.Label.Y+13),
			"text-anchor", "middle")
	}
	b.close("g")
}

// title returns the description of a line.
func (l *Line) title(d *Drawing) string {
	if l.Title != "" {
		return plain(l.Title)
	}
	title := plain(d.Boxes[l.From].Title) + " → " + plain(d.Boxes[l.To].Title)
	if l.Edge.Label != "" {
		title += ": " + plain(l.Edge.Label)
	}
	return title
}

// head returns the triangle at the end of a line.
func head(points []Point) string {
	if len(points) < 2 {
		return ""
	}
	from, to := points[len(points)-2], points[len(points)-1]
	dx, dy := float64(to.X-from.X), float64(to.Y-from.Y)
	length := math.Hypot(dx, dy)
	if length == 0 {
		return ""
	}
	dx, dy = dx/length, dy/length
	at := func(back, side float64) string {
		return strconv.FormatFloat(float64(to.X)-float64(dx*back)-float64(dy*side), 'f', 1, 64) +
			" " + strconv.FormatFloat(float64(to.Y)-float64(dy*back)+float64(dx*side), 'f', 1, 64)
	}
	return "M" + at(0, 0) + "L" + at(8, 4) + "L" + at(8, -4) + "Z"
}

func (b *element) box(x *Box) {
	class := "box"
	if x.Current {
		class += " current"
	}
	name, class := "g", join(class, x.Status.Class)
	if link := safe(x.URL); link != "" {
		name = "a"
		b.open(name, "href", link, "class", class)
	} else {
		b.open(name, "class", class)
	}
	b.text("title", x.title())
	b.open("rect", "x", strconv.Itoa(x.X), "y", strconv.Itoa(x.Y), "width", strconv.Itoa(x.W),
		"height", strconv.Itoa(x.H), "rx", "5")
	b.close("rect")
	left, right := strconv.Itoa(x.X+9), strconv.Itoa(x.X+x.W-9)
	second := plain(x.Status.Word)
	y := x.Y + 19
	if second == "" && x.Count == 0 {
		y = x.Y + x.H/2 + 5
	}
	b.text("text", cut(plain(x.Title), titleCells), "class", "name", "x", left,
		"y", strconv.Itoa(y))
	if second != "" {
		b.icon(x)
		b.text("text", cut(second, titleCells-4), "class", "status", "x", strconv.Itoa(x.X+27),
			"y", strconv.Itoa(x.Y+37))
	}
	if x.Count > 0 {
		b.text("text", strconv.Itoa(x.Count), "class", "count", "x", right,
			"y", strconv.Itoa(x.Y+37), "text-anchor", "end")
	}
	b.close(name)
}

// icon writes the symbol of the status, which the page defines.
func (b *element) icon(x *Box) {
	name := join("", x.Status.Icon)
	if name == "" {
		return
	}
	b.open("use", "href", "#"+name, "x", strconv.Itoa(x.X+9), "y", strconv.Itoa(x.Y+26),
		"width", "13", "height", "13")
	b.close("use")
}

// title returns the whole text of a box.
func (b *Box) title() string {
	parts := []string{plain(b.Title)}
	if b.Count > 0 {
		parts = append(parts, strconv.Itoa(b.Count))
	}
	for _, s := range []string{b.Status.Word, b.Hint} {
		if s != "" {
			parts = append(parts, plain(s))
		}
	}
	return strings.Join(parts, " · ")
}

// safe returns a URL that a link may have: one within the site, or one with http or https. It
// returns "" for all others.
func safe(link string) string {
	u, err := url.Parse(link)
	if err != nil || !utf8.ValidString(link) || (u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https") ||
		u.Opaque != "" || strings.ContainsAny(link, "\\\t\r\n") {
		return ""
	}
	if u.Scheme == "" && u.Host != "" {
		return ""
	}
	return link
}

// join returns classes. It removes from the second one all characters that a name has not.
func join(class, more string) string {
	more = strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') || r == '-' {
			return r
		}
		return -1
	}, more)
	return strings.TrimSpace(class + " " + more)
}
