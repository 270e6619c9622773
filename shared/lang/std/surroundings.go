package std

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// surroundingPlugins returns the plugins for the environment, the time and the facts of a compile.
func surroundingPlugins() []eval.Plugin {
	fixed := func(name, doc, result string, v types.Value) eval.Plugin {
		return eval.Plugin{
			Name: "std::" + name, Doc: doc, Result: result,
			Call: func(*eval.Context, eval.Args) (types.Value, error) { return v, nil },
		}
	}
	return []eval.Plugin{
		{
			Name: "std::get_env", Result: "string", Call: getEnv,
			Doc: "Returns an environment variable; an unknown value if there is none and no " +
				"default_value. within: " + withinDoc,
			Params: []eval.Param{
				{Name: "name", Type: "string"},
				{Name: "default_value", Type: "string?", Default: types.Null{}}, Within(),
			},
		},
		{
			Name: "std::get_env_int", Result: "int", Call: getEnvInt,
			Doc:        "Returns an environment variable as a whole number, as std::get_env.",
			Deprecated: true, ReplacedBy: "int(std::get_env(...))",
			Params: []eval.Param{
				{Name: "name", Type: "string"},
				{Name: "default_value", Type: "int?", Default: types.Null{}}, Within(),
			},
		},
		{
			Name: "std::timestamp", Doc: "Returns the seconds since 1970.", Result: "int",
			Params: []eval.Param{{Name: "dummy", Type: "any", Default: types.Null{}}},
			Call: func(*eval.Context, eval.Args) (types.Value, error) {
				return time.Now().Unix(), nil
			},
		},
		{
			Name: "std::environment", Result: "string", InContext: true, Call: environment,
			Doc: "Returns the environment that the model is compiled for.",
		},
		{
			Name: "std::environment_name", Result: "string", InContext: true, Call: environment,
			Doc: "Returns the name of the environment that the model is compiled for.",
		},
		fixed("environment_server", "Returns the address of the server: this machine.",
			"string", "localhost"),
		fixed("server_ca", "Returns an empty string: there is no certificate of a server.",
			"string", ""),
		fixed("server_ssl", "Returns false: there is no server.", "bool", false),
		fixed(
			"server_port",
			"Returns the port of the server, if there is one.",
			"int",
			int64(8888),
		),
		{
			Name: "std::server_token", Doc: "Returns an empty string: there is no server.",
			Result: "string",
			Params: []eval.Param{{
				Name: "client_types", Type: "string[]",
				Default: &types.List{Items: []types.Value{"agent"}},
			}},
			Call: func(*eval.Context, eval.Args) (types.Value, error) { return "", nil },
		},
		{
			Name: "std::getfact", Result: "any | reference", InContext: true, Call: getFact,
			Doc: "Returns a fact of resource; where it is not known default_value, or an unknown " +
				"value if there is none.",
			Params: []eval.Param{
				{Name: "resource", Type: "any"},
				{Name: "fact_name", Type: "string"},
				{Name: "default_value", Type: "any", Default: types.Null{}},
			},
		},
	}
}

func getEnv(c *eval.Context, a eval.Args) (types.Value, error) {
	if err := SecretName(c, a, 0, 2, envScheme); err != nil {
		return nil, err
	}
	name := a.Text(0)
	if v, ok := os.LookupEnv(name); ok {
		if read := of(c).Read; read != nil {
			read(v)
		}
		return v, nil
	}
	if a.Null(1) {
		return &types.Unknown{Why: "the environment variable " + name + " is not set; set " + name +
			" where models are compiled"}, nil
	}
	return a.Values[1], nil
}

func getEnvInt(c *eval.Context, a eval.Args) (types.Value, error) {
	v, err := getEnv(c, a)
	text, ok := v.(string)
	if err != nil || !ok {
		return v, err
	}
	n, ok := toInt(text)
	if !ok {
		return nil, fmt.Errorf("the environment variable %s is not a whole number", a.Text(0))
	}
	return n, nil
}

func environment(c *eval.Context, _ eval.Args) (types.Value, error) {
	if name := of(c).Environment; name != "" {
		return name, nil
	}
	return nil, errors.New("the model is not compiled for an environment")
}

func getFact(c *eval.Context, a eval.Args) (types.Value, error) {
	o, ok := a.Values[0].(types.Object)
	if !ok {
		return nil, fmt.Errorf("only resources have facts, and this is %s", types.Kind(a.Values[0]))
	}
	if known := of(c).Fact; known != nil {
		if v, ok, err := known(o, a.Text(1)); ok || err != nil {
			return v, err
		}
	}
	if !isResource(o.Type()) {
		return nil, fmt.Errorf("only resources have facts, and %s does not extend std::Resource",
			o.Type().FullName())
	}
	if !a.Null(2) {
		return a.Values[2], nil
	}
	if later := of(c).Later; later != nil {
		if r, ok := later(o, a.Text(1)); ok {
			return r, nil
		}
	}
	name := a.Text(1)
	return &types.Unknown{Why: "the fact " + name + " is not known yet", Of: o, Fact: name}, nil
}

// isResource reports whether instances of an entity may be resources.
func isResource(e *types.Entity) bool {
	is := func(e *types.Entity) bool { return e.FullName() == "std::Resource" }
	return is(e) || slices.ContainsFunc(e.Ancestors(), is)
}
