package form

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"southbound/shared/diag"
	"southbound/shared/service/definition"
)

// View is a form as finished texts.
type View struct {
	// Tabs are the groups of the form; one with an empty label if the form has no tabs.
	Tabs []Tab
	// Model are the values that only the model sets.
	Model    []*Control
	Notes    []string  // about wrong annotations
	Mistakes []Mention // all problems, in the order of the form
}

// Tab is a group of controls.
type Tab struct {
	Key, Label string
	Fields     []*Control
	Errors     int
	Chosen     bool
}

// Mention is a problem of a form in its summary.
type Mention struct {
	ID    string // of the control; "": the problem fits none
	Title string // of the control
	Problem
}

// Problem is a problem of a value.
type Problem struct{ Text, Hint string }

// Kinds of controls.
const (
	KindText      = "text"
	KindArea      = "textarea"
	KindNumber    = "number"
	KindCheck     = "checkbox"
	KindRadios    = "radios"
	KindSelect    = "select"
	KindJSON      = "json"
	KindDict      = "dict"
	KindList      = "list"
	KindOne       = "one"       // a member
	KindMembers   = "members"   // a list of members
	KindRelation  = "relation"  // an instance
	KindRelations = "relations" // a list of instances
	KindFixed     = "fixed"     // a value that cannot be changed
)

// Control is a value of a form.
//
// Large: it is the data of one template, and each kind of control uses a part of it.
type Control struct {
	Kind  string
	Name  string // JSON pointer
	ID    string
	Title string
	Path  string // the titles of the value and the values around it
	Code  string // the name of the attribute
	// Help is the description, Type and Rule say which values are permitted, in words.
	Help, Type, Rule string
	Default          string // in words; "" for none
	Unit             string
	Required         bool
	Optional, Null   bool // it may be "not set", and is
	EmptyIsNull      bool // an empty field means "not set"
	CanEmpty, Empty  bool // its text may be empty on purpose, and is
	AsJSON           bool // the value is posted as JSON
	CanToggle        bool // it can be switched between rows and JSON
	Value            string
	Pattern          string
	Mode             string // the keyboard: numeric or decimal
	Options          []Option
	Suggestions      []Option
	Service          string // of a relation
	Parameter        string // with the suggested values
	More             bool   // there are further instances or values
	URL              string // at which these are searched
	Links            []Link // of a relation of KindFixed
	Rows             []*Row
	CanAdd           bool
	Limit            string // why nothing can be added or removed
	There            bool   // of KindOne
	Why              string // of KindFixed: why it cannot be changed
	Annotations      []Pair
	Notes            []string
	Errors           []Problem
	Described        string // the ids of the texts about it
	Focus            bool
	Wrong            int // problems of the value and of all values in it
	tab              string
}

// Row is an item of a list or a member.
type Row struct {
	Name      string // JSON pointer
	ID        string
	Title     string
	Kept      string   // the value of the control kept:NAME; "": the row is new
	Key       string   // of a dict
	Control   *Control // of a list, dict or relation
	Fields    []*Control
	Model     []*Control
	CanRemove bool
	CanMove   bool
	First     bool
	Last      bool
	Errors    []Problem
}

// View returns the controls of a form with its content and problems, whose pointers are names of
// controls.
func (f *Form) View(d *Draft, problems diag.Problems, from Sources) View {
	v := &viewer{form: f, from: &from, spots: map[string]spot{}}
	tabs, note := f.tabs()
	fields, model := v.part(&f.Service.Part, d, "", "", f.Base, f.root())
	out := View{Model: model, Mistakes: v.place(problems)}
	if note != "" {
		out.Notes = []string{note + "; all values are in one column"}
	}
	if len(tabs) == 0 {
		out.Tabs = []Tab{{Fields: fields, Chosen: true}}
	}
	for _, t := range tabs {
		one := Tab{Key: t.key, Label: t.label}
		for _, c := range fields {
			if c.tab == t.key || c.tab == "" && t.standard {
				one.Fields = append(one.Fields, c)
				one.Errors += c.Wrong
			}
		}
		out.Tabs = append(out.Tabs, one)
	}
	chooseTab(out.Tabs)
	for _, s := range v.all {
		s.describe()
	}
	return out
}

// describe names the texts about a control by their ids.
func (c *Control) describe() {
	var ids []string
	if c.Help != "" || c.Type != "" || c.Rule != "" || c.Default != "" || len(c.Notes) > 0 {
		ids = append(ids, c.ID+".h")
	}
	if len(c.Errors) > 0 {
		ids = append(ids, c.ID+".e")
	}
	c.Described = strings.Join(ids, " ")
}

// HasHelp reports whether there are texts about the values of a control.
func (c *Control) HasHelp() bool { return strings.Contains(c.Described, ".h") }

// chooseTab chooses the first tab with problems, or else the first one.
func chooseTab(tabs []Tab) {
	for i := range tabs {
		if tabs[i].Errors > 0 {
			tabs[i].Chosen = true
			return
		}
	}
	if len(tabs) > 0 {
		tabs[0].Chosen = true
	}
}

// viewer makes controls.
type viewer struct {
	form  *Form
	from  *Sources
	spots map[string]spot
	order []string // pointers of spots
	all   []*Control
}

// spot is a place for problems.
type spot struct {
	id, path string
	errors   *[]Problem
	outer    []*Control // the controls around it, and itself
}

// put registers the place for the problems of a pointer.
func (v *viewer) put(at, id, path string, errors *[]Problem, own *Control) {
	s := spot{id: id, path: path, errors: errors}
	for i := strings.LastIndexByte(at, '/'); i > 0; i = strings.LastIndexByte(at[:i], '/') {
		if up, has := v.spots[at[:i]]; has {
			s.outer = append(s.outer, up.outer...)
			break
		}
	}
	if own != nil {
		v.all = append(v.all, own)
		s.outer = append(s.outer, own)
	}
	v.spots[at] = s
	v.order = append(v.order, at)
}

// place puts problems beside their controls, and returns the summary.
func (v *viewer) place(problems diag.Problems) []Mention {
	by := map[string][]Mention{}
	var out []Mention
	for _, p := range problems {
		m := Mention{Problem: Problem{Text: p.Message, Hint: p.Hint}}
		at := p.Pointer
		for at != "" && v.spots[at].errors == nil {
			at = at[:max(0, strings.LastIndexByte(at, '/'))]
		}
		s, has := v.spots[at]
		if !has {
			if m.Title = p.Attribute; p.Pointer != "" {
				m.Title = p.Pointer
			}
			out = append(out, m)
			continue
		}
		m.ID, m.Title = s.id, s.path
		*s.errors = append(*s.errors, m.Problem)
		for _, c := range s.outer {
			c.Wrong++
		}
		by[at] = append(by[at], m)
	}
	for _, at := range v.order {
		out = append(out, by[at]...)
	}
	return out
}

// part returns the controls of a part, and those of values that the model sets.
func (v *viewer) part(
	p *definition.Part, d *Draft, at, path string, base map[string]any, in scope,
) (fields, model []*Control) {
	for _, one := range v.form.fields(p, at, base, in) {
		if one.mood == hidden {
			continue
		}
		c := v.common(&one, path)
		v.put(c.Name, c.ID, c.Path, &c.Errors, c)
		switch {
		case one.mood == fixed:
			c.Type, c.Rule, c.Default = "", "", ""
			c.Kind, c.Value, c.Why = KindFixed, fixedText(base[one.name]), v.why(p, &one, in)
			if one.relation != nil {
				c.Links = v.links(base[one.name])
			}
			if one.modifier() == definition.ReadOnly {
				model = append(model, c)
				continue
			}
		case one.attribute != nil:
			v.attribute(c, one.attribute, d.part(one.name))
		case one.embedded != nil:
			v.members(c, &one, d.part(one.name), base[one.name], in)
		default:
			v.relation(c, one.relation, d.part(one.name))
		}
		fields = append(fields, c)
	}
	return fields, model
}

// links returns the instances that the value of a relation names.
func (v *viewer) links(value any) []Link {
	ids, is := value.([]any)
	if !is {
		ids = []any{value}
	}
	var out []Link
	for _, one := range ids {
		if id, is := one.(string); is && id != "" {
			link, has := v.from.Links[id]
			if !has {
				link.Name = id
			}
			out = append(out, link)
		}
	}
	return out
}

// modifier returns the modifier of a value.
func (f *field) modifier() definition.Modifier {
	switch {
	case f.attribute != nil:
		return f.attribute.Modifier
	case f.embedded != nil:
		return f.embedded.Modifier
	}
	return f.relation.Modifier
}

// why returns why a value cannot be changed.
func (v *viewer) why(p *definition.Part, one *field, in scope) string {
	if one.modifier() == definition.ReadOnly {
		return "set by the model"
	}
	if identifies(p, *one, in) {
		return "identifies the entry and cannot be changed; remove the entry and add another"
	}
	return "set at creation and cannot be changed"
}

// fixedText returns a value that cannot be changed as text.
func fixedText(v any) string {
	switch v := v.(type) {
	case nil:
		return "not set"
	case []any, map[string]any:
		return encoded(v)
	case string:
		if v == "" {
			return "(empty text)"
		}
	}
	return Shown(v)
}

// common returns a control with the texts that all kinds have.
func (v *viewer) common(one *field, path string) *Control {
	c := &Control{
		Name: one.at, ID: id(one.at), Title: Title(one.name), Code: one.name,
		Help: one.description(), Annotations: pairs(one.annotations()),
	}
	if c.Path = c.Title; path != "" {
		c.Path = path + " › " + c.Title
	}
	c.tab, _ = one.annotations()[webTab].(string)
	if a := one.attribute; a != nil {
		c.Type, c.Rule = Type(a), Rule(a)
		if a.DefaultSet {
			c.Default = DefaultText(a.Default)
		}
		c.Required = !a.DefaultSet && !a.Optional() && !a.List()
	}
	return c
}

// DefaultText returns a default value in words.
func DefaultText(v any) string {
	switch v := v.(type) {
	case nil:
		return "not set"
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case string:
		if v == "" {
			return "empty text"
		}
	case []any:
		if len(v) == 0 {
			return "empty list"
		}
	case map[string]any:
		if len(v) == 0 {
			return "empty object"
		}
	}
	return Shown(v)
}

func keptText(d *Draft) string {
	if !d.isKept() {
		return ""
	}
	b, err := json.Marshal(d.kept)
	if err != nil {
		return "" // texts always encode
	}
	return string(b)
}

// id returns the id of a control.
func id(name string) string {
	var b strings.Builder
	b.WriteByte('f')
	for _, r := range name {
		if r <= ' ' || r == ':' || unicode.IsSpace(r) || unicode.IsControl(r) {
			fmt.Fprintf(&b, ":%x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// rowTitle returns the title of an item.
func rowTitle(i int) string { return fmt.Sprintf("Item %d", i+1) }

// Focus marks the control that is edited next, or the first control of its row.
func (v *View) Focus(name string) {
	if name == "" {
		return
	}
	for i := range v.Tabs {
		if !focus(v.Tabs[i].Fields, name) {
			continue
		}
		for n := range v.Tabs {
			v.Tabs[n].Chosen = n == i
		}
		return
	}
}

func focus(all []*Control, name string) bool {
	for _, c := range all {
		if c.Name == name && len(c.Rows) == 0 {
			c.Focus = true
			return true
		}
		for _, row := range c.Rows {
			if row.Control != nil && row.Control.Name == name {
				row.Control.Focus = true
				return true
			}
			if row.Name == name && len(row.Fields) > 0 && row.Fields[0].Name != name {
				return focus(row.Fields, row.Fields[0].Name)
			}
			if focus(row.Fields, name) {
				return true
			}
		}
	}
	return false
}

// Control returns a control by its name; nil if there is none.
func (v *View) Control(name string) *Control {
	for i := range v.Tabs {
		if c := control(v.Tabs[i].Fields, name); c != nil {
			return c
		}
	}
	return nil
}

func control(all []*Control, name string) *Control {
	for _, c := range all {
		if c.Name == name {
			return c
		}
		for _, row := range c.Rows {
			if row.Control != nil && row.Control.Name == name {
				return row.Control
			}
			if found := control(row.Fields, name); found != nil {
				return found
			}
		}
	}
	return nil
}
