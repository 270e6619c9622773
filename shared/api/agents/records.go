package agents

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"southbound/shared/fault"
)

// checkNames rejects names that no agent can have, as far as a schema can express the rule. A
// valid name without an agent pauses nothing.
func checkNames(names []string) error {
	for _, name := range names {
		if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
			return fault.New(fault.Invalid, "pause", "%q cannot name an agent", name).
				WithHint("leave out line breaks and other control characters")
		}
	}
	return nil
}

// Pruned is the queue of an agent that is not needed, or was removed.
type Pruned struct {
	Agent string `json:"agent"`
	Queue string `json:"queue"`
	// Mapping is the state of Lambda's event source mapping of the queue, such as Enabled; "":
	// none.
	Mapping string `json:"mapping,omitempty"`
	Removed bool   `json:"removed"`
}

// prunedAgents are the agents whose queues are not needed, or were removed.
type prunedAgents struct {
	Agents []Pruned `json:"agents"`
}

// Agent is where resources are managed.
type Agent struct {
	Name      string `json:"name"`
	Transport string `json:"transport" doc:"empty if no version names the agent; it can be paused nevertheless"`
	Lanes     int    `json:"lanes"`
	Paused    bool   `json:"paused"`
	// UnservedMS is for how long the agent has had work that no process does.
	UnservedMS int64 `json:"unserved_ms,omitempty" doc:"time for which it has had work that no process takes up"`
}
