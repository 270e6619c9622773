package state

import (
	"strconv"
	"strings"

	"southbound/shared/resource"
)

// PlanKey is the key of the lease of planners. The key of a worker's lease is its lane.
const PlanKey = "plan"

// LaneOf returns the lane of the resources of an agent.
func LaneOf(agent string) string { return agent + "/0" }

// AgentOf returns the agent of a lane.
func AgentOf(lane string) string {
	if i := strings.LastIndexByte(lane, '/'); i >= 0 {
		return lane[:i]
	}
	return lane
}

// ValidLane reports whether s can name a lane: the valid name of an agent, a slash and a number.
func ValidLane(s string) bool {
	agent := AgentOf(s)
	if len(agent) == len(s) || !resource.ValidAgent(agent) {
		return false
	}
	n, err := strconv.ParseUint(s[len(agent)+1:], 10, 16)
	return err == nil && s == agent+"/"+strconv.FormatUint(n, 10)
}

// NumberOf returns the number of a valid lane within its agent.
func NumberOf(lane string) int {
	n, _ := strconv.Atoi(lane[strings.LastIndexByte(lane, '/')+1:])
	return n
}

// NoticesOf returns a notice of each lane, without hints.
func NoticesOf(lanes []string) []Notice {
	notices := make([]Notice, len(lanes))
	for i, lane := range lanes {
		notices[i].Lane = lane
	}
	return notices
}
