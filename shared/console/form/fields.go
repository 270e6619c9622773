package form

import (
	"fmt"
	"slices"
	"strings"

	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// maxRadios is the number of values of an enum that are shown as radio buttons.
const maxRadios = 4

// longText is the length in characters from which texts have several lines.
const longText = 255

func (v *viewer) attribute(c *Control, a *definition.Attribute, d *Draft) {
	s := v.form.suggested(a.Annotations, v.from)
	c.Suggestions, c.More, c.Parameter = s.options, s.long, s.parameter
	v.searched(c)
	u, note := unit(a)
	c.Unit = u
	for _, n := range []string{s.note, note} {
		if n != "" {
			c.Notes = append(c.Notes, n)
		}
	}
	c.Optional, c.Null = a.Optional(), d.null && a.Optional()
	switch {
	case d.json:
		v.json(c, d)
		c.CanToggle = shapeOf(a) == shapeDict
	case a.List():
		v.list(c, a, d)
	default:
		v.value(c, a, d)
	}
	switch c.Kind {
	case KindRadios, KindSelect, KindNumber:
		c.EmptyIsNull = c.Optional && c.Kind == KindNumber
		c.Optional, c.Null = false, false // the control itself can say it
	}
}

func (v *viewer) json(c *Control, d *Draft) {
	c.Kind, c.Value, c.AsJSON = KindJSON, d.text, true
}

func (v *viewer) value(c *Control, a *definition.Attribute, d *Draft) {
	c.Value = d.text
	switch shapeOf(a) {
	case shapeBool:
		c.Kind, c.Required = KindCheck, false
		if a.Optional() && !a.List() {
			c.Kind = KindRadios
			c.Options = []Option{
				{"true", "Yes", d.text == "true"}, {"false", "No", d.text == "false"},
				{"", "Not set", d.text == ""},
			}
		}
	case shapeNumber:
		c.Kind, c.Mode = KindNumber, "decimal"
		if a.Base() == "int" {
			c.Mode = "numeric"
		}
	case shapeChoice:
		v.choices(c, a, d)
	case shapeDict:
		v.dict(c, d)
	case shapeJSON:
		v.json(c, d)
	default:
		c.Kind, c.Pattern = KindText, Pattern(a)
		c.CanEmpty, c.Empty = !c.Optional, d.empty
		if isLong(a) || strings.Contains(d.text, "\n") {
			c.Kind, c.Pattern = KindArea, ""
		}
	}
}

// isLong reports whether a text may have more characters than a line shows.
func isLong(a *definition.Attribute) bool {
	text, is := numberText(a.ValidationParam["max_length"])
	if a.ValidationType == nil || !is {
		return false
	}
	var n float64
	_, err := fmt.Sscan(text, &n)
	return err == nil && n > longText
}

func (v *viewer) choices(c *Control, a *definition.Attribute, d *Draft) {
	c.Rule = "" // the values are in sight
	known := false
	optional := a.Optional() && !a.List()
	for _, one := range choices(a) {
		o := Option{Value: choice(one), Label: Shown(one), Selected: choice(one) == d.text}
		if o.Label == "" {
			o.Label = "(empty text)"
		}
		known = known || o.Selected
		c.Options = append(c.Options, o)
	}
	if d.text != "" && !known {
		c.Options = append(c.Options, Option{d.text, d.text + " (no longer offered)", true})
	}
	c.Kind = KindRadios
	none := Option{"", "Not set", d.text == ""}
	if len(choices(a)) > maxRadios || a.List() {
		c.Kind = KindSelect
		if !optional {
			none.Label = "Choose"
		}
		if optional || !a.DefaultSet || d.text == "" || a.List() {
			c.Options = append([]Option{none}, c.Options...)
		}
		return
	}
	if optional {
		c.Options = append(c.Options, none)
	}
}

func (v *viewer) dict(c *Control, d *Draft) {
	c.Kind, c.CanAdd, c.CanToggle = KindDict, true, true
	for i, one := range d.items {
		row := &Row{
			Name: item(c.Name, i), ID: id(item(c.Name, i)), Title: rowTitle(i), Key: one.key,
			CanRemove: true, First: i == 0, Last: i == len(d.items)-1,
		}
		row.Control = &Control{
			Kind: KindText, Name: row.Name, ID: row.ID, Title: "Value", Value: one.text,
			Path: c.Path + " › " + row.Title,
		}
		if strings.Contains(one.text, "\n") {
			row.Control.Kind = KindArea
		}
		v.put(row.Name, row.ID, row.Control.Path, &row.Control.Errors, nil)
		v.all = append(v.all, row.Control)
		c.Rows = append(c.Rows, row)
	}
}

func (v *viewer) list(c *Control, a *definition.Attribute, d *Draft) {
	c.Kind, c.CanAdd = KindList, true
	for i, one := range d.items {
		row := v.row(c, i, len(d.items))
		row.Control = &Control{
			Name: row.Name, ID: row.ID, Title: c.Title + ", " + row.Title, Unit: c.Unit,
			Path: c.Path + " › " + row.Title, Suggestions: c.Suggestions, Required: true,
			More: c.More, Parameter: c.Parameter,
		}
		v.searched(row.Control)
		v.put(row.Name, row.ID, row.Control.Path, &row.Control.Errors, nil)
		v.all = append(v.all, row.Control)
		if one.json {
			v.json(row.Control, one)
		} else {
			v.value(row.Control, a, one)
			row.Control.CanToggle = false
		}
		c.Rows = append(c.Rows, row)
	}
}

// row returns a row that can be removed and moved.
func (v *viewer) row(c *Control, i, n int) *Row {
	return &Row{
		Name: item(c.Name, i), ID: id(item(c.Name, i)), Title: rowTitle(i), CanRemove: true,
		CanMove: true, First: i == 0, Last: i == n-1,
	}
}

func (v *viewer) members(c *Control, one *field, d *Draft, base any, in scope) {
	e := one.embedded
	c.Type, c.Required = Limits(e.Limits), e.Lower > 0
	switch {
	case d.json:
		v.json(c, d)
	case !e.Many():
		v.member(c, one, d, base, in)
	default:
		v.memberRows(c, one, d, base, in)
	}
}

func (v *viewer) member(c *Control, one *field, d *Draft, base any, in scope) {
	e := one.embedded
	c.Kind, c.There = KindOne, d.there || e.Lower > 0
	c.CanAdd = one.mood == asked && e.Lower == 0
	if one.mood == locked {
		c.Limit = "set at creation: it cannot be added or removed"
	}
	if !c.There {
		return
	}
	row := &Row{
		Name: c.Name, ID: c.ID, Kept: keptText(d), CanRemove: c.CanAdd,
	}
	v.fill(row, one, d, c.Path, base, in)
	c.Rows = []*Row{row}
}

// fill adds the controls of a member to its row.
func (v *viewer) fill(row *Row, one *field, d *Draft, path string, base any, in scope) {
	var was map[string]any
	if d.isKept() && !in.fresh {
		was = member(one.embedded, base, d.kept)
	}
	if was == nil {
		row.Kept = ""
	}
	row.Fields, row.Model = v.part(&one.embedded.Part, d, row.Name, path, was,
		scope{fresh: was == nil})
}

// memberRows makes the rows of a list of members.
func (v *viewer) memberRows(c *Control, one *field, d *Draft, base any, in scope) {
	e := one.embedded
	c.Kind = KindMembers
	full := e.Upper != nil && len(d.items) >= *e.Upper
	least := len(d.items) <= e.Lower
	c.CanAdd = one.mood == asked && !full
	switch {
	case one.mood == locked:
		c.Limit = "set at creation: entries cannot be added, removed or moved"
	case full && least:
		c.Limit = fmt.Sprintf("it has exactly %s", counted(e.Lower, "entry", "entries"))
	case full:
		c.Limit = fmt.Sprintf("it has at most %s; remove one to add another", counted(*e.Upper, "entry", "entries"))
	case least && len(d.items) > 0:
		c.Limit = fmt.Sprintf("it has at least %s; add one to remove another", counted(e.Lower, "entry", "entries"))
	}
	for i, m := range d.items {
		row := v.row(c, i, len(d.items))
		row.CanMove = one.mood == asked
		row.CanRemove = row.CanMove && (!least || !m.isKept())
		row.Kept = keptText(m)
		row.Title = memberTitle(e, m, i)
		path := c.Path + " › " + row.Title
		v.put(row.Name, row.ID, path, &row.Errors, nil)
		v.fill(row, one, m, path, base, in)
		c.Rows = append(c.Rows, row)
	}
}

// memberTitle returns the keys of a member, or its number.
func memberTitle(e *definition.Embedded, d *Draft, i int) string {
	var keys []string
	for n, k := range e.KeyAttributes {
		text := d.part(k).text
		if d.isKept() {
			text = d.kept[min(n, len(d.kept)-1)]
		}
		if text != "" {
			keys = append(keys, text)
		}
	}
	if len(keys) == 0 {
		return rowTitle(i)
	}
	return strings.Join(keys, ", ")
}

func (v *viewer) relation(c *Control, r *definition.Relation, d *Draft) {
	c.Type = "instance of " + r.Service + ", " + Limits(r.Limits)
	c.Service, c.Required = r.Service, r.Lower > 0
	options, more := v.from.Instances[r.Service], v.from.More[r.Service]
	if d.json {
		v.json(c, d)
		return
	}
	if !r.Many() {
		c.Kind = KindRelation
		v.instance(c, r, d.text, options, more)
		return
	}
	c.Kind, c.CanAdd = KindRelations, true
	for i, one := range d.items {
		row := v.row(c, i, len(d.items))
		row.Control = &Control{
			Kind: KindRelation, Name: row.Name, ID: row.ID, Title: c.Title + ", " + row.Title,
			Path: c.Path + " › " + row.Title, Service: r.Service, Required: true,
		}
		v.put(row.Name, row.ID, row.Control.Path, &row.Control.Errors, nil)
		v.all = append(v.all, row.Control)
		v.instance(row.Control, r, one.text, options, more)
		c.Rows = append(c.Rows, row)
	}
}

// searched replaces the suggestions of a control by those that a search has found for it, and names
// the URL of further searches.
func (v *viewer) searched(c *Control) {
	if found, has := v.from.Found[c.Name]; has {
		c.Suggestions, c.More = found, true
	}
	if c.More && v.from.URL != nil {
		c.URL = v.from.URL(c.Service, c.Parameter)
	}
}

func offers(all []Option, value string) bool {
	return slices.ContainsFunc(all, func(o Option) bool { return o.Value == value })
}

// instance offers instances: all of them, or suggestions if there are more.
func (v *viewer) instance(
	c *Control, r *definition.Relation, text string, options []Option, more bool,
) {
	c.Value, c.More, c.Suggestions = text, more, options
	if v.searched(c); c.More {
		if link, has := v.from.Links[text]; has && !offers(c.Suggestions, text) {
			c.Suggestions = append([]Option{{Value: text, Label: link.Name}}, c.Suggestions...)
		}
		return
	}
	c.Suggestions = nil
	known := text == ""
	none := Option{"", "None", text == ""}
	if c.Required {
		none.Label = "Choose"
	}
	c.Options = []Option{none}
	for _, o := range options {
		o.Selected = inventory.Called(o.Value, text)
		known = known || o.Selected
		c.Options = append(c.Options, o)
	}
	if !known {
		c.Options = append(c.Options, Option{text, text, true})
	}
}
