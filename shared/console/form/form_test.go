package form_test

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"southbound/shared/console/form"
	"southbound/shared/diag"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// part returns a part from JSON. Attributes are rw+ if they state no modifier.
func part(t *testing.T, text string) definition.Part {
	t.Helper()
	var out definition.Part
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	writable(&out)
	return out
}

func writable(p *definition.Part) {
	for i := range p.Attributes {
		if p.Attributes[i].Modifier == "" {
			p.Attributes[i].Modifier = definition.ReadWrite
		}
	}
	for i := range p.Relations {
		if p.Relations[i].Modifier == "" {
			p.Relations[i].Modifier = definition.ReadWrite
		}
	}
	for i := range p.Embedded {
		if p.Embedded[i].Modifier == "" {
			p.Embedded[i].Modifier = definition.ReadWrite
		}
		writable(&p.Embedded[i].Part)
	}
}

// one returns the form of a service with one attribute, a.
func one(t *testing.T, attribute string) *form.Form {
	t.Helper()
	return &form.Form{Service: &definition.Service{Name: "s",
		Part: part(t, `{"attributes":[{"name":"a",`+attribute+`}]}`)}}
}

func query(t *testing.T, text string) url.Values {
	t.Helper()
	out, err := url.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// answer returns the attributes of a posted form as JSON, or the first problem.
func answer(t *testing.T, f *form.Form, posted string) string {
	t.Helper()
	d, problems := f.Read(query(t, posted))
	values, more := f.Values(d)
	problems = append(problems, more...)
	if len(problems) == 0 {
		problems = f.Check(values)
	}
	if len(problems) > 0 {
		return problems[0].Pointer + ": " + problems[0].Message
	}
	return text(values)
}

const (
	enum3 = `"validation_type":"enum","validation_parameters":{"values":["x","y","z"]}`
	enum5 = `"validation_type":"enum","validation_parameters":{"values":["a","b","c","d","e"]}`
)

// TestValues shows the control of each type of attribute, and how its value is posted.
func TestValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ why, attribute, kind, posted, want string }{
		{"ticked", `"type":"bool"`, "checkbox", "/a=true", `{"a":true}`},
		{"an unticked checkbox is not posted", `"type":"bool"`, "checkbox", "", `{"a":false}`},
		{"no", `"type":"bool?"`, "radios", "/a=false", `{"a":false}`},
		{"not set", `"type":"bool?"`, "radios", "/a=", `{"a":null}`},
		{"a text", `"type":"string"`, "text", "/a=x+y", `{"a":"x y"}`},
		{"nothing typed is not the empty text", `"type":"string"`, "text", "/a=", "/a: it is empty"},
		{"an empty text on purpose", `"type":"string"`, "text", "/a=&empty=/a", `{"a":""}`},
		{"both", `"type":"string"`, "text", "/a=x&empty=/a",
			`/a: it has a text, and "empty text" is ticked`},
		{"the empty text of an optional text", `"type":"string?"`, "text", "/a=", `{"a":""}`},
		{"null of an optional text", `"type":"string?"`, "text", "/a=&null=/a", `{"a":null}`},
		{"not set is ticked later", `"type":"string?"`, "text", "/a=x&null=/a", `{"a":null}`},
		{"a text is typed later", `"type":"string?"`, "text", "/a=x&null=/a&unset=/a", `{"a":"x"}`},
		{"a long text", `"type":"string","validation_type":"s","validation_parameters":{"max_length":256}`,
			"textarea", "/a=x%0D%0Ay", `{"a":"x\ny"}`},
		{"a text of 255", `"type":"string","validation_type":"s","validation_parameters":{"max_length":255}`,
			"text", "/a=x", `{"a":"x"}`},
		{"64 bits", `"type":"int"`, "number", "/a=9223372036854775807", `{"a":9223372036854775807}`},
		{"65 bits", `"type":"int"`, "number", "/a=9223372036854775808",
			"/a: 9223372036854775808 is too large to be stored"},
		{"all digits", `"type":"number"`, "number", "/a=+0.12345678901234567890123+",
			`{"a":0.12345678901234567890123}`},
		{"a leading zero", `"type":"int"`, "number", "/a=007", "/a: it is not a number"},
		{"no number", `"type":"float"`, "number", "/a=NaN", "/a: it is not a number"},
		{"no number given", `"type":"int"`, "number", "/a=", "/a: it is required"},
		{"an optional number", `"type":"int?"`, "number", "/a=", `{"a":null}`},
		{"a limit", `"type":"int","validation_type":"int","validation_parameters":{"ge":1}`, "number",
			"/a=0", "/a: 0 is not at least 1"},
		{"few values", `"type":"string",` + enum3, "radios", "/a=y", `{"a":"y"}`},
		{"none chosen", `"type":"string",` + enum3, "radios", "", "/a: it is required"},
		{"many values", `"type":"string",` + enum5, "select", "/a=e", `{"a":"e"}`},
		{"a value that is not offered", `"type":"string",` + enum5, "select", "/a=f",
			"/a: the value is not offered"},
		{"an optional enum", `"type":"string?",` + enum5, "select", "/a=", `{"a":null}`},
		{"an enum of numbers",
			`"type":"int","validation_type":"enum","validation_parameters":{"values":[1,2]}`, "radios",
			"/a=2", `{"a":2}`},
		{"a regular expression",
			`"type":"string","validation_type":"r","validation_parameters":{"regex":"^[a-z-]+$"}`, "text",
			"/a=A", "/a: it does not match /^[a-z-]+$/"},
		{"a list", `"type":"string[]"`, "list", "item=/a/0&/a/0=x,y&item=/a/4&/a/4=z&/a/-=",
			`{"a":["x,y","z"]}`},
		{"pasted lines", `"type":"string[]"`, "list", "item=/a/0&/a/0=x&/a/-=y%0D%0A%0D%0A+z", `{"a":["x","y","z"]}`},
		{"an empty list", `"type":"int[]"`, "list", "/a/-=", `{"a":[]}`},
		{"a list that is not set", `"type":"int[]?"`, "list", "null=/a&/a/-=", `{"a":null}`},
		{"an item that is no number", `"type":"int[]"`, "list", "item=/a/0&/a/0=x",
			"/a/0: it is not a number"},
		{"a list of yes and no", `"type":"bool[]"`, "list", "item=/a/0&item=/a/1&/a/1=true",
			`{"a":[false,true]}`},
		{"rows of an object", `"type":"dict"`, "dict",
			`item=/a/0&key:/a/0=k&/a/0={"x":1}&item=/a/1&key:/a/1=&/a/1=null`, `{"a":{"":null,"k":{"x":1}}}`},
		{"a key twice", `"type":"dict"`, "dict",
			`item=/a/0&key:/a/0=k&/a/0=1&item=/a/1&key:/a/1=k&/a/1=2`, `/a/1: the key "k" occurs twice`},
		{"a value without quotes", `"type":"dict"`, "dict", `item=/a/0&key:/a/0=k&/a/0=word`,
			"/a/0: line 1, column 1: invalid character 'w' looking for beginning of value"},
		{"an object as JSON", `"type":"dict"`, "dict", `json=/a&/a={"k":[1.50]}`, `{"a":{"k":[1.50]}}`},
		{"a list of anything", `"type":"list"`, "json", `json=/a&/a=[1,null]`, `{"a":[1,null]}`},
		{"an unknown type", `"type":"any?"`, "json", `json=/a&/a=`, `{"a":null}`},
		{"another name", `"type":"string"`, "text", "/a=x&/b=y",
			"/b: the form of s has no such field, or its value cannot be set"},
		{"an item of what is no list", `"type":"string"`, "text", "/a=x&item=/a/0",
			"/a/0: the form of s has no such field, or its value cannot be set"},
		{"a name twice", `"type":"string"`, "text", "/a=x&/a=y", "/a: the field was sent more than once"},
		{"the model's", `"type":"string?","modifier":"r"`, "", "/a=x",
			"/a: the form of s has no such field, or its value cannot be set"},
		{"a reference to a secret", `"type":"string"`, "text", "/a=env:PASSWORD", `{"a":"env:PASSWORD"}`},
	} {
		f := one(t, c.attribute)
		got := ""
		if control := find(f.View(f.Draft(nil), nil, form.Sources{}), "/a"); control != nil {
			got = control.Kind
		}
		if got != c.kind {
			t.Errorf("%s: a control of the kind %q, expected %q", c.why, got, c.kind)
		}
		if got := answer(t, f, c.posted); got != c.want {
			t.Errorf("%s: %s, expected %s", c.why, got, c.want)
		}
	}
}

// router is a service with members and relations.
func router(t *testing.T, strict bool) *definition.Service {
	id := "name"
	return &definition.Service{Name: "network", Identity: &id, Strict: strict, Part: part(t, `{
	"attributes":[
		{"name":"size","type":"int","default_value":5,"default_value_set":true,"description":"in GB",
			"attribute_annotations":{"web_presentation":"unit","web_unit":"GB","team":"core"}},
		{"name":"name","type":"string","modifier":"rw"},
		{"name":"port","type":"int","modifier":"r"}],
	"embedded_entities":[
		{"name":"routers","lower_limit":1,"upper_limit":2,"key_attributes":["id"],"attributes":[
			{"name":"id","type":"string","modifier":"rw"},
			{"name":"model","type":"string","modifier":"rw"},
			{"name":"mtu","type":"int","default_value":1500,"default_value_set":true},
			{"name":"serial","type":"string?","modifier":"r"}],
		 "embedded_entities":[{"name":"ports","lower_limit":0,"upper_limit":null,"key_attributes":["no"],
			"attributes":[{"name":"no","type":"int"},{"name":"vlan","type":"int?"}]}]},
		{"name":"owner","lower_limit":0,"upper_limit":1,"attributes":[{"name":"mail","type":"string"}]},
		{"name":"site","modifier":"rw","lower_limit":1,"upper_limit":1,"attributes":[
			{"name":"city","type":"string"}]}],
	"inter_service_relations":[
		{"name":"customer","entity_type":"customer","lower_limit":1,"upper_limit":1,"modifier":"rw"},
		{"name":"peers","entity_type":"network","lower_limit":0,"upper_limit":null}]}`)}
}

const ordered = `{"name":"n","size":5,"routers":[{"id":"r1","model":"m","mtu":1500,"ports":[
	{"no":1,"vlan":7},{"no":2,"vlan":null}]}],"owner":null,"site":{"city":"c"},
	"customer":"c1","peers":["p1","p2"]}`

func values(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func names(all []*form.Control) string {
	var out []string
	for _, c := range all {
		one := c.Kind + " " + c.Name
		for _, r := range c.Rows {
			if len(r.Fields) > 0 {
				one += " [" + names(r.Fields) + "]"
			}
		}
		out = append(out, one)
	}
	return strings.Join(out, ", ")
}

// TestOrderOfControls shows the order of a form, and what the modifiers and keys make of it.
func TestOrderOfControls(t *testing.T) {
	t.Parallel()
	order := &form.Form{Service: router(t, true)}
	v := order.View(order.Draft(nil), nil, form.Sources{})
	if got, want := names(v.Tabs[0].Fields), "text /name, number /size, "+
		"members /routers [text /routers/0/id, text /routers/0/model, number /routers/0/mtu, "+
		"members /routers/0/ports], one /owner, one /site [text /site/city], "+
		"relation /customer, relations /peers"; got != want {
		t.Errorf("a new instance: %s\nexpected %s", got, want)
	}
	size := find(v, "/size")
	if size.Unit != "GB" || size.Default != "5" || size.Value != "5" || size.Help != "in GB" ||
		!reflect.DeepEqual(size.Annotations, []form.Pair{{Name: "team", Value: "core"}}) {
		t.Errorf("a control with annotations: %+v", size)
	}
	base, err := inventory.Ordered(order.Service, values(t, ordered))
	if err != nil {
		t.Fatal(err)
	}
	base["port"] = json.Number("80")
	for strict, want := range map[bool]string{
		true: "fixed /name, number /size, members /routers [fixed /routers/0/id, fixed /routers/0/model, " +
			"number /routers/0/mtu, members /routers/0/ports [fixed /routers/0/ports/0/no, " +
			"number /routers/0/ports/0/vlan] [fixed /routers/0/ports/1/no, number /routers/0/ports/1/vlan]], " +
			"one /owner, one /site [text /site/city], fixed /customer, relations /peers",
		false: "fixed /name, number /size, members /routers [fixed /routers/0/id, text /routers/0/model, " +
			"number /routers/0/mtu, members /routers/0/ports [fixed /routers/0/ports/0/no, " +
			"number /routers/0/ports/0/vlan] [fixed /routers/0/ports/1/no, number /routers/0/ports/1/vlan]], " +
			"one /owner, fixed /site, fixed /customer, relations /peers",
	} {
		change := &form.Form{Service: router(t, strict), Base: base}
		v = change.View(change.Draft(base), nil, form.Sources{})
		if got := names(v.Tabs[0].Fields); got != want {
			t.Errorf("a change, strict %t: %s\nexpected %s", strict, got, want)
		}
		if len(v.Model) != 1 || v.Model[0].Name != "/port" || v.Model[0].Why != "set by the model" {
			t.Errorf("values of the model: %s", names(v.Model))
		}
	}
}

// TestEdits shows the edits of changed values.
func TestEdits(t *testing.T) {
	t.Parallel()
	s := router(t, true)
	base, err := inventory.Ordered(s, values(t, ordered))
	if err != nil {
		t.Fatal(err)
	}
	f := &form.Form{Service: s, Base: base}
	for _, c := range []struct {
		why  string
		edit func(v url.Values)
		want string
	}{
		{"nothing", func(url.Values) {}, ""},
		{"an attribute", func(v url.Values) { v.Set("/size", "6") }, "replace size 6"},
		{"a member's", func(v url.Values) { v.Set("/routers/0/mtu", "9000") },
			"replace routers[id=r1].mtu 9000"},
		{"a member's member", func(v url.Values) { v.Set("/routers/0/ports/1/vlan", "8") },
			"replace routers[id=r1].ports[no=2].vlan 8"},
		{"one is removed", func(v url.Values) { v.Del("kept:/routers/0/ports/0"); v.Del("/routers/0/ports/0/vlan") },
			"remove routers[id=r1].ports[no=1] null"},
		{"one is added", func(v url.Values) {
			v.Add("item", "/routers/1")
			v.Set("/routers/1/id", "r2")
			v.Set("/routers/1/model", "x")
			v.Set("/routers/1/mtu", "1500")
		}, `merge routers [{"id":"r2","model":"x","mtu":1500,"ports":[]}]`},
		{"the only one is added", func(v url.Values) { v.Add("item", "/owner"); v.Set("/owner/mail", "m") },
			`replace owner {"mail":"m"}`},
		{"a relation", func(v url.Values) { v.Set("/peers/1", "p3") }, `replace peers ["p1","p3"]`},
		{"members change places", func(v url.Values) {
			v["kept:/routers/0/ports/0"], v["kept:/routers/0/ports/1"] =
				v["kept:/routers/0/ports/1"], v["kept:/routers/0/ports/0"]
			v["/routers/0/ports/0/vlan"], v["/routers/0/ports/1/vlan"] =
				v["/routers/0/ports/1/vlan"], v["/routers/0/ports/0/vlan"]
		}, "replace routers "},
	} {
		posted := browsed(f.View(f.Draft(base), nil, form.Sources{}))
		c.edit(posted)
		d, problems := f.Read(posted)
		got, more := f.Values(d)
		edits, err := f.Edits(got)
		if err != nil || len(problems)+len(more) > 0 {
			t.Errorf("%s: %v %v %v", c.why, err, problems, more)
			continue
		}
		var lines []string
		for _, e := range edits {
			lines = append(lines, string(e.Operation)+" "+e.Target+" "+text(e.Value))
		}
		if is := strings.Join(lines, "; "); is != c.want && (c.want == "" || !strings.HasPrefix(is, c.want)) {
			t.Errorf("%s: %s, expected %s", c.why, is, c.want)
		}
	}
}

// TestPress shows the buttons of rows, and why they refuse.
func TestPress(t *testing.T) {
	t.Parallel()
	f := &form.Form{Service: router(t, false)}
	d := f.Draft(nil)
	for _, c := range []struct{ why, button, at, next, refused string }{
		{"another member", "add", "/routers", "/routers/1", ""},
		{"a third", "add", "/routers", "", "/routers: it has at most 2 entries"},
		{"a member of a member", "add", "/routers/1/ports", "/routers/1/ports/0", ""},
		{"a move up", "up", "/routers/1", "/routers/0", ""},
		{"the first one up", "up", "/routers/0", "", "/routers: it cannot be moved"},
		{"one goes", "remove", "/routers/1", "/routers", ""},
		{"the only one", "add", "/owner", "/owner", ""},
		{"it goes", "remove", "/owner", "/owner", ""},
		{"a required one", "remove", "/site", "", "/site: it cannot be removed"},
		{"an instance", "add", "/peers", "/peers/0", ""},
		{"no list", "add", "/size", "", "/size: it is no list"},
		{"no such value", "add", "/nothing/0/x", "", "/nothing/0/x: the form has no such value"},
		{"no such button", "burn", "/peers", "", "burn: the form has no such button"},
	} {
		next, err := f.Press(d, c.button, c.at)
		if next != c.next || err == nil && c.refused != "" || err != nil && err.Error() != c.refused {
			t.Errorf("%s: %q and %v, expected %q and %q", c.why, next, err, c.next, c.refused)
		}
	}
	v := f.View(d, nil, form.Sources{})
	if got := find(v, "/routers/0/ports/0/no"); got == nil {
		t.Error("the member of the moved member is not shown")
	}
}

// TestProblems shows that problems of the API stand at their controls, in tabs that count them, and
// in a summary in the order of the form.
func TestProblems(t *testing.T) {
	t.Parallel()
	f := &form.Form{Service: router(t, false)}
	given := values(t, ordered)
	problems := f.Placed(given, diag.Problems{
		{Pointer: "/attributes/peers/1", Attribute: "peers", Message: "is missing"},
		{Attribute: "routers[id=r1].ports[no=2].vlan", Message: "is taken"},
		{Attribute: "", Message: "the service is closed"},
		{Attribute: "name", Message: "another has it", Hint: "use another"},
	})
	v := f.View(f.Draft(given), problems, form.Sources{})
	var got []string
	for _, m := range v.Mistakes {
		got = append(got, m.ID+" "+m.Title+": "+m.Text)
	}
	if want := []string{" : the service is closed", "f/name Name: another has it",
		"f/routers/0/ports/1/vlan Routers › r1 › Ports › 2 › Vlan: is taken",
		"f/peers/1 Peers › Item 2: is missing"}; !reflect.DeepEqual(got, want) {
		t.Errorf("summary: %q\nexpected %q", got, want)
	}
	if c := find(v, "/routers"); c.Wrong != 1 || len(c.Errors) != 0 {
		t.Errorf("a list around a problem: %d of %v", c.Wrong, c.Errors)
	}
}

// TestAnnotations shows what annotations make of a form, and that a wrong one is a note.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	from := form.Sources{Parameters: map[string][]form.Option{"s_list": {{Value: "v", Label: "V"}}}}
	for _, c := range []struct{ why, annotation, options, note string }{
		{"texts and objects", `{"type":"literal","values":["a",5,{"label":"B","value":"b"},null,[]]}`,
			"a=a 5=5 B=b", ""},
		{"a parameter", `{"type":"parameters","parameter_name":"${entity_type}_list"}`, "V=v", ""},
		{"a missing parameter", `{"type":"parameters","parameter_name":"gone"}`, "",
			"the parameter gone does not exist, so nothing is suggested"},
		{"a variable that is not known", `{"type":"parameters","parameter_name":"x${instance_id}"}`, "",
			"values are suggested as soon as instance id is known"},
		{"no name", `{"type":"parameters"}`, "", "web_suggested_values names no parameter"},
		{"no values", `{"type":"literal","values":"a"}`, "", "web_suggested_values has no values"},
		{"another kind", `{"type":"graphql"}`, "",
			"web_suggested_values has the type graphql, which the console does not know"},
		{"no dict", `5`, "", "web_suggested_values has no type"},
	} {
		f := one(t, `"type":"string","attribute_annotations":{"web_suggested_values":`+c.annotation+`}`)
		control := find(f.View(f.Draft(nil), nil, from), "/a")
		var options []string
		for _, o := range control.Suggestions {
			options = append(options, o.Label+"="+o.Value)
		}
		if got := strings.Join(options, " "); got != c.options || strings.Join(control.Notes, "") != c.note {
			t.Errorf("%s: %q with %q, expected %q with %q", c.why, got, control.Notes, c.options, c.note)
		}
	}
	for _, c := range []struct{ why, tabs, tab, want, note string }{
		{"in order", `[{"key":"b","label":"B","default":true,"order":2},{"key":"c","label":"C","order":1}]`,
			`"c"`, "C: /a; B: /b", ""},
		{"no default", `[{"key":"b","label":"B"}]`, `"b"`, ": /a, /b",
			"web_tabs has 0 default tabs, and needs one; all values are in one column"},
		{"a key twice", `[{"key":"b","label":"B","default":true},{"key":"b","label":"C"}]`, `"b"`, ": /a, /b",
			"entry 2 of web_tabs needs a key and a label, and no key twice; all values are in one column"},
		{"no list", `{"b":1}`, `"b"`, ": /a, /b", "web_tabs is no list of tabs; all values are in one column"},
		{"an unknown tab", `[{"key":"b","label":"B","default":true}]`, `7`, ": /a, /b",
			"web_tab of a is 7, and there is no such tab; all values are in one column"},
	} {
		f := &form.Form{Service: &definition.Service{Name: "s", Part: part(t, `{"entity_annotations":{"web_tabs":`+
			c.tabs+`},"attributes":[{"name":"a","type":"int","attribute_annotations":{"web_tab":`+c.tab+
			`}},{"name":"b","type":"int"}]}`)}}
		v := f.View(f.Draft(nil), nil, form.Sources{})
		var tabs []string
		for _, tab := range v.Tabs {
			var all []string
			for _, control := range tab.Fields {
				all = append(all, control.Name)
			}
			tabs = append(tabs, tab.Label+": "+strings.Join(all, ", "))
		}
		if got := strings.Join(tabs, "; "); got != c.want || strings.Join(v.Notes, "") != c.note {
			t.Errorf("%s: %q with %q, expected %q with %q", c.why, got, v.Notes, c.want, c.note)
		}
	}
}

// TestJSON shows the places of mistakes in attributes that are written as JSON.
func TestJSON(t *testing.T) {
	t.Parallel()
	f := &form.Form{Service: router(t, false)}
	for _, c := range []struct {
		why, text    string
		line, column int
		message      string
	}{
		{"right", ordered, 0, 0, ""},
		{"no comma", "{\n\"name\": \"n\"\n  \"size\": 5}", 3, 3,
			"invalid character '\"' after object key:value pair"},
		{"a name twice", `{"name":"n","name":"m"}`, 1, 13, `the name "name" occurs twice`},
		{"too short", `{"name":`, 1, 9, "the text ends too early"},
		{"more behind it", "{} 5", 1, 4, "there is more text behind the value"},
		{"no object", "[]", 1, 1, "the text is no JSON object"},
		{"an unknown name", strings.Replace(ordered, `"size"`, "\n  \"é\":1,\"size\"", 1), 2, 3,
			"there is no such attribute"},
		{"a wrong value", strings.Replace(ordered, `"vlan":7`, `"vlan":"7"`, 1), 2, 10,
			"it is a string, and not int"},
		{"not UTF-8", "{\"name\":\"\xff\"}", 1, 10, "the text is not UTF-8"},
	} {
		_, problems := f.Parse(c.text)
		switch {
		case c.message == "" && len(problems) > 0, c.message != "" && len(problems) == 0:
			t.Errorf("%s: %v", c.why, problems)
		case c.message == "":
		case problems[0].Line != c.line || problems[0].Column != c.column || problems[0].Message != c.message:
			t.Errorf("%s: %d:%d %s, expected %d:%d %s", c.why, problems[0].Line, problems[0].Column,
				problems[0].Message, c.line, c.column, c.message)
		}
	}
	got, problems := f.Parse(f.Text(values(t, ordered)))
	if len(problems) > 0 || !inventory.Equal(got, values(t, ordered)) {
		t.Errorf("JSON and back: %s, %v", text(got), problems)
	}
}

// TestPattern shows the regular expressions that browsers check.
func TestPattern(t *testing.T) {
	t.Parallel()
	for regex, want := range map[string]string{
		`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`: `(?:^[a-z0-9]([a-z0-9\-]*[a-z0-9])?$)[\s\S]*`,
		`^[^@ ]+@[^@ ]+$`:                 `(?:^[^@ ]+@[^@ ]+$)[\s\S]*`,
		`\d{1,3}/x`:                       `(?:\p{Nd}{1,3}\/x)[\s\S]*`,
		`a\-b`:                            `(?:a-b)[\s\S]*`,
		`\w+`:                             "", // other characters than in a browser
		`(?i)x`:                           "",
		`(?P<n>x)`:                        "",
		`[[:alpha:]]`:                     `(?:[\[:alpha:]\])[\s\S]*`,
		`x++`:                             "",
		`x\Z`:                             "",
		`(x`:                              "",
	} {
		kind := "r"
		a := &definition.Attribute{ValidationType: &kind, ValidationParam: map[string]any{"regex": regex}}
		if got := form.Pattern(a); got != want {
			t.Errorf("%s: %s, expected %s", regex, got, want)
		}
	}
}
