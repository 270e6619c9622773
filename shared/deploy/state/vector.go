package state

import "southbound/shared/provider"

// The parts of a row's state.
type (
	// Compliance is the state of the real thing compared with the intent.
	Compliance string
	// LastRun is the result of the last run.
	LastRun string
	// Blocked is whether the resource may run, and otherwise the reason.
	Blocked string
	// Status is the summary of the others for people.
	Status string
)

// The values of the state vector.
const (
	HasUpdate    Compliance = "has_update"    // the intent was not deployed yet
	Compliant    Compliance = "compliant"     // as wanted when last seen
	NonCompliant Compliance = "non_compliant" // not as wanted when last seen
	Undefined    Compliance = "undefined"     // of Row.Comparison: values are not known yet

	RunNew     LastRun = "new"
	RunSuccess LastRun = "successful"
	RunFailed  LastRun = "failed"
	RunSkipped LastRun = "skipped"

	NotBlocked    Blocked = "no"
	BlockedYes    Blocked = "yes"       // of Row.Block: it or a requirement is undefined
	BlockedTemp   Blocked = "temporary" // a requirement failed; runs when that recovers
	NeedsDecision Blocked = "decision"  // a create may have happened and cannot be looked up
)

// The statuses.
const (
	StatusDeployed     Status = "deployed"
	StatusFailed       Status = "failed"
	StatusSkipped      Status = "skipped"
	StatusBlocked      Status = "blocked"
	StatusUndefined    Status = "undefined"
	StatusAvailable    Status = "available"
	StatusDeploying    Status = "deploying"
	StatusOrphaned     Status = "orphaned"
	StatusNonCompliant Status = "non_compliant"
	StatusUnavailable  Status = "unavailable"
)

// Priority orders rows that are ready; smaller runs first.
type Priority int

// The priorities.
const (
	PriorityUserDeploy Priority = iota + 1
	PriorityNewVersion
	PriorityUserRepair
	PriorityDryRun
	PriorityDeployTimer
	PriorityFacts
	PriorityRepairTimer
)

// The classes of failures, by their names in this package.
const (
	ClassTerminal    = provider.Terminal
	ClassNeedsChange = provider.NeedsChange
	// ClassUnavailable means that there is currently no type, handler or connection to run the
	// resource with.
	ClassUnavailable = provider.Class("unavailable")
	// ClassRefused means that no resource can run, and a retry cannot help: the agent denies the
	// login, for example.
	ClassRefused = provider.Class("refused")
)
