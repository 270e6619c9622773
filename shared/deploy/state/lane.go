package state

// PlanKey is the key of the lease of planners. The key of a worker's lease is its agent. Names of
// agents are printable, so no agent has this name.
const PlanKey = "\x00plan"

// NameOfLease returns the name of a lease with the given key, for people.
func NameOfLease(key string) string {
	if key == PlanKey {
		return "planning"
	}
	return "agent " + key
}

// NoticesOf returns a notice of each agent, without hints.
func NoticesOf(agents []string) []Notice {
	notices := make([]Notice, len(agents))
	for i, agent := range agents {
		notices[i].Agent = agent
	}
	return notices
}
