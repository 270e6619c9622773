package module

import (
	"fmt"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/lang/metadata"
)

// Asked is a requirement, and its origin.
type Asked struct {
	metadata.Requirement
	By string // the name of a module; "" for the project
}

// Demands are the requirements of a project and its modules on modules.
type Demands struct {
	// Remedy is the command that installs other versions, for hints.
	Remedy  string
	modules map[string]*Module
	asked   map[string][]Asked // by the required module
	order   []string
}

// NewDemands collects the requirements of a project and its modules.
func NewDemands(project []metadata.Requirement, modules []*Module) *Demands {
	d := &Demands{
		Remedy:  "southbound project update",
		modules: map[string]*Module{}, asked: map[string][]Asked{},
	}
	d.add("", project)
	for _, m := range modules {
		d.modules[m.Name] = m
	}
	for _, m := range modules {
		if m.Meta != nil {
			d.add(m.Name, m.Meta.Requires)
		}
	}
	return d
}

func (d *Demands) add(by string, requires []metadata.Requirement) {
	for _, r := range requires {
		if r.Module == "" || !r.Holds(MarkerEnvironment()) {
			continue
		}
		if d.asked[r.Module] == nil {
			d.order = append(d.order, r.Module)
		}
		d.asked[r.Module] = append(d.asked[r.Module], Asked{r, by})
	}
}

// Of returns the requirements on a module.
func (d *Demands) Of(name string) []Asked { return d.asked[name] }

// Check returns the unmet requirements: as errors, or as warnings for requirements of modules if
// strict is false.
func (d *Demands) Check(strict bool) (wrong, warnings diag.Problems) {
	for _, name := range d.order {
		m := d.modules[name]
		if m == nil {
			continue // the module is not imported, so it is not needed
		}
		for _, a := range d.asked[name] {
			p, ok := d.unmet(m, a)
			switch {
			case !ok:
			case strict || a.By == "":
				wrong.Add(p)
			default:
				warnings.Add(p)
			}
		}
	}
	return wrong, warnings
}

// unmet returns the problem of an unmet requirement; false if it is met.
func (d *Demands) unmet(m *Module, a Asked) (diag.Problem, bool) {
	p := diag.Problem{Pos: a.At, Code: metadata.CodeRequires, Related: d.Chain(a.By)}
	by := d.modules[a.By]
	switch {
	case by != nil && by.Generation == 2 && m.Generation == 1:
		p.Message = fmt.Sprintf("%s, a module V2, asks for %s, which is a module V1 in %s", a.By,
			m.Name, m.Dir)
		p.Hint = "install " + metadata.PackageOf(m.Name) +
			", or convert it with `southbound module v1tov2`"
	case len(a.Set) == 0:
		return p, false
	case m.Version().IsZero():
		p.Message = fmt.Sprintf(
			"%s for %s, and the version of %s is not known",
			asks(a.By),
			a.Spec(),
			m.Name,
		)
		p.Hint = "it has no " + metadata.FileV1 + ": " + m.Dir
	case a.Set.Contains(m.Version()):
		return p, false
	case m.BuiltIn:
		p.Message = fmt.Sprintf("%s for %s, and %s is built in", asks(a.By), a.Spec(), m.Version())
		p.Hint = "add " + metadata.PackageOf(m.Name) +
			" to requirements.txt, and run `southbound project install`"
	default:
		p.Message = fmt.Sprintf("%s for %s, and %s is installed", asks(a.By), a.Spec(), m.Version())
		p.Hint = d.hint(m, a)
	}
	return p, true
}

func asks(by string) string {
	if by == "" {
		return "the project asks"
	}
	return by + " asks"
}

// hint returns a hint for a version conflict: another requirement that allows the version, or the
// command that installs another version.
func (d *Demands) hint(m *Module, a Asked) string {
	for _, other := range d.asked[m.Name] {
		if len(other.Set) > 0 && other.At != a.At && other.Set.Contains(m.Version()) {
			return fmt.Sprintf(
				"%s for %s (%s); change one of the two, or run `%s`",
				asks(other.By),
				other.Spec(),
				other.At,
				d.Remedy,
			)
		}
	}
	if m.Editable && m.Generation == 2 {
		return "it is installed in editable form from " + m.Dir +
			"; check out another version there"
	}
	return "run `" + d.Remedy + "`"
}

// Chain returns the requirements that lead from the project to a module.
func (d *Demands) Chain(to string) []diag.Related {
	if to == "" {
		return nil
	}
	type step struct {
		asked Asked
		after *step
	}
	open, seen := []*step{{asked: Asked{By: to}}}, map[string]bool{to: true}
	for len(open) > 0 {
		s := open[0]
		open = open[1:]
		if s.asked.By == "" {
			var out []diag.Related
			for ; s != nil && s.after != nil; s = s.after {
				out = append(out, diag.Related{Pos: s.asked.At,
					Message: asks(s.asked.By) + " for " + s.asked.Spec()})
			}
			return out
		}
		for _, a := range d.asked[s.asked.By] {
			if !seen[a.By] || a.By == "" {
				seen[a.By] = true
				open = append(open, &step{a, s})
			}
		}
	}
	return nil
}

// Conflict returns the problem of a module whose requirements no available version meets.
func (d *Demands) Conflict(name string, versions []string) diag.Problem {
	all := slices.DeleteFunc(
		slices.Clone(d.asked[name]),
		func(a Asked) bool { return len(a.Set) == 0 },
	)
	p := diag.Problem{Code: metadata.CodeRequires}
	there := "there are none"
	if n := len(versions); n > 0 {
		there = "there are " + short(versions)
	}
	p.Message = fmt.Sprintf("no version of %s is allowed by all who ask for it; %s", name, there)
	p.Hint = "change one of these constraints"
	if len(all) == 0 {
		return p
	}
	p.Pos = all[len(all)-1].At
	for _, a := range all {
		if len(all) == 1 && a.By == "" {
			p.Message = fmt.Sprintf("no version of %s meets %s; %s", name, a.Spec(), there)
			p.Hint = "change this constraint"
			return p
		}
		p.Related = append(p.Related, d.Chain(a.By)...)
		p.Related = append(
			p.Related,
			diag.Related{Pos: a.At, Message: asks(a.By) + " for " + a.Spec()},
		)
	}
	return p
}

// short joins names; of many names only the first and the last ones.
func short(names []string) string {
	const limit = 8
	text := ""
	for i, n := range names {
		if len(names) > limit && i == limit/2 {
			text += ", ..."
		}
		if len(names) > limit && i >= limit/2 && i < len(names)-limit/2 {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += n
	}
	return text
}
