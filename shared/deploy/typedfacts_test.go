package deploy_test

import (
	"math"
	"strings"
	"sync"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// rack is a handler of things of any attributes. The thing named source reports facts.
type rack struct {
	mu     sync.Mutex
	facts  map[string]any
	things map[resource.ID]map[string]any
	wrote  []string // names
}

// Read implements provider.Handler.
func (s *rack) Read(
	_ *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	attrs, there := s.things[req.Resource.ID]
	return provider.Observation{Exists: there, Attributes: attrs}, nil
}

// Create implements provider.Handler.
func (s *rack) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	return s.put(req.Resource)
}

// Update implements provider.Handler.
func (s *rack) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	return s.put(req.Resource)
}

func (s *rack) put(r provider.Resource) (provider.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.things[r.ID] = r.Attributes
	name, _ := r.Attributes["name"].(string)
	s.wrote = append(s.wrote, name)
	return provider.Result{}, nil
}

// Delete implements provider.Handler.
func (s *rack) Delete(_ *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.things, req.Resource.ID)
	return provider.Result{}, nil
}

// Facts implements provider.FactReader.
func (s *rack) Facts(
	_ *provider.Context, req provider.ReadRequest,
) (map[string]any, error) {
	if req.Resource.Attributes["name"] != "source" {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.facts, nil
}

// TestTypedFacts reports JSON values, and follows paths into them: to attributes of their types, into
// texts, and to the reasons why a resource is undefined.
func TestTypedFacts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	types, err := schema.NewRegistry(schema.Type{Name: "t::T", Attributes: []schema.Attribute{
		{Name: "name", Type: "String[1]", Behaviour: schema.Namevar},
		{Name: "note", Type: "Optional[String]"},
		{Name: "port", Type: "Optional[Integer[1,65535]]"}, {Name: "ratio", Type: "Optional[Float]"},
		{Name: "any", Type: "Optional[Any]"}, {Name: "text", Type: "Optional[String]"}}})
	if err != nil {
		t.Fatal(err)
	}
	r.types = types
	r.use(r.home, "test")
	s := &rack{things: map[resource.ID]map[string]any{}}
	r.e.Handlers["t::T"] = s
	of := func(path string) resource.Fact { return resource.Fact{Name: path, Of: id("source")} }
	text, err := resource.NewText("http://", of("endpoints/0/host"), ":", of("endpoints/0/port"), "/")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	with := func(name, attribute string, value any) resource.Resource {
		out := res(name)
		out.Attributes[attribute] = value
		return out
	}
	described := func() deploy.Export {
		n++
		return deploy.Export{Model: modelOf(with("source", "note", strings.Repeat("n", n)), with("port", "port", of("endpoints/0/port")),
			with("ratio", "ratio", of("endpoints/0/port")), with("whole", "any", of("endpoints")),
			with("deep", "any", []any{map[string]any{"p": of("endpoints/0/port")}}),
			with("text", "text", text), with("escaped", "text", of("a~1b/~0")))}
	}
	run := func(facts map[string]any, want ...string) {
		t.Helper()
		s.facts, s.wrote = facts, nil
		r.export(described())
		r.drain()
		got := map[string]bool{}
		for _, name := range s.wrote {
			got[name] = true
		}
		for _, name := range want {
			if !got[name] {
				t.Errorf("%s did not change", name)
			}
			delete(got, name)
		}
		if delete(got, "source"); len(got) > 0 {
			t.Errorf("%v changed as well", got)
		}
	}
	why := func(name, want string) {
		t.Helper()
		row, err := r.e.Row(t.Context(), "e", id(name))
		if err != nil || row.Status() != state.StatusUndefined || !strings.Contains(row.Why(), want) {
			t.Errorf("%s is %s: %q (%v), want %q", name, row.Status(), row.Why(), err, want)
		}
	}
	has := func(name, attribute string, want any) {
		t.Helper()
		r.want(name, state.StatusDeployed)
		if got := s.things[id(name)][attribute]; !resource.Equal(got, want) {
			t.Errorf("%s has %#v, want %#v", name, got, want)
		}
	}
	type endpoint struct {
		Host string `json:"host"`
		Port int    `json:"port"`
	}
	slash := map[string]any{"~": "x"}

	run(map[string]any{"endpoints": []endpoint{{"h", 80}}, "a/b": slash},
		"port", "ratio", "whole", "deep", "text", "escaped")
	has("port", "port", int64(80))
	has("ratio", "ratio", 80.0)
	has("whole", "any", []any{map[string]any{"host": "h", "port": int64(80)}})
	has("deep", "any", []any{map[string]any{"p": int64(80)}})
	has("text", "text", "http://h:80/")
	has("escaped", "text", "x")

	t.Log("the same again, in another order and with other Go types, schedules nothing")
	run(map[string]any{"endpoints": []map[string]any{{"port": 80.0, "host": "h"}}, "a/b": slash})

	t.Log("a member beside the path changes only what has the whole fact")
	run(map[string]any{"endpoints": []any{map[string]any{"host": "h", "port": 80, "tls": true}},
		"a/b": slash}, "whole")

	t.Log("a text where a number has to stand is taken as the number")
	run(map[string]any{"endpoints": []endpoint{{"h", 81}}, "a/b": slash},
		"port", "ratio", "whole", "deep", "text")
	run(map[string]any{"endpoints": []any{map[string]any{"host": "h", "port": "82"}}, "a/b": slash},
		"port", "ratio", "whole", "deep", "text")
	has("port", "port", int64(82))

	t.Log("paths that lead nowhere")
	run(map[string]any{"endpoints": []any{map[string]any{"host": "h"}}, "a/b": slash},
		"whole")
	why("port", `fact "endpoints/0/port" of t::T[a,name=source]: "endpoints/0" has no member "port"; use `+
		`one of its members: "host"`)
	why("text", `fact "endpoints/0/port" of t::T[a,name=source]: "endpoints/0" has no member "port"`)
	run(map[string]any{"endpoints": []any{}, "a/b": slash}, "whole")
	why("deep", `"endpoints" has no position 0: its length is 0`)

	t.Log("a map is data, also one that looks like a secret")
	run(map[string]any{"endpoints": []any{map[string]any{"host": "h", "port": 90, "secret": "env:HOME"}},
		"a/b": slash}, "port", "ratio", "whole", "deep", "text")
	has("whole", "any", []any{map[string]any{"host": "h", "port": int64(90), "secret": "env:HOME"}})

	t.Log("values that are no facts are refused, and the former ones stay")
	run(map[string]any{"endpoints": math.NaN(), "a/b": strings.Repeat("x", 1<<14+1)})
	has("port", "port", int64(90))
	actions, err := r.home.Actions(t.Context(), "e", state.ActionQuery{Resource: id("source"), Limit: 1})
	if err != nil || len(actions) != 1 {
		t.Fatal(actions, err)
	}
	logged := ""
	for _, m := range actions[0].Messages {
		logged += string(m.Level) + " " + m.Msg + "\n"
	}
	for _, want := range []string{
		`ERROR fact "endpoints" of t::T[a,name=source] is refused: its value has no JSON form`,
		`ERROR fact "a/b" of t::T[a,name=source] is refused: its value has 16385 bytes, and a value has at most 16384`,
	} {
		if !strings.Contains(logged, want) {
			t.Errorf("%q is not in\n%s", want, logged)
		}
	}

	t.Log("values of another type")
	run(map[string]any{"endpoints": []any{map[string]any{"host": []any{}, "port": 70000}}, "a/b": 1},
		"ratio", "whole", "deep")
	why("port", `port: `)
	why("port", `: the value comes from fact "endpoints/0/port" of t::T[a,name=source]`)
	why("text", `text: fact "endpoints/0/host" of t::T[a,name=source] is a list, which cannot stand inside a text`)
	why("escaped", `fact "a~1b/~0" of t::T[a,name=source]: "a~1b" is a number, so "~" leads nowhere in it`)

	t.Log("an export with such a value is stored: the resource stays undefined until a value fits")
	run(s.facts)
	why("port", `: the value comes from fact "endpoints/0/port" of t::T[a,name=source]`)
	why("text", `fact "endpoints/0/host" of t::T[a,name=source] is a list`)
	run(map[string]any{"endpoints": []endpoint{{"h", 84}}, "a/b": slash},
		"port", "ratio", "whole", "deep", "text") // escaped has its value still
	has("port", "port", int64(84))
	has("escaped", "text", "x")
}
