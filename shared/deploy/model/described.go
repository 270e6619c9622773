package model

import (
	"fmt"

	"southbound/shared/diag"
	"southbound/shared/schema"
)

// Describing holds the agent descriptions of the version that an export replaces.
type Describing struct {
	Version int      // the number of that version; 0: there is none
	Names   []string // of the agents that it describes
	Kept    bool     // the export keeps these descriptions
}

// CheckDescribed refuses agents that resources name and no document describes, if the model or the
// replaced version describes any agent: a misspelt name would mean this machine. Each agent is
// reported once, at the first resource that names it. Resources with handlers in Python do not
// count: such a handler runs on this machine, for any agent.
func CheckDescribed(m *Model, over Describing) diag.Problems {
	if len(m.Agents)+len(over.Names) == 0 {
		return nil
	}
	described, names := map[string]bool{}, []string{}
	for i := range m.Agents {
		described[m.Agents[i].Name] = true
		names = append(names, m.Agents[i].Name)
	}
	was := map[string]bool{}
	for _, name := range over.Names {
		was[name] = true
		described[name] = described[name] || over.Kept
		names = append(names, name)
	}
	var problems diag.Problems
	for i := range m.Resources {
		r := &m.Resources[i]
		if _, coded := CodeOf(r); coded || r.Agent == "" || described[r.Agent] {
			continue
		}
		described[r.Agent] = true // reported once
		p := diag.Problem{
			Pos: m.At(i, "agent"), Resource: string(r.ID),
			Message: fmt.Sprintf("agent %q is not described, and other agents are: it would be this "+
				"machine", r.Agent),
			Hint: undescribedHint(r.Agent, names),
		}
		if was[r.Agent] {
			p.Message = fmt.Sprintf("agent %q is described in version %d, and no longer here: it "+
				"would be this machine", r.Agent, over.Version)
			p.Hint = "export the documents that describe it together with these, or " +
				describeHere(r.Agent)
		} else if len(m.Agents) == 0 {
			p.Message = fmt.Sprintf("agent %q is not described, and version %d, which is in force, "+
				"describes agents: it would be this machine", r.Agent, over.Version)
		}
		problems.Add(p)
	}
	return problems
}

// undescribedHint returns a hint for correcting the name of an agent without a description.
func undescribedHint(name string, described []string) string {
	if near := schema.Nearest(name, described); near != "" && near != name {
		return fmt.Sprintf("did you mean %q? If this machine is meant, %s", near, describeHere(name))
	}
	return "describe how it is reached; if this machine is meant, " + describeHere(name)
}

// describeHere returns the instruction for describing an agent that is this machine.
func describeHere(name string) string {
	return fmt.Sprintf("add `agents: {%s: {transport: local}}`", name)
}
