package api

import (
	"context"
	"io"
	"net/http"

	"southbound/shared/api/actions"
	"southbound/shared/api/agents"
	"southbound/shared/api/client"
	"southbound/shared/api/comparisons"
	"southbound/shared/api/document"
	"southbound/shared/api/environments"
	"southbound/shared/api/files"
	"southbound/shared/api/graphs"
	"southbound/shared/api/guard"
	"southbound/shared/api/instances"
	"southbound/shared/api/jobs"
	"southbound/shared/api/kept"
	"southbound/shared/api/lines"
	"southbound/shared/api/ordering"
	"southbound/shared/api/paging"
	"southbound/shared/api/parameters"
	"southbound/shared/api/previews"
	"southbound/shared/api/problem"
	"southbound/shared/api/resources"
	"southbound/shared/api/results"
	"southbound/shared/api/search"
	"southbound/shared/api/services"
	"southbound/shared/api/states"
	"southbound/shared/api/types"
	"southbound/shared/api/versions"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/service/orders"
)

// The names of this package for records and helpers of the packages below, so that programs import
// this package alone. The packages below document them.

type (
	Audited          = environments.Audited
	AuditQuery       = environments.AuditQuery
	Caller           = wire.Caller
	Action           = actions.Action
	ActionQuery      = actions.ActionQuery
	Agent            = agents.Agent
	Changed          = lines.Changed
	Changes          = environments.Changes
	ClientConfig     = client.Config
	Description      = document.Description
	Described        = versions.Described
	Detail           = resources.Detail
	Diagnosis        = instances.Diagnosis
	Discover         = comparisons.Discover
	Discovery        = wire.Discovery
	PythonFunction   = wire.PythonFunction
	ErrorLine        = lines.ErrorLine
	SearchHit        = search.Hit
	SearchHits       = search.Hits
	Failure          = problem.Failure
	Forgetting       = resources.Forgetting
	Forgotten        = resources.Forgotten
	Found            = results.Found
	Gate             = lines.Gate
	GateResource     = lines.GateResource
	Graph            = graphs.Graph
	GraphEdge        = graphs.Edge
	GraphNode        = graphs.Node
	GraphQuery       = graphs.Query
	Group            = resources.Group
	Guard            = guard.Guard
	Health           = resources.Health
	InForce          = versions.InForce
	InstancePreview  = previews.InstancePreview
	InstanceResource = instances.InstanceResource
	JobState         = jobs.JobState
	Kept             = kept.Plan
	SealedState      = states.Sealed
	Message          = actions.Message
	Moves            = lines.Moves
	OfferedService   = services.OfferedService
	OrderBody        = ordering.OrderBody
	Origin           = versions.Origin
	PlanEnd          = lines.PlanEnd
	PlanLine         = results.PlanLine
	Previewer        = previews.Previewer
	Problem          = resources.Problem
	Progress         = environments.Progress
	Pruned           = agents.Pruned
	ReadJob          = comparisons.ReadJob
	Report           = lines.Report
	Resource         = resources.Resource
	Sent             = files.Sent
	Standing         = resources.Standing
	StatusLine       = lines.StatusLine
	AgentsQuery      = agents.Query
	PageQuery        = paging.Query
	ParametersQuery  = parameters.Query
	Fact             = parameters.Fact
	ResourcesQuery   = resources.Query
	Summary          = environments.Summary
	Type             = types.Type
	Upload           = files.Upload
	ValidLine        = lines.ValidLine
	Version          = versions.Version
	VersionQuery     = versions.Query
	Work             = resources.Work
	Wrong            = problem.Wrong
)

// Page is a part of a list.
type Page[T any] = paging.Page[T]

const (
	AuthBearer = wire.AuthBearer
	AuthSigV4  = wire.AuthSigV4

	ViaOS      = wire.ViaOS
	ViaToken   = wire.ViaToken
	ViaProxy   = wire.ViaProxy
	ViaIAM     = wire.ViaIAM
	ViaConsole = wire.ViaConsole
	ViaArchive = wire.ViaArchive

	FoldAgent = graphs.FoldAgent
	FoldType  = graphs.FoldType

	FilesDir   = document.FilesDir
	MaxPlanned = previews.MaxPlanned

	JobRunning = jobs.JobRunning
	JobDone    = jobs.JobDone
	JobFailed  = jobs.JobFailed
)

// FactOf returns a stored fact in its public form.
func FactOf(p *state.Parameter) Fact { return parameters.FactOf(p) }

// WithCaller returns a context of requests by a caller, for services that are not called over HTTP.
func WithCaller(ctx context.Context, c Caller) context.Context { return wire.WithCaller(ctx, c) }

// WithMessage returns a context of requests with a message: why they are made, for the audit.
func WithMessage(ctx context.Context, text string) context.Context {
	return wire.WithMessage(ctx, text)
}

// CheckMessage rejects a message that the audit does not keep.
func CheckMessage(text string) error { return wire.CheckMessage(text) }

// AllEvents calls f for all events of an instance, the oldest first.
func AllEvents(
	ctx context.Context, o Orders, env string, ref orders.Ref, f func(*orders.Event),
) error {
	return instances.AllEvents(ctx, o, env, ref, f)
}

// WholeLog calls f for all versions of an instance, the oldest first.
func WholeLog(
	ctx context.Context, o Orders, env string, ref orders.Ref, f func(*orders.LogEntry),
) error {
	return instances.WholeLog(ctx, o, env, ref, f)
}

// Diagnose returns why an instance is unhealthy.
func Diagnose(
	ctx context.Context, h Home, o Orders, env string, instance *orders.Instance,
) (Diagnosis, error) {
	return instances.Diagnose(ctx, h, o, env, instance)
}

// InstanceResources returns the resources of an instance, in order of id, and then the resources on
// which it depends.
func InstanceResources(
	ctx context.Context, h Home, env string, instance *orders.Instance,
) ([]InstanceResource, error) {
	return instances.InstanceResources(ctx, h, env, instance)
}

// Bound bounds the connections of a server.
func Bound(s *http.Server) { guard.Bound(s) }

// CountProblems returns the number of problems as text.
func CountProblems(n int) string { return problem.CountProblems(n) }

// FailureOf writes an error for programs.
func FailureOf(err error) Failure { return problem.FailureOf(err) }

// WrongOf writes a problem for programs.
func WrongOf(p diag.Problem) Wrong { return problem.WrongOf(p) }

// Loopback reports whether an address of an API is on this machine.
func Loopback(address string) bool { return client.Loopback(address) }

// Passes reports whether an error of a server may be temporary.
func Passes(err error) bool { return client.Passes(err) }

// MayBeKept reports whether a file that begins with head may be a kept plan, or another zip file.
func MayBeKept(head []byte) bool { return kept.MayBePlan(head) }

// ReadKept reads a kept plan of so many bytes; see kept.Read.
func ReadKept(
	ctx context.Context, from io.ReaderAt, size int64, r *schema.Registry,
	wrong func(resource.Agent) []diag.Problem,
) (*Kept, error) {
	return kept.Read(ctx, from, size, r, wrong)
}

// PlannedAgentsOf returns the agents of a plan.
func PlannedAgentsOf(changes []deploy.AgentChange) []results.PlannedAgent {
	return results.PlannedAgentsOf(changes)
}

// PlanLineOf returns the line of a resource.
func PlanLineOf(w *deploy.PlannedChange) PlanLine { return results.PlanLineOf(w) }

// SummaryOf summarizes a plan, see PlanEnd.
func SummaryOf(planned []deploy.PlannedChange) map[string]int { return results.SummaryOf(planned) }

// ReadLine reads the output of a command; see lines.Read.
func ReadLine(text []byte) (any, error) { return lines.Read(text) }

// ProgressOf converts the engine's counters to those of the API.
func ProgressOf(env string, p deploy.Progress) Progress { return environments.ProgressOf(env, p) }

// Statuses returns all statuses, in their display order.
func Statuses() []state.Status { return environments.Statuses() }

// Unhealthy are the statuses for which a waiting command exits with code 3.
func Unhealthy() []state.Status { return resources.Unhealthy() }

// TypesOf describes all types of a registry.
func TypesOf(r *schema.Registry) []Type { return types.TypesOf(r) }

// UnknownType is the error for an unknown type; similar is a similar name, or "".
func UnknownType(name, similar string) error { return types.UnknownType(name, similar) }

// ValidEnvironment reports whether s can name an environment.
func ValidEnvironment(s string) bool { return wire.ValidEnvironment(s) }
