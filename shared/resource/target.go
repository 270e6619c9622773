package resource

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Target describes the location of the objects of an agent, as far as the agent's description shows
// it. Agents with the same target share their objects. Their credentials make no difference. The
// text is readable by people.
func (a Agent) Target() string {
	switch transport := cmp.Or(a.Transport, "local"); transport {
	case "local":
		return "this machine"
	case "ssh":
		return "ssh " + a.machine() + a.jumps()
	case "postgresql":
		return fmt.Sprintf("postgresql %s:%s", a.host(), a.option("port", "5432"))
	case "http":
		return "http " + base(a.option("url", ""))
	case "aws":
		return strings.Join(slices.DeleteFunc([]string{"aws", a.option("region", ""),
			a.account(), base(a.option("endpoint", ""))},
			func(s string) bool { return s == "" }), " ")
	default:
		return strings.TrimSpace(transport + " " + a.options(slices.Sorted(maps.Keys(a.Options))...))
	}
}

// option returns an option as text; a reference is returned in its encoded form.
func (a Agent) option(name, otherwise string) string {
	switch v := a.Options[name].(type) {
	case nil:
		return otherwise
	case string:
		return v
	default:
		text, err := CanonicalValue(v)
		if err != nil {
			return otherwise
		}
		return string(text)
	}
}

// options returns the given options that are set, as text.
func (a Agent) options(names ...string) string {
	var out []string
	for _, name := range names {
		if v := a.option(name, ""); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return strings.Join(out, " ")
}

func (a Agent) host() string { return strings.ToLower(strings.TrimSuffix(a.option("host", ""), ".")) }

func (a Agent) machine() string { return a.host() + ":" + a.option("port", "22") }

// jumps returns the jump hosts on the path to an ssh server. Behind another jump host, the same
// address may belong to another machine.
func (a Agent) jumps() string {
	list, ok := a.Options["jump"].([]any)
	if m, one := a.Options["jump"].(map[string]any); one {
		list, ok = []any{m}, true
	}
	out := ""
	if !ok {
		return out
	}
	for _, v := range list {
		options, _ := v.(map[string]any)
		out += " by " + Agent{Options: options}.machine()
	}
	return out
}

// account returns the part of the description that selects the account of an AWS agent: the account
// of its role, or else its profile.
func (a Agent) account() string {
	role := a.option("role", "")
	if parts := strings.Split(role, ":"); len(parts) == 6 {
		return "account " + parts[4]
	}
	return cmp.Or(a.options("role"), a.options("profile"))
}

// base returns a URL without insignificant differences.
func base(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return text
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	for scheme, port := range map[string]string{"http": ":80", "https": ":443"} {
		if u.Scheme == scheme {
			u.Host = strings.TrimSuffix(u.Host, port)
		}
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u.String()
}
