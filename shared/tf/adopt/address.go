package adopt

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/tf/value"
)

// Address identifies an instance of a resource, or, without a Key, a resource.
type Address struct {
	Module []Step
	Type   string
	Name   string
	Key    Key
}

// Step is one module of a path of modules.
type Step struct {
	Name string
	Key  Key
}

// Key is the key of an instance: none, a number of count, or a text of for_each.
type Key struct {
	Kind   KeyKind
	Number int64
	Text   string
}

// KeyKind is the kind of a key.
type KeyKind int

// The kinds of keys.
const (
	NoKey KeyKind = iota
	NumberKey
	TextKey
)

// String returns the key as addresses have it.
func (k Key) String() string {
	switch k.Kind {
	case NumberKey:
		return "[" + strconv.FormatInt(k.Number, 10) + "]"
	case TextKey:
		return "[" + quote(k.Text) + "]"
	}
	return ""
}

// quote quotes a text as Terraform does.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`,
		"${", "$${", "%{", "%%{").Replace(s) + `"`
}

// String returns the address as Terraform writes it.
func (a Address) String() string { return a.prefix() + a.local() }

func (a Address) prefix() string {
	var out strings.Builder
	for _, s := range a.Module {
		out.WriteString("module." + s.Name + s.Key.String() + ".")
	}
	return out.String()
}

func (a Address) local() string { return a.Type + "." + a.Name + a.Key.String() }

// resource returns the address of the resource of an instance, without any key: the form of
// dependencies.
func (a Address) resource() string {
	var out strings.Builder
	for _, s := range a.Module {
		out.WriteString("module." + s.Name + ".")
	}
	return out.String() + a.Type + "." + a.Name
}

// parseKey reads the key of an instance in a state file.
func parseKey(text json.RawMessage) (Key, error) {
	if present(text) == nil {
		return Key{}, nil
	}
	var s string
	if json.Unmarshal(text, &s) == nil {
		return Key{Kind: TextKey, Text: s}, nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return Key{}, fmt.Errorf("the key of an instance is neither a text nor a whole number")
	}
	return Key{Kind: NumberKey, Number: n}, nil
}

// maxSteps bounds the depth of modules.
const maxSteps = 64

// parseModule reads the modules at the start of an address, and returns the rest.
func parseModule(s string) (steps []Step, rest string, err error) {
	for {
		after, is := strings.CutPrefix(s, "module.")
		if !is {
			return steps, s, nil
		}
		var step Step
		if step.Name, s = word(after); step.Name == "" || len(steps) == maxSteps {
			return nil, "", fmt.Errorf("no path of modules")
		}
		if step.Key, s, err = index(s); err != nil {
			return nil, "", err
		}
		steps = append(steps, step)
		if s == "" {
			return steps, "", nil
		}
		if s, is = strings.CutPrefix(s, "."); !is {
			return nil, "", fmt.Errorf("no path of modules")
		}
	}
}

// word returns the text until the next dot or bracket.
func word(s string) (word, rest string) {
	if i := strings.IndexAny(s, ".["); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// index reads an index at the start of s, if there is one.
func index(s string) (Key, string, error) {
	bad := fmt.Errorf("no index")
	inner, is := strings.CutPrefix(s, "[")
	if !is {
		return Key{}, s, nil
	}
	if !strings.HasPrefix(inner, `"`) {
		digits, rest, closed := strings.Cut(inner, "]")
		n, err := strconv.ParseInt(digits, 10, 64)
		if !closed || err != nil {
			return Key{}, "", bad
		}
		return Key{Kind: NumberKey, Number: n}, rest, nil
	}
	text, rest, ok := quoted(inner)
	if rest, is = strings.CutPrefix(rest, "]"); !ok || !is {
		return Key{}, "", bad
	}
	return Key{Kind: TextKey, Text: text}, rest, nil
}

// quoted reads a quoted text at the start of s.
func quoted(s string) (text, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", false
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			text, err := strconv.Unquote(strings.ReplaceAll(s[:i+1], "\n", `\n`))
			return strings.NewReplacer("$${", "${", "%%{", "%{").Replace(text), s[i+1:],
				err == nil && utf8.ValidString(text)
		}
	}
	return "", "", false
}

// parseResource reads the address of a resource without a key, as dependencies have it. Data sources
// have the type "data." and their own.
func parseResource(s string) (Address, error) {
	module, rest, err := parseModule(s)
	if err != nil {
		return Address{}, err
	}
	prefix := ""
	if after, is := strings.CutPrefix(rest, "data."); is {
		prefix, rest = "data.", after
	}
	typ, name, ok := strings.Cut(rest, ".")
	if name, tail := word(name); !ok || typ == "" || name == "" || strings.HasPrefix(tail, ".") {
		return Address{}, fmt.Errorf("no address of a resource")
	}
	name, _ = word(name)
	return Address{Module: module, Type: prefix + typ, Name: name}, nil
}

// Configuration identifies the configuration of a provider.
type Configuration struct {
	Module   string // that declares it; "": the root
	Provider string // such as registry.terraform.io/hashicorp/random
	Alias    string // "": the default configuration
}

// String returns the configuration as Terraform writes it.
func (c Configuration) String() string {
	out := "provider[" + quote(c.Provider) + "]"
	if c.Module != "" {
		out = c.Module + "." + out
	}
	if c.Alias != "" {
		out += "." + c.Alias
	}
	return out
}

// ParseConfiguration reads the configuration of a provider as a state file has it.
func ParseConfiguration(s string) (Configuration, error) {
	bad := fmt.Errorf("%.200q is no configuration of a provider", s)
	module, rest, err := parseModule(s)
	if err != nil {
		return Configuration{}, bad
	}
	var out Configuration
	out.Module = strings.TrimSuffix(Address{Module: module}.prefix(), ".")
	inner, is := strings.CutPrefix(rest, "provider[")
	if !is {
		return Configuration{}, bad
	}
	var ok bool
	if out.Provider, rest, ok = quoted(inner); !ok || out.Provider == "" {
		return Configuration{}, bad
	}
	if rest, is = strings.CutPrefix(rest, "]"); !is {
		return Configuration{}, bad
	}
	if rest == "" {
		return out, nil
	}
	if rest, is = strings.CutPrefix(rest, "."); !is {
		return Configuration{}, bad
	}
	var key Key
	if out.Alias, rest = word(rest); out.Alias == "" {
		return Configuration{}, bad
	}
	if key, rest, err = index(rest); err != nil || rest != "" {
		return Configuration{}, bad
	}
	out.Alias += key.String()
	return out, nil
}

// parsePath reads a path of a sensitive attribute, and returns it as value.Pointer does.
func parsePath(text json.RawMessage) (string, error) {
	var steps []struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(text, &steps); err != nil {
		return "", err
	}
	var out cty.Path
	for _, s := range steps {
		switch s.Type {
		case "get_attr":
			var name string
			if err := json.Unmarshal(s.Value, &name); err != nil {
				return "", err
			}
			out = out.GetAttr(name)
		case "index":
			var of struct {
				Value json.RawMessage `json:"value"`
				Type  json.RawMessage `json:"type"`
			}
			if err := json.Unmarshal(s.Value, &of); err != nil {
				return "", err
			}
			key, err := parseKey(of.Value)
			switch {
			case err == nil && key.Kind == NumberKey:
				out = out.IndexInt(int(key.Number))
			case err == nil && key.Kind == TextKey:
				out = out.IndexString(key.Text)
			default: // an element of a set: the path ends at the set
				return value.Pointer(out), nil
			}
		default:
			return "", fmt.Errorf("the step %.50q is not known", s.Type)
		}
	}
	if len(out) == 0 {
		return "", fmt.Errorf("an empty path")
	}
	return value.Pointer(out), nil
}
