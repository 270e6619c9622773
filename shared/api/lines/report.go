package lines

import (
	"southbound/shared/api/versions"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/resource"
)

// Changed is a changed resource.
type Changed struct {
	ID         resource.ID `json:"id"`
	Change     diff.Change `json:"change"`
	Attributes []string    `json:"attributes"`
	Replaced   bool        `json:"replaced,omitempty"` // the thing was deleted and created again
}

// maxReported is how many changes a report has.
const maxReported = 1000

// Tell records changes in a report.
func (r *Report) Tell(changes []Changed) {
	n := min(len(changes), maxReported)
	r.Changes, r.More = wire.OrEmpty(changes[:n]), len(changes)-n
}

// Moves are the things whose id has changed.
type Moves struct {
	Moved int           `json:"moved,omitempty"`
	Moves []deploy.Move `json:"moves,omitempty"` // the first of them
}

// Gate is why a gate between waves is closed.
type Gate struct {
	AfterWave int            `json:"after_wave"`
	Resources []GateResource `json:"resources"` // the resources of the gate that are not deployed
}

// GateResource is a resource that keeps a gate closed: it is not deployed, or was not checked.
type GateResource struct {
	ID     resource.ID  `json:"id"`
	Status state.Status `json:"status"`
	Reason string       `json:"reason"`
	Waits  string       `json:"waits,omitempty"` // why it was not checked
}

// Report is the result of an export, as the command line and the export function return it.
//
// Large: it is one JSON object, with a field for each member.
type Report struct {
	Environment string `json:"environment"`
	Version     int    `json:"version"`
	versions.Origin
	Resources int `json:"resources"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	Removed   int `json:"removed"`
	Moves
	Repaired int `json:"repaired"`
	// Recovered counts the unchanged resources that were failed, skipped, blocked, undefined or
	// unavailable before, and are deployed now.
	Recovered     int `json:"recovered"`
	FilesUploaded int `json:"files_uploaded"`
	// Gate is the gate that has ended the command between waves; nil: no gate has.
	Gate *Gate `json:"gate,omitempty"`
	// the first changes
	Changes    []Changed            `json:"changes"`
	More       int                  `json:"more,omitempty"` // the number of further changes
	Counts     map[state.Status]int `json:"counts"`
	DurationMS int64                `json:"duration_ms"`
	// Superseded is the version that was released during the wait for this one; 0: none.
	Superseded int `json:"superseded_by,omitempty"`
}
