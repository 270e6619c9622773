// Package http manages the objects of any API that speaks JSON over HTTP, through agents with the
// transport http.
package http

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// object is the handler of http::Object.
type object struct{}

// thingOf names an object by its path or, if the API chooses the id, by the condition that finds
// it. An object that is only known by its stored id has the resource's name.
func thingOf(attrs map[string]any) schema.Thing {
	path, _ := attrs["path"].(string)
	collection, _ := attrs["collection"].(string)
	if path == "" || len(resource.References(attrs["vars"])) > 0 {
		return schema.Thing{}
	}
	s := newScope(provider.Resource{Attributes: attrs})
	if !slices.Contains(pathNames(path), "id") {
		at, err := s.path(path)
		if err != nil {
			return schema.Thing{}
		}
		return schema.NewThing("the object at " + at)
	}
	at, err := s.path(collection)
	if err != nil {
		return schema.Thing{}
	}
	match := member(attrs, "find", "match")
	if match == nil {
		return schema.NewThing(fmt.Sprintf("the object %v of %s", attrs["name"], at))
	}
	filled, err := s.body(match)
	if err != nil || len(resource.References(filled)) > 0 {
		return schema.Thing{}
	}
	text, err := resource.CanonicalValue(filled)
	if err != nil {
		return schema.Thing{}
	}
	if path, _ := member(attrs, "find", "path").(string); path != "" {
		if at, err = s.path(path); err != nil {
			return schema.Thing{}
		}
	}
	return schema.NewThing(fmt.Sprintf("the object of %s with %s", at, text))
}

// Object declares http::Object.
func Object() provider.Definition {
	const pointer, path = `Pattern[/\A(\/([^~]|~[01])*)?\z/]`, `Pattern[/\A\/\S*\z/]`
	each := func(value string, names ...string) string {
		var members []string
		for _, n := range names {
			members = append(members, fmt.Sprintf("Optional['%s'] => %s", n, value))
		}
		return "Struct[{" + strings.Join(members, ", ") + "}]"
	}
	return provider.Definition{
		Type: schema.Type{
			Listed: []string{schema.AnyAttribute},
			Name:   "http::Object",
			Description: "An object of a JSON API. Paths contain {name}, {id} and {variable}; in bodies, a text " +
				"$name stands for that value, and ${name} inside a text for its text ($$ is a $). Only " +
				"the members of body are compared; all others are left unchanged. If the API chooses " +
				"the id, it is kept as the fact object_id, unless find identifies the object.",
			Transports: []string{"http"},
			Attributes: []schema.Attribute{
				{Name: "name", Type: "String[1]", Behaviour: schema.Namevar,
					Description: "its name, unique for the agent; sent to the API only where a path or body " +
						"refers to name"},
				{Name: "path", Type: path, Behaviour: schema.Parameter,
					Description: "path of the object below the agent's url, such as /users/{name} or /users/{id}"},
				{Name: "collection", Type: "Optional[" + path + "]", Behaviour: schema.Parameter,
					Description: "path at which POST creates objects and GET lists them; absent: PUT to path " +
						"creates"},
				{Name: "body", Type: "Optional[Hash[String, Any]]",
					Description: "the desired members of the object, sent in requests"},
				{Name: "vars", Type: "Optional[Hash[Pattern[/\\A[a-z_][a-zA-Z0-9_]*\\z/], Any]]",
					Behaviour:   schema.Parameter,
					Description: "values for paths and bodies"},
				{Name: "secrets",
					Type:        "Optional[Hash[Pattern[/\\A[a-z_][a-zA-Z0-9_]*\\z/], String]]",
					Behaviour:   schema.Parameter,
					Description: "secrets for bodies and headers, each {secret: ...}"},
				{Name: "headers", Type: "Optional[Hash[String[1], String]]",
					Behaviour:   schema.Parameter,
					Description: "headers besides those of the agent, with references as in bodies"},
				{Name: "methods",
					Type: "Optional[Struct[{Optional['create'] => " +
						"Enum['POST','PUT','PATCH'], Optional['update'] => " +
						"Enum['PUT','PATCH','POST'], Optional['delete'] => " +
						"Enum['DELETE','POST','PUT','PATCH']}]]",
					Behaviour: schema.Parameter,
					Description: "methods other than POST to collection or PUT to path, PATCH, " +
						"and DELETE"},
				{Name: "paths",
					Type: "Optional[" + each(path, "create", "read", "update", "delete") +
						"]",
					Behaviour:   schema.Parameter,
					Description: "paths of requests that do not go to path or collection"},
				{Name: "bodies", Type: "Optional[" + each("Any", "create", "update", "delete") +
					"]", Behaviour: schema.Parameter,
					Description: "bodies of requests that do not send body alone; $body stands for body"},
				{Name: "update_sends", Type: "Enum['wanted','changed','merged']", Default: "wanted",
					Behaviour: schema.Parameter,
					Description: "wanted: body; changed: the differing members of body; merged: the read object " +
						"with body merged into it, for APIs whose PUT replaces the object"},
				{Name: "update_id", Type: "Optional[String[1]]", Behaviour: schema.Parameter,
					Description: "member of an update's body that holds the id"},
				{Name: "wrap", Type: "Optional[String[1]]", Behaviour: schema.Parameter,
					Description: "member of a request that holds the body"},
				{Name: "object_at", Type: pointer, Default: "", Behaviour: schema.Parameter,
					Description: "JSON pointer to the object in a response, such as /data"},
				{Name: "id_at", Type: pointer, Default: "/id", Behaviour: schema.Parameter,
					Description: "JSON pointer to the id in the object; absent: the last segment of Location in " +
						"the response to a create"},
				{Name: "new_id_at", Type: "Optional[" + pointer + "]", Behaviour: schema.Parameter,
					Description: "JSON pointer to the id in the response to a create, if it differs from id_at; " +
						"another id in the response to an update means that the object was replaced"},
				{Name: "find",
					Type: "Optional[Struct[{'match' => Hash[String, Any, 1], Optional['path'] => " +
						path + ", Optional['items'] => " + pointer + ", Optional['next'] => " +
						pointer +
						", Optional['cursor'] => String[1], Optional['page'] => String[1], " +
						"Optional['offset'] => String[1]}]]",
					Behaviour: schema.Parameter,
					Description: "how to identify the object: the entry with the members of match in the list " +
						"at path (default: collection), under items. next is the pointer to the link " +
						"of the next page, unless the header Link has it, or to the value of the query " +
						"member cursor; page and offset name the query member that counts pages from " +
						"1, or objects from 0"},
				{Name: "operation",
					Type: "Optional[Struct[{Optional['done'] => Hash[String, Any], " +
						"Optional['failed'] => Hash[String, Any], Optional['id'] => " + pointer +
						"}]]", Behaviour: schema.Parameter,
					Description: "the resource at the Location of a create that is answered with 202: its " +
						"members when it is done or has failed, and the pointer to the id of the object"},
				{Name: "ignore", Type: "Optional[Array[" + pointer + "]]",
					Behaviour: schema.Parameter,
					Description: "pointers to parts of body that are sent and not compared, such as write-only " +
						"members; * is any member"},
				{Name: "sets", Type: "Optional[Hash[" + pointer + ", String]]",
					Behaviour: schema.Parameter,
					Description: "pointers to lists of body without order, each with the member that identifies " +
						"an item, or '' for the whole item"},
				{Name: "ready", Type: "Optional[Hash[String, Any]]",
					Description: "members of the object when it is ready, such as {status: active}; a run waits " +
						"for them"},
				{Name: "failed", Type: "Optional[Hash[String, Any]]", Behaviour: schema.Parameter,
					Description: "members of an object that will never be ready, such as {status: error}"},
				{Name: "gone", Type: "Optional[Hash[String, Any]]", Behaviour: schema.Parameter,
					Description: "members of an object that is still returned but no longer exists, such as " +
						"{status: deleted}"},
				{Name: "settle", Type: "Integer[0, 86400]", Default: int64(30),
					Behaviour: schema.Parameter,
					Description: "seconds within which the API returns the effect of a change; 0: its response " +
						"is enough"},
				{Name: "facts", Type: "Optional[Hash[String[1], " + pointer + "]]",
					Behaviour:   schema.Parameter,
					Description: "facts of the object, by name, as JSON pointers"},
				{Name: "outputs", Type: "Optional[Hash[String[1], " + pointer + "]]",
					Behaviour: schema.Parameter,
					Description: "secret outputs, by name, as JSON pointers into a response, such as {token: " +
						"/token}. They are kept encrypted, and other resources refer to them as {secret: " +
						"\"output:ID#token\"}"},
				{Name: "outputs_from", Type: "Enum['changes','creates','reads']", Default: fromChanges,
					Behaviour: schema.Parameter,
					Description: "the responses with outputs. changes: those to creates and updates, where an " +
						"output that a response lacks keeps its value; creates: only those to creates; " +
						"reads: those to reads, of an API that always shows the outputs"},
				{Name: "object_id", Type: "Optional[String]", Behaviour: schema.ReadOnly,
					Description: "the id that the API chose"},
				{Name: "etag", Type: "Optional[String]", Behaviour: schema.ReadOnly,
					Description: "the API's name of this state of the object (ETag); an update is refused if it " +
						"has changed"},
			},
			Features: []string{"batch", "facts", "discover"},
			Assigned: true,
			Validate: validate,
			Thing:    thingOf,
			Outputs:  outputNames,
		},
		Handler: object{},
	}
}

// validate checks the rules about several attributes.
func validate(attrs map[string]any) []diag.Problem {
	v := &validator{attrs: attrs, names: []string{"name"}}
	for _, from := range []string{"vars", "secrets"} {
		m, _ := attrs[from].(map[string]any)
		for _, n := range slices.Sorted(maps.Keys(m)) {
			if slices.Contains(v.names, n) || n == "id" || n == bodyName {
				v.bad(from, "choose another name", "%q is taken", n)
			}
			if from == "secrets" && !provider.HasSecret(m[n]) {
				v.bad(from,
					`write {secret: "env:NAME"}, or name it in vars if everybody may see it`,
					"the value of %q stands in the document", n)
			}
			v.names = append(v.names, n)
		}
	}
	for _, name := range []string{"body", "vars", "headers", "bodies", "find", "ready", "failed",
		"gone"} {
		if provider.HasSecret(attrs[name]) {
			v.bad(name, "name it in secrets, and write $NAME here",
				"a secret stands where its value would be shown")
		}
	}
	v.paths()
	v.bodies()
	v.outputs()
	return v.out
}

type validator struct {
	attrs map[string]any
	names []string
	out   []diag.Problem
}

func (v *validator) bad(attribute, hint, format string, args ...any) {
	v.out = append(v.out, diag.Problem{Attribute: attribute, Message: fmt.Sprintf(format, args...),
		Hint: hint})
}

// member returns a member of an attribute that is a map, nil if there is none.
func member(attrs map[string]any, attribute, name string) any {
	m, _ := attrs[attribute].(map[string]any)
	return m[name]
}

func (v *validator) paths() {
	path, _ := v.attrs["path"].(string)
	collection, _ := v.attrs["collection"].(string)
	withID := strings.Contains(path, "{id}")
	if _, taken := member(v.attrs, "facts", idFact).(string); taken && remembers(v.attrs) {
		v.bad("facts", "choose another name", "%q is the fact in which the id is kept", idFact)
	}
	ways := 0
	for _, way := range []string{"page", "offset", "cursor"} {
		if member(v.attrs, "find", way) != nil {
			ways++
		}
	}
	if next := member(v.attrs, "find", "next") != nil; ways > 1 ||
		next && ways == 1 && member(v.attrs, "find", "cursor") == nil {
		v.bad("find", "keep one of page, offset, and next with or without cursor",
			"there are several ways to the next page")
	} else if !next && member(v.attrs, "find", "cursor") != nil {
		v.bad("find", "add next, where an answer has the cursor",
			"the cursor of the next page is not known")
	}
	if v.attrs["find"] != nil && collection == "" && member(v.attrs, "find", "path") == nil {
		v.bad("find", "add collection, or a path to find", "there is no list to look in")
	}
	if create, _ := member(v.attrs, "paths", "create").(string); withID && collection == "" &&
		create == "" {
		v.bad("path", "add collection, where the object is created",
			"an object without an id yet cannot be created at %s", path)
	}
	check := func(attribute, text string, id bool) {
		for _, n := range pathNames(text) {
			switch {
			case n == "id" && !id:
				v.bad(attribute, "leave {id} out", "the id is not known yet when %s is used", text)
			case member(v.attrs, "secrets", n) != nil:
				v.bad(attribute, "send it in a header or a body",
					"a secret in a path can be seen by everybody on the way")
			case n != "id" && !slices.Contains(v.names, n):
				v.bad(attribute, "there are "+strings.Join(v.names, ", ")+"; vars may name more",
					"nothing is called %q", n)
			}
		}
	}
	check("path", path, true)
	check("collection", collection, false)
	for _, n := range []string{"create", "read", "update", "delete"} {
		p, _ := member(v.attrs, "paths", n).(string)
		check("paths", p, n != "create")
	}
	p, _ := member(v.attrs, "find", "path").(string)
	check("find", p, false)
}

func (v *validator) bodies() {
	check := func(attribute string, value any, id bool) {
		for _, n := range bodyNames(value) {
			switch {
			case n == bodyName && attribute == "bodies" && v.attrs["body"] != nil:
			case n == "id" && !id:
				v.bad(attribute, "leave $id out", "the id is not known when %s is used", attribute)
			case n != "id" && !slices.Contains(v.names, n):
				v.bad(attribute,
					"there are "+strings.Join(v.names, ", ")+"; vars may name more, and $$ is a $",
					"nothing is called %q", n)
			}
		}
	}
	check("body", v.attrs["body"], false)
	check("headers", v.attrs["headers"], false)
	check("find", member(v.attrs, "find", "match"), false)
	for _, n := range []string{"ready", "failed", "gone"} {
		check(n, v.attrs[n], true)
	}
	check("bodies", member(v.attrs, "bodies", "create"), false)
	check("bodies", member(v.attrs, "bodies", "update"), true)
	check("bodies", member(v.attrs, "bodies", "delete"), true)
}
