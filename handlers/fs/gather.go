package fs

import (
	"slices"
	"strings"

	"southbound/handlers/internal/disk"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Attributes of fs::Directory that are filled in.
const (
	managedNames   = "managed_names"
	managedBackups = "managed_backups"
)

// gather tells a directory that is emptied what else is managed in it.
func gather(attrs map[string]any, dependents []schema.Dependent) map[string]any {
	var names, backups []string
	for _, d := range dependents {
		path, _ := d.Attributes["path"].(string)
		_, base := disk.Split(path)
		if base == "" || base == "." {
			continue
		}
		names = append(names, base)
		if suffix := suffixOf(provider.Resource{Attributes: d.Attributes}); suffix != "" {
			backups = append(backups, base+suffix)
		}
	}
	out := make(map[string]any, len(attrs)+2)
	for name, v := range attrs {
		out[name] = v
	}
	set(out, managedNames, names)
	set(out, managedBackups, backups)
	return out
}

func set(attrs map[string]any, name string, names []string) {
	delete(attrs, name)
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	names = slices.Compact(names)
	list := make([]any, len(names))
	for i, s := range names {
		list[i] = s
	}
	attrs[name] = list
}

// validGathered refuses what is filled in.
func validGathered(attrs map[string]any) []diag.Problem {
	var out []diag.Problem
	for _, name := range []string{managedNames, managedBackups} {
		if attrs[name] != nil {
			out = append(out, diag.Problem{Attribute: name, Message: "this attribute is filled in",
				Hint: "put the names into keep"})
		}
	}
	return out
}

// leftAlone returns a function that says what recurse_purge does not remove.
func leftAlone(r provider.Resource) func(name string) bool {
	exact, backups := map[string]bool{}, map[string]bool{}
	for attribute, into := range map[string]map[string]bool{"keep": exact, managedNames: exact,
		managedBackups: backups} {
		list, _ := r.Attributes[attribute].([]any)
		for _, v := range list {
			if s, ok := v.(string); ok {
				into[s] = true
			}
		}
	}
	return func(name string) bool {
		if exact[name] || backups[name] {
			return true
		}
		i := strings.LastIndexByte(name, '.')
		return i > 0 && backups[name[:i]] && i+1 < len(name) &&
			strings.Trim(name[i+1:], "0123456789") == ""
	}
}
