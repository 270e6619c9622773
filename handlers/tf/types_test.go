package tf

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/schema"
	"southbound/shared/tf/wire"
)

func schemas(t testing.TB, text string) *wire.Schemas {
	t.Helper()
	s, err := wire.ParseSchemas([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rows are attributes as a schema declares them, and as a type has them.
var rows = map[string]schema.Attribute{
	`"name":"a","type":"string","required":true`:               {Name: "a", Type: "String"},
	`"name":"a","type":"number","optional":true`:               {Name: "a", Type: "Optional[Numeric]"},
	`"name":"a","type":"bool","computed":true`:                 {Name: "a", Type: "Optional[Boolean]", Behaviour: schema.ReadOnly},
	`"name":"a","type":"bool","optional":true,"computed":true`: {Name: "a", Type: "Optional[Boolean]"},
	`"name":"a","type":["list","string"],"required":true`:      {Name: "a", Type: "Array[String]"},
	`"name":"a","type":["set","number"],"required":true`:       {Name: "a", Type: "Array[Numeric]"},
	`"name":"a","type":["map","bool"],"required":true`:         {Name: "a", Type: "Hash[String, Boolean]"},
	`"name":"a","type":["tuple",["string","bool"]],"required":true`: {Name: "a",
		Type: "Tuple[String, Boolean]"},
	`"name":"a","type":["object",{"x":"string"}],"required":true`: {Name: "a",
		Type: "Struct[{'x' => Optional[String]}]"},
	`"name":"a","type":["object",{}],"required":true`: {Name: "a", Type: "Hash[String, Any, 0, 0]"},
	`"name":"a","type":"dynamic","optional":true`:     {Name: "a", Type: "Optional[Any]"},
	`"name":"a","type":"string","optional":true,"sensitive":true`: {Name: "a",
		Type: "Optional[Sensitive[String]]"},
	`"name":"a","type":"string","computed":true,"sensitive":true`: {Name: "a",
		Type: "Optional[String]", Behaviour: schema.ReadOnly, Sensitive: true},
	`"name":"a","type":"string","optional":true,"write_only":true`: {Name: "a",
		Type: "Optional[String]", Behaviour: schema.WriteOnly},
	`"name":"a","type":"string","optional":true,"description":" Text. "`: {Name: "a",
		Type: "Optional[String]", Description: "Text."},
	`"name":"a","type":"string","optional":true,"deprecated":true,"deprecation_message":"Use b."`: {
		Name: "a", Type: "Optional[String]", Description: "Deprecated: Use b."},
	`"name":"id","type":"string","optional":true,"computed":true`: {Name: "id_",
		Type: "Optional[String]", Behaviour: schema.ReadOnly},
	`"name":"id","type":"string","required":true`:     {Name: "id_", Type: "String"},
	`"name":"status","type":"string","required":true`: {Name: "status_", Type: "String"},
	`"name":"label","type":"string","required":true`:  {Name: "label_", Type: "String"},
	`"name":"import","type":"string","required":true`: {Name: "import_", Type: "String"},
	`"name":"_a-b","type":"string","required":true`:   {Name: "x_a_b", Type: "String"},
	`"name":"a","required":true,"nested":{"nesting":1,"attributes":[{"name":"it's","type":"string","required":true}]}`: {
		Name: "a", Type: `Struct[{'it\'s' => String}]`},
	`"name":"a","required":true,"nested":{"nesting":2,"attributes":[{"name":"p","type":"string","optional":true,"sensitive":true}]}`: {
		Name: "a", Type: "Array[Struct[{'p' => Optional[Sensitive[String]]}]]"},
	`"name":"a","required":true,"nested":{"nesting":4,"attributes":[{"name":"n","type":"number","computed":true}]}`: {
		Name: "a", Type: "Hash[String, Struct[{'n' => Optional[Numeric]}]]"},
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	for text, want := range rows {
		types, problems := Types(Origin{Local: "x"},
			schemas(t, `{"resources":{"x_y":{"block":{"attributes":[{`+text+`}]}}}}`))
		if len(problems) > 0 {
			t.Errorf("%s: %v", text, problems)
			continue
		}
		if d := cmp.Diff(want, types[0].Attributes[2]); d != "" {
			t.Errorf("%s: %s", text, d)
		}
		if _, err := schema.NewRegistry(types...); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	const of = "Struct[{'x' => String}]"
	for text, want := range map[string]string{
		`"nesting":1`:                             "Optional[" + of + "]",
		`"nesting":5`:                             "Optional[" + of + "]",
		`"nesting":2`:                             "Optional[Array[" + of + "]]",
		`"nesting":3,"min_items":1`:               "Array[" + of + ", 1, default]",
		`"nesting":3,"max_items":4`:               "Optional[Array[" + of + ", 0, 4]]",
		`"nesting":2,"max_items":1`:               "Optional[Variant[" + of + ", Array[" + of + ", 0, 1]]]",
		`"nesting":2,"min_items":1,"max_items":1`: "Variant[" + of + ", Array[" + of + ", 1, 1]]",
		`"nesting":4`:                             "Optional[Hash[String, " + of + "]]",
	} {
		types, problems := Types(Origin{Local: "x"}, schemas(t, `{"resources":{"x_y":{"block":{
			"blocks":[{"name":"a","block":{"attributes":[{"name":"x","type":"string",
			"required":true}]},`+text+`}]}}}}`))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if got := types[0].Attributes[2].Type; got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
		if _, err := schema.NewRegistry(types...); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	one := func(names ...string) string {
		out := make([]string, len(names))
		for i, n := range names {
			out[i] = fmt.Sprintf(`%q:{"block":{}}`, n)
		}
		return strings.Join(out, ",")
	}
	for local, want := range map[string]string{
		"x":      "tf::x::AbC tf::x::External tf::x::RoleGrant tf::x::data::RoleGrant",
		"x-beta": "tf::x_beta::AbC tf::x_beta::External tf::x_beta::RoleGrant tf::x_beta::data::RoleGrant",
	} {
		types, problems := Types(Origin{Local: local}, schemas(t, `{"resources":{`+
			one("x_role_grant", "external", "x_ab_c")+`},"data_sources":{`+one("x_role_grant")+`}}`))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		var got []string
		for _, typ := range types {
			got = append(got, typ.Name)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: got %s, want %s", local, text, want)
		}
	}
	got := namesOf("x", []string{"x_a_1", "x_a1", "x_b_c"})
	if d := cmp.Diff(map[string]string{"x_a_1": "A_1", "x_a1": "A1", "x_b_c": "BC"}, got); d != "" {
		t.Error(d)
	}
}

// TestMetadata pins how a handler finds the names of the schema again.
func TestMetadata(t *testing.T) {
	t.Parallel()
	types, _ := Types(Origin{Local: "x", Address: "example.com/a/x"}, schemas(t, `{
		"resources":{"x_y":{"block":{"deprecated":true,"attributes":[
			{"name":"type","type":"string","optional":true,"deprecated":true},
			{"name":"id","type":"string","computed":true}]}}},
		"data_sources":{"x_y":{"block":{"attributes":[
			{"name":"q","type":"string","required":true},
			{"name":"answer","type":"string","computed":true}]}}}}`))
	if d := cmp.Diff(map[string]any{MetaType: "x_y", MetaProvider: "example.com/a/x",
		MetaAttributes: map[string]any{"type_": "type", "id_": "id"},
		MetaDeprecated: map[string]any{"": deprecatedText, "type_": deprecatedText}},
		types[0].Metadata); d != "" {
		t.Error(d)
	}
	if !types[0].Assigned || types[0].Transports[0] != Transport || !types[0].MayCreateFirst() {
		t.Errorf("got %+v", types[0])
	}
	data := types[1]
	if data.Assigned || data.MayCreateFirst() || data.Metadata[MetaData] != true ||
		data.Attributes[1].Behaviour != schema.Parameter ||
		data.Attributes[2].Behaviour != schema.ReadOnly {
		t.Errorf("got %+v", data)
	}
}

// TestLarge maps blocks that contain blocks of at most one, 30 levels deep, and a block that is too
// large for a declaration. Values of the latter are secret if one of them is.
func TestLarge(t *testing.T) {
	t.Parallel()
	deep := `{"attributes":[{"name":"x","type":"string","optional":true}]}`
	for range 30 {
		deep = `{"blocks":[{"name":"b","nesting":2,"max_items":1,"block":` + deep + `}]}`
	}
	wide := make([]string, 3000)
	for i := range wide {
		wide[i] = fmt.Sprintf(`{"name":"a%d","type":"string","optional":true,"sensitive":%t}`, i, i == 7)
	}
	types, problems := Types(Origin{Local: "x"}, schemas(t, `{"resources":{"x_deep":{"block":`+deep+
		`},"x_wide":{"block":{"blocks":[{"name":"w","nesting":1,"block":{"attributes":[`+
		strings.Join(wide, ",")+`]}}]}}}}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if _, err := schema.NewRegistry(types...); err != nil {
		t.Error(err)
	}
	if a := types[1].Attributes[2]; !a.Sensitive || strings.Contains(a.Type, "a7") {
		t.Errorf("got %.100s, sensitive: %t", a.Type, a.Sensitive)
	}
}

func TestUnusableTypes(t *testing.T) {
	t.Parallel()
	types, problems := Types(Origin{Local: "x"}, schemas(t, `{"resources":{
		"x_bad":{"block":{"attributes":[{"name":"a","type":["set","dynamic"]}]}},
		"x_good":{"block":{"attributes":[{"name":"a","type":"string","optional":true}]}}}}`))
	if len(types) != 1 || len(problems) != 1 || problems[0].Resource != "x_bad" ||
		!strings.Contains(problems[0].Message, "/a") {
		t.Errorf("got %v, %v", types, problems)
	}
}

func TestConfigType(t *testing.T) {
	t.Parallel()
	var s wire.Schema
	if err := json.Unmarshal([]byte(`{"block":{"attributes":[
		{"name":"host","type":"string","optional":true},
		{"name":"password","type":"string","optional":true,"sensitive":true}]}}`), &s); err != nil {
		t.Fatal(err)
	}
	got, err := ConfigType(&s)
	if want := "Struct[{'host' => Optional[String], 'password' => Optional[Sensitive[String]]}]"; err !=
		nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
}

// FuzzTypes makes types of any schemas. All that it returns can be registered.
func FuzzTypes(f *testing.F) {
	for text := range rows {
		f.Add(`{"resources":{"x_y":{"block":{"attributes":[{` + text + `}]}}}}`)
	}
	f.Add(`{"data_sources":{"1":{"block":{"blocks":[{"name":"","nesting":3,"block":{}}]}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := wire.ParseSchemas([]byte(text))
		if err != nil {
			return
		}
		types, _ := Types(Origin{Local: "x"}, s)
		if _, err := schema.NewRegistry(types...); err != nil {
			t.Error(err)
		}
	})
}
