package state

import "southbound/shared/provider"

// The parts of a row's state.
type (
	// Compliance says whether the real thing is as the intent wants it.
	Compliance string
	// LastRun says how the last run ended.
	LastRun string
	// Blocked says whether the resource may run.
	Blocked string
	// Status is the one word for people, derived from the others.
	Status string
)

// The values of the state vector.
const (
	HasUpdate    Compliance = "has_update"    // the intent was not deployed yet
	Compliant    Compliance = "compliant"     // as wanted when last seen
	NonCompliant Compliance = "non_compliant" // not as wanted when last seen
	Undefined    Compliance = "undefined"     // what is wanted is not known yet

	RunNew     LastRun = "new"
	RunSuccess LastRun = "successful"
	RunFailed  LastRun = "failed"
	RunSkipped LastRun = "skipped"

	NotBlocked  Blocked = "no"
	BlockedYes  Blocked = "yes"       // undefined, or needs something that is
	BlockedTemp Blocked = "temporary" // something it needs failed; runs when that recovers
	NeedsPerson Blocked = "decision"  // a create may have happened and cannot be looked up
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

// Priority orders what is ready; smaller runs first.
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
	// ClassUnavailable: there is no type, handler or connection to run it with now.
	ClassUnavailable = provider.Class("unavailable")
	// ClassRefused: nothing can run, and that will not pass by itself: the agent lets nobody in,
	// say.
	ClassRefused = provider.Class("refused")
)
