package names

import (
	"southbound/shared/lang/eval"
	"southbound/shared/schema"
)

// unknown sets the reason, hint and code for a name that has no symbol: an entity, a type, an
// implementation or a plugin. The messages are the same as in an evaluation.
func (r *resolver) unknown(u *Use, name string) {
	ns, last := within(name)
	u.Code = eval.CodeUnknownType
	what := name
	if u.Kind == Plugin {
		what = "plugin " + name
	}
	if ns == "" {
		u.Why = "there is no " + what + " in the namespace " + r.space.symbol.Name
		u.Hint = r.elsewhere(name)
		return
	}
	other := r.project.space(r.space, ns)
	if other != nil {
		u.Why = "the namespace " + ns + " has no " + last
		u.Hint = near(last, other)
		return
	}
	u.Why = "there is no " + what + " here: the namespace " + ns + " is not imported"
	u.Hint = "write `import " + ns + "` at the top of the file"
	if full, ok := r.space.visible[ns]; ok {
		u.Why = "there is no module " + full
		u.Hint = ""
	}
}

// elsewhere returns a hint about similar names in other visible namespaces.
func (r *resolver) elsewhere(name string) string {
	for _, full := range sorted(r.space.visible) {
		if s := r.project.spaces[full]; s != nil && s.types[name] != nil {
			return "did you mean " + full + "::" + name + "?"
		}
	}
	return near(name, r.space)
}

func near(name string, s *space) string {
	if found := schema.Nearest(name, sortedKeys(s.types)); found != "" {
		return "did you mean " + found + "?"
	}
	return ""
}
