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
	if _, known := SecretSourceOf(source); !known {
		return "does not begin with " + schemes()
	}
	switch scheme {
	case "file", "sops":
		file := name
		if scheme == "sops" {
			file, _, _ = strings.Cut(name, "#")
		}
		if !cleanPath(strings.TrimSuffix(file, "/")) {
			return "is no clean absolute path below /"
		}
	case "command":
		if checkCommand(name) != "" {
			return "is no command"
		}
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
	kind, known := SecretSourceOf(source)
	return known && kind.covers(item, source, rest)
}

// coversVariable is the rule for names of variables.
func coversVariable(item, _, rest string) bool { return rest == "" || strings.HasSuffix(item, "_") }

// coversFile is the rule for paths of files.
func coversFile(item, source, rest string) bool {
	return cleanPath(nameOf(source)) && below(item, rest, "")
}

// coversVersioned is the rule for names that may end with :VERSION.
func coversVersioned(item, source, rest string) bool {
	return local(nameOf(source)) && below(item, rest, ":")
}

// coversSelected is the rule for names that may end with #MEMBER.
func coversSelected(item, source, rest string) bool {
	return local(nameOf(source)) && below(item, rest, "#")
}

// coversKeys is the rule for names that may end with #KEY or #KEY/KEY.
func coversKeys(item, source, rest string) bool {
	keys := strings.HasPrefix(rest, "#") && !strings.Contains(item, "#")
	file, _, _ := strings.Cut(nameOf(source), "#")
	return cleanPath(file) && local(nameOf(source)) && (keys || below(item, rest, ""))
}

// coversWhole is the rule for sources of which an item allows only itself.
func coversWhole(_, _, rest string) bool { return rest == "" }

func nameOf(source string) string {
	_, name, _ := strings.Cut(source, ":")
	return name
}

// schemes returns the beginnings of all sources: "env:, file: or ...".
func schemes() string {
	var out []string
	for _, s := range SecretSources() {
		out = append(out, s.Scheme+":")
	}
	last := len(out) - 1
	return strings.Join(out[:last], ", ") + " or " + out[last]
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
