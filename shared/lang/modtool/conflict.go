package modtool

import (
	"slices"
	"strconv"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/metadata"
	"southbound/shared/pattern"
)

// Output of pip about requirements in conflict, and about the packages that require a package: a
// chain such as "a>=1->b->-r requirements.txt (line 3)".
const (
	conflictBegins = "The conflict is caused by:\n"
	constrained    = "The user requested (constraint) "
	requested      = "The user requested "
)

var (
	gathered = pattern.Lazy(`(?m)^ *(?:Collecting|Requirement already satisfied:) ([\w.-]+).*` +
		`\(from (?:(.*)->)?-r \S+ \(line (\d+)\)\)`)
	causes = pattern.Lazy(`^([\w.-]+) \S+ depends on ([\w.-]+)`)
	asked  = pattern.Lazy(`^([\w.-]+)`)
)

// quarrel converts pip's report of conflicting requirements to a problem that lists each
// requirement and its origin on a line. It returns false if the output reports no conflict. texts
// are the requirements that were passed to pip, one a line; needs have their places.
func quarrel(
	said string, texts []string, needs, constraints []metadata.Requirement,
) (diag.Problem, bool) {
	before, block, found := strings.Cut(said, conflictBegins)
	if !found {
		return diag.Problem{}, false
	}
	c := &chains{texts: texts, needs: needs, constraints: constraints, by: map[string][]string{}}
	for _, m := range gathered().FindAllStringSubmatch(before, -1) {
		if c.by[m[1]] == nil {
			c.by[m[1]] = append(strings.Split(m[2], "->"), m[3])
		}
	}
	about := ""
	for line := range strings.Lines(block) {
		cause := strings.TrimSpace(line)
		if cause == "" {
			break
		}
		if m := causes().FindStringSubmatch(cause); m != nil {
			about = m[2]
			c.who(m[1])
		}
		c.cause(cause)
	}
	p := diag.Problem{
		Pos: c.first, Code: metadata.CodeRequires,
		Message: "the packages that are needed do not go together",
		Hint:    "change one of these constraints",
	}
	if about != "" {
		p.Message = "no version of " + about + " is allowed by all who ask for it"
	}
	p.Message += "\n" + strings.Join(c.lines, "\n")
	return p, true
}

// chains collects the requirements in a conflict and their origins.
type chains struct {
	texts              []string
	needs, constraints []metadata.Requirement
	by                 map[string][]string // dependents by package, then their line in texts
	lines              []string
	first              diag.Pos // of the first requirement that comes from a file
}

func (c *chains) add(line string) {
	if line = hide(line); !slices.Contains(c.lines, line) {
		c.lines = append(c.lines, line)
	}
}

// at adds a requirement with its place.
func (c *chains) at(r metadata.Requirement) {
	text := hide(r.Requirement.String())
	switch {
	case r.At.File != "":
		if c.first.File == "" {
			c.first = r.At
		}
		c.add(r.At.String() + " asks for " + text)
	case r.Module != "":
		c.add("the module " + r.Module + " is imported: " + text)
	default:
		c.add("the Python code of modules needs " + text)
	}
}

// who adds the chain of requirements that leads to a package.
func (c *chains) who(name string) {
	chain := c.by[name]
	if len(chain) == 0 {
		return
	}
	line, _ := strconv.Atoi(chain[len(chain)-1])
	if line < 1 || line > len(c.texts) {
		return
	}
	text := c.texts[line-1]
	for _, r := range c.needs {
		if r.Requirement.String() == text {
			c.at(r)
		}
	}
	steps := append([]string{name}, chain[:len(chain)-1]...)
	for i := len(steps) - 1; i > 0; i-- {
		if by := asked().FindString(steps[i]); by != "" {
			c.add(by + " asks for " + steps[i-1])
		}
	}
}

// cause adds a line of pip: a requirement of a package, of the user, or a constraint.
func (c *chains) cause(text string) {
	limit, isLimit := strings.CutPrefix(text, constrained)
	user, isUser := strings.CutPrefix(text, requested)
	switch {
	case isLimit:
		name := asked().FindString(limit)
		known := false
		for _, r := range c.constraints {
			if metadata.ModuleOf(name) == r.Module && len(r.Set) > 0 {
				known = true
				c.at(r)
			}
		}
		if !known {
			c.add("the project asks for " + limit)
		}
	case isUser:
		name := asked().FindString(user)
		for _, r := range c.needs {
			if strings.EqualFold(r.Name, name) {
				c.at(r)
			}
		}
	default:
		c.add(strings.Replace(text, " depends on ", " asks for ", 1))
	}
}
