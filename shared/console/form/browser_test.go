package form_test

import (
	"net/url"
	"strings"

	"southbound/shared/console/form"
)

// browsed returns what a browser posts for a form, as the template of the console writes it.
func browsed(v form.View) url.Values {
	out := url.Values{}
	for _, t := range v.Tabs {
		for _, c := range t.Fields {
			browse(out, c)
		}
	}
	return out
}

func browse(out url.Values, c *form.Control) {
	if c.AsJSON {
		out.Add("json", c.Name)
	}
	if c.Optional && c.Null {
		out.Add("null", c.Name)
		out.Add("unset", c.Name)
	}
	if c.CanEmpty && c.Empty {
		out.Add("empty", c.Name)
	}
	switch c.Kind {
	case form.KindFixed:
	case form.KindCheck:
		if c.Value == "true" {
			out.Set(c.Name, "true")
		}
	case form.KindRadios, form.KindSelect:
		picked(out, c)
	case form.KindRelation:
		if len(c.Options) > 0 {
			picked(out, c)
		} else {
			out.Set(c.Name, c.Value)
		}
	case form.KindText, form.KindNumber:
		out.Set(c.Name, strings.NewReplacer("\r", "", "\n", "").Replace(c.Value))
	case form.KindArea, form.KindJSON:
		text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(c.Value)
		out.Set(c.Name, strings.ReplaceAll(text, "\n", "\r\n"))
	default:
		rows(out, c)
	}
}

func picked(out url.Values, c *form.Control) {
	if c.Kind != form.KindRadios && len(c.Options) > 0 {
		out.Set(c.Name, c.Options[0].Value)
	}
	for _, o := range c.Options {
		if o.Selected {
			out.Set(c.Name, o.Value)
		}
	}
}

func rows(out url.Values, c *form.Control) {
	if c.Kind == form.KindList || c.Kind == form.KindRelations {
		out.Set(c.Name+"/-", "")
	}
	for _, r := range c.Rows {
		if r.Kept != "" {
			out.Set("kept:"+r.Name, r.Kept)
		} else {
			out.Add("item", r.Name)
		}
		if c.Kind == form.KindDict {
			out.Set("key:"+r.Name, r.Key)
		}
		if r.Control != nil {
			browse(out, r.Control)
		}
		for _, f := range r.Fields {
			browse(out, f)
		}
	}
}

// find returns a control by its name; nil if there is none.
func find(v form.View, name string) *form.Control {
	var out *form.Control
	var walk func(all []*form.Control)
	walk = func(all []*form.Control) {
		for _, c := range all {
			if c.Name == name {
				out = c
			}
			for _, r := range c.Rows {
				if r.Control != nil && r.Control != c {
					walk([]*form.Control{r.Control})
				}
				walk(r.Fields)
				walk(r.Model)
			}
		}
	}
	for _, t := range v.Tabs {
		walk(t.Fields)
	}
	walk(v.Model)
	return out
}
