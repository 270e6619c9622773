package resource

import (
	"path"
	"slices"
	"strings"
)

// CheckCover returns the reason why an item of a list of sources covers nothing or everything. It
// returns "" if the item is valid.
func CheckCover(source string) string {
	scheme, name, _ := strings.Cut(source, ":")
	switch scheme {
	case "env", "ssm", "secretsmanager":
	case "file":
		if !cleanPath(strings.TrimSuffix(name, "/")) {
			return "is no clean absolute path below /"
		}
	default:
		return "does not begin with env:, file:, ssm: or secretsmanager:"
	}
	if strings.Trim(name, "/_") == "" {
		return "allows every name"
	}
	return ""
}

// cleanPath reports whether a path is absolute, in canonical form, and below /.
func cleanPath(p string) bool {
	return len(p) > 1 && path.IsAbs(p) && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}

// Covers reports whether an item of a list allows a source: the same source, or a source below it.
// An element of a name ends with / in paths, and with _ in variables. So env:APP_ covers
// env:APP_TOKEN, and env:APP covers no other source. Letter case is significant.
func Covers(item, source string) bool {
	rest, begins := strings.CutPrefix(source, item)
	if !begins {
		return false
	}
	scheme, name, _ := strings.Cut(source, ":")
	switch scheme {
	case "env":
		return rest == "" || strings.HasSuffix(item, "_")
	case "file":
		return cleanPath(name) && below(item, rest, "")
	case "ssm":
		return local(name) && below(item, rest, ":")
	default:
		return local(name) && below(item, rest, "#")
	}
}

// below reports whether the rest of a name after an item begins a new element. The selector is the
// prefix of the version or member at the end of a store's name.
func below(item, rest, selector string) bool {
	if rest == "" {
		return !strings.HasSuffix(item, "/")
	}
	if strings.HasSuffix(item, "/") || rest[0] == '/' {
		return true
	}
	return selector != "" && strings.HasPrefix(rest, selector) &&
		!strings.ContainsAny(rest[1:], "/:#")
}

// local reports whether no element of a name is empty, . or ..; the first may be empty.
func local(name string) bool {
	return !slices.ContainsFunc(strings.Split(strings.TrimPrefix(name, "/"), "/"),
		func(element string) bool { return element == "" || element == "." || element == ".." })
}
