package options_test

import (
	"strings"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/transport/internal/options"
)

// declared are the options of a transport by tins.
func declared() []options.Option {
	return []options.Option{
		{Name: "host", Type: "String[1]", Nested: true, Description: "the tin",
			Example: "{transport: tin, host: a}"},
		{Name: "port", Type: "Integer[1, 9]", Default: int64(5), Description: "the string",
			Hint: "write 2"},
		{Name: "password", Type: "Optional[String[3]]", Secret: true, Nested: true,
			Description: "a word"},
		{Name: "via", Type: "Data",
			Valid: func(v any) bool { _, ok := v.(map[string]any); return ok }},
	}
}

// TestUnknown pins that every option that there is not is named, with the nearest that there is.
func TestUnknown(t *testing.T) {
	t.Parallel()
	got := options.Unknown("tin", map[string]any{"zz": 1, "hots": 2, "host": 3, "lane": 4},
		[]string{"host", "port"})
	if len(got) != 3 || got[1].Attribute != "lane" || !strings.Contains(got[1].Hint, `"lanes"`) ||
		got[0].Attribute != "hots" || !strings.Contains(got[0].Hint, `"host"`) ||
		got[2].Attribute != "zz" || !strings.Contains(got[2].Hint, "host, port") {
		t.Errorf("%+v", got)
	}
}

// TestRead pins what authors are told, and what who connects is.
func TestRead(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	secret := resource.Secret{Source: "env:X"}
	for _, c := range []struct {
		reason   string
		given    m
		problems string // attribute: message; hint
		err      string
	}{
		{"all is well", m{"host": "a", "port": int64(2)}, "", ""},
		{"nothing", nil,
			": an agent with the transport tin needs a host; write it such as {transport: tin, " +
				"host: a}", "needs a host"},
		{"too large", m{"host": "a", "port": int64(10)}, "port: the value of port is not valid: ",
			"the value of port is not valid"},
		{"a secret that is too short is not shown", m{"host": "a", "password": "xy"},
			"password: the value of password is not valid; it is a word", "password"},
		{"a literal secret is a problem of documents alone", m{"host": "a", "password": "wxyz"},
			"password: the document contains the value of password", ""},
		{"a reference is known later, and then has to be", m{"host": "a", "password": secret}, "",
			"no meaning there"},
		{"an error does not hide behind a literal secret",
			m{"host": "a", "password": "wxyz", "port": secret},
			"password: the document contains the value of password", "no meaning there"},
		{"a file", m{"host": resource.File{Hash: "x"}}, "host: uploaded files have no meaning",
			"uploaded files"},
		{"not what holds options", m{"host": "a", "via": "b"}, "via: the value of via is not valid",
			"via"},
	} {
		r := options.Read("tin", declared(), c.given)
		said := ""
		for _, p := range r.Problems() {
			said += p.Attribute + ": " + p.Message + "; " + p.Hint
		}
		if !strings.HasPrefix(said, c.problems) || c.problems == "" && said != "" {
			t.Errorf("%s: %q, want %q", c.reason, said, c.problems)
		}
		err := r.Err()
		if (err == nil) != (c.err == "") ||
			err != nil && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", c.reason, err, c.err)
		}
	}
}

// TestPlace pins that a place has the nested options only, and that its problems are those of the
// option that leads there.
func TestPlace(t *testing.T) {
	t.Parallel()
	r := options.Read("tin", declared(), map[string]any{"host": "a", "via": map[string]any{}})
	p := r.Place(declared(), map[string]any{"port": int64(2), "password": "xyz"}, "via",
		"on the way: ")
	if p.Text("password") != "xyz" || p.Number("port") != 0 || r.Number("port") != 5 {
		t.Errorf("%v %v", p.Value("password"), p.Value("port"))
	}
	got := r.Problems()
	for i, want := range []string{"in plain text",
		`on the way: the transport tin has no option "port"`, "on the way: it needs a host"} {
		if len(got) != 3 || got[i].Attribute != "via" || !strings.HasSuffix(got[i].Message, want) {
			t.Fatalf("%+v, want %q", got, want)
		}
	}
}
