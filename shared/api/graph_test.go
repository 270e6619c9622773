package api_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// wired serves an environment with this graph: c → b → a, where a lacks a parameter; d → b; e alone
// on another agent, and in another set than f, which requires it.
func wired(t *testing.T) *world {
	t.Helper()
	w := start(t, nil)
	m := &model.Model{Agents: []resource.Agent{
		{Name: "a", Transport: "local"}, {Name: "b", Transport: "local"},
	}}
	for _, line := range []string{"a a", "a b a", "a c b", "a d b", "b e", "a f e"} {
		words := strings.Fields(line)
		r := null(words[1], "v")
		r.Agent = words[0]
		r.ID = idOn(words[0], words[1])
		for _, q := range words[2:] {
			agent := "a"
			if q == "e" {
				agent = "b"
			}
			r.Requires = append(r.Requires, idOn(agent, q))
		}
		switch words[1] {
		case "a":
			r.Attributes["value"] = resource.Parameter{Name: "missing"}
		case "f":
			r.Set = "one"
		}
		m.Resources = append(m.Resources, r)
	}
	if _, err := w.service.Export(t.Context(), "e", deploy.Export{Model: m}, nil); err != nil {
		t.Fatal(err)
	}
	return w
}

func idOn(agent, name string) resource.ID {
	return resource.NewID("std::Null", agent, resource.Key{Name: "name", Value: name})
}

// drawn writes a graph as text, with the names of resources only.
func drawn(g api.Graph) string {
	short := strings.NewReplacer("std::Null[a,name=", "", "std::Null[b,name=", "", "]", "")
	var out []string
	for _, n := range g.Nodes {
		key := n.Key
		if n.ID != "" {
			key = short.Replace(key)
		}
		text := fmt.Sprintf("%s:%d:%s", key, n.Count, n.Status)
		for word, is := range map[string]bool{"+cause": n.Cause, "+outside": n.Outside,
			fmt.Sprint("+inside", n.Inside): n.Inside > 0} {
			if is {
				text += word
			}
		}
		out = append(out, text)
	}
	for _, e := range g.Edges {
		from, to := e.From, e.To
		if strings.Contains(from, "name=") {
			from = short.Replace(from)
		}
		if strings.Contains(to, "name=") {
			to = short.Replace(to)
		}
		out = append(out, fmt.Sprintf("%s>%s:%d", from, to, e.Count))
	}
	return strings.Join(append(out, fmt.Sprintf("total %d left %d", g.Total, g.Left)), " ")
}

// TestGraph pins graphs, which a server returns to a client as it does in its own process.
func TestGraph(t *testing.T) {
	t.Parallel()
	w := wired(t)
	for _, c := range []struct {
		why  string
		q    api.GraphQuery
		want string
	}{
		{"one step up and none down", api.GraphQuery{ID: idOn("a", "b"), Up: 1},
			"a:1:undefined+cause b:1:blocked b>a:1 total 2 left 0"},
		{"the root cause is there, with the path to it, whatever the steps",
			api.GraphQuery{ID: idOn("a", "c")},
			"a:1:undefined+cause b:1:blocked c:1:blocked b>a:1 c>b:1 total 3 left 0"},
		{"dependants", api.GraphQuery{ID: idOn("a", "a"), Down: 1},
			"a:1:undefined b:1:blocked b>a:1 total 2 left 0"},
		{"all dependants, and more steps than there are",
			api.GraphQuery{ID: idOn("a", "a"), Down: 1000},
			"a:1:undefined b:1:blocked c:1:blocked d:1:blocked b>a:1 c>b:1 d>b:1 total 4 left 0"},
		{"the nearest within the limit", api.GraphQuery{ID: idOn("a", "a"), Down: 9, Limit: 2},
			"a:1:undefined b:1:blocked b>a:1 total 4 left 2"},
		{"a box for each agent and type", api.GraphQuery{Fold: []string{"agent", "type"}},
			"std::Null[a]:5:blocked+inside3 std::Null[b]:1:available " +
				"std::Null[a]>std::Null[b]:1 total 6 left 0"},
		{"a box for each type", api.GraphQuery{Fold: []string{"type"}},
			"std::Null[]:6:blocked+inside4 total 6 left 0"},
		{"an unfolded box", api.GraphQuery{Fold: []string{"agent"}, Open: []string{"[b]"}},
			"[a]:5:blocked+inside3 e:1:available [a]>e:1 total 6 left 0"},
		{"a filter", api.GraphQuery{Filter: []string{"set=one"}},
			"f:1:available total 1 left 0"},
		{"a filter, and what its resources require",
			api.GraphQuery{Filter: []string{"set=one"}, Outside: true},
			"f:1:available e:1:available+outside f>e:1 total 2 left 0"},
		{"the same in boxes", api.GraphQuery{Filter: []string{"set=one"}, Outside: true,
			Fold: []string{"agent"}},
			"[a]:1:available [b]+:1:available+outside [a]>[b]+:1 total 2 left 0"},
		{"only what is wrong, the worst first, if there is too much", api.GraphQuery{Limit: 3},
			"b:1:blocked c:1:blocked d:1:blocked c>b:1 d>b:1 total 6 left 3"},
		{"what is wrong and its neighbours, and nothing beside", api.GraphQuery{Limit: 5},
			"a:1:undefined b:1:blocked c:1:blocked d:1:blocked b>a:1 c>b:1 d>b:1 total 6 left 2"},
		{"nothing matches", api.GraphQuery{Filter: []string{"type=x::Y"}}, "total 0 left 0"},
	} {
		for name, home := range map[string]api.Home{"service": w.service, "client": w.client(t)} {
			g, err := home.Graph(t.Context(), "e", c.q)
			if got := drawn(g); err != nil || got != c.want {
				t.Errorf("%s, %s: %v\n%s", c.why, name, err, cmp.Diff(c.want, got))
			}
		}
	}
}

// TestGraphErrors pins the kinds of errors, which are the same in both homes.
func TestGraphErrors(t *testing.T) {
	t.Parallel()
	w := wired(t)
	for _, c := range []struct {
		why, env string
		q        api.GraphQuery
		want     fault.Kind
	}{
		{"no resource", "e", api.GraphQuery{ID: "std::Null[a,name=x]"}, fault.NotFound},
		{"no environment", "x", api.GraphQuery{}, fault.NotFound},
		{"a wrong word", "e", api.GraphQuery{Fold: []string{"colour"}}, fault.Usage},
		{"a wrong filter", "e", api.GraphQuery{Filter: []string{"colour=red"}}, fault.Usage},
		{"too many boxes", "e", api.GraphQuery{Open: make([]string, 31)}, fault.Usage},
		{"steps backwards", "e", api.GraphQuery{ID: idOn("a", "a"), Up: -1}, fault.Usage},
	} {
		for name, home := range map[string]api.Home{"service": w.service, "client": w.client(t)} {
			if _, err := home.Graph(t.Context(), c.env, c.q); !fault.Is(err, c.want) {
				t.Errorf("%s, %s: %v", c.why, name, err)
			}
		}
	}
}

// TestGraphPath pins that an id may have its slashes as they are, and where the limits are.
func TestGraphPath(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	m := nulls(1)
	m.Resources[0] = null("/srv/x", "v")
	if _, err := w.service.Export(t.Context(), "e", deploy.Export{Model: m}, nil); err != nil {
		t.Fatal(err)
	}
	const at = "/v1/environments/e/resources/std::Null%5Ba,name="
	for path, want := range map[string]int{
		at + "/srv/x%5D/graph": http.StatusOK, at + "%2Fsrv%2Fx%5D/graph": http.StatusOK,
		at + "/srv/x%5D/graph?limit=3000":          http.StatusUnprocessableEntity,
		at + "/srv/x%5D/graph?up=x":                http.StatusUnprocessableEntity,
		"/v1/environments/e/graph?fold=colour":     http.StatusUnprocessableEntity,
		"/v1/environments/e/graph?fold=agent,type": http.StatusOK,
	} {
		if resp, text := w.ask(t, "GET", path, ""); resp.StatusCode != want {
			t.Errorf("%s: %d %s", path, resp.StatusCode, text)
		}
	}
	// the bound of the client is that of the server
	g, err := w.client(t).Graph(t.Context(), "e", api.GraphQuery{Limit: math.MaxInt})
	if err != nil || !slices.ContainsFunc(g.Nodes, func(n api.GraphNode) bool {
		return n.Agent == "a" && n.Type == "std::Null"
	}) {
		t.Error(g, err)
	}
}
