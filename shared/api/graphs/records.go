// Package graphs serves the dependencies between resources as graphs that a page can draw: the
// neighbours of one resource, or many resources folded into boxes.
package graphs

import (
	"context"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// The words of Query.Fold.
const (
	FoldAgent = "agent"
	FoldType  = "type"
)

// The bounds of Query.Limit and Query.Open.
const (
	DefaultNodes = 500
	MaxNodes     = 2000
	MaxOpen      = 30
)

// Query selects a graph: the neighbours of one resource, or the resources that match a filter.
type Query struct {
	ID       resource.ID // the resource; "": use Filter
	Up, Down int         // steps from ID to its requirements and to its dependants
	// Fold makes one box of the resources with the same agent, the same type, or both; none: every
	// resource is a node. Open lists the keys of boxes whose resources are nodes nevertheless.
	Fold, Open []string
	Filter     []string // terms that state.ParseFilter reads
	// Outside also includes the direct requirements of the resources that match Filter.
	Outside bool
	// Limit is the number of nodes; 0: DefaultNodes. Above MaxNodes it is MaxNodes. Beyond the
	// limit, only unhealthy nodes and their neighbours are kept, the worst first; if all are
	// healthy, the largest.
	Limit int
}

// Graph is a part of the dependencies in force. It has no cycles between resources, but boxes may
// require each other.
type Graph struct {
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
	Total int    `json:"total" doc:"number of selected resources, those of omitted nodes included"`
	Left  int    `json:"left" doc:"number of nodes that the limit omits"`
}

// Node is one resource, or a box of resources.
type Node struct {
	Key     string               `json:"key" doc:"the id of the resource, or the name of the box, which open takes"`
	ID      resource.ID          `json:"id,omitempty" doc:"absent: a box"`
	Agent   string               `json:"agent,omitempty" doc:"absent: a box of several agents"`
	Type    string               `json:"type,omitempty" doc:"absent: a box of several types"`
	Status  state.Status         `json:"status" doc:"the worst of its resources"`
	Count   int                  `json:"count" doc:"number of resources"`
	Counts  map[state.Status]int `json:"counts" doc:"number of resources by status"`
	Reason  string               `json:"reason,omitempty" doc:"reason why a single resource is not deployed"`
	Outside bool                 `json:"outside,omitempty" doc:"a requirement that the filter does not select"`
	Cause   bool                 `json:"cause,omitempty" doc:"a root cause of the skip of the resource"`
	Inside  int                  `json:"inside,omitempty" doc:"number of requirements within the box"`
}

// Edge states that resources of one node require resources of another. For resources that are being
// purged, it has the direction in which they are purged.
type Edge struct {
	From  string `json:"from"`
	To    string `json:"to" doc:"the required node"`
	Count int    `json:"count" doc:"number of requirements"`
}

// Reader reads graphs.
type Reader interface {
	// Graph returns a graph, its nodes in order of key. NotFound: there is no such resource.
	Graph(ctx context.Context, env string, q Query) (Graph, error)
}
