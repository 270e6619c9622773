// Package api defines the operations on environments: Home, implemented by a service in this
// process and by a client of a service over HTTP.
//
// Service answers from the engine, Handler serves it over HTTP with OpenAPI 3.1 made from the code,
// and Client sends requests to such a server. Both return the same results, including the kinds and
// hints of errors.
//
//	command ── Home ──┬── Service ─────────────────────────────── deploy.Engine, orders.Service
//	                  └── Client ──HTTP── Handler ── routes ── Service
//
// An export is transferred as a bundle: files by hash, of which the client sends only those that
// the server lacks, and resources in chunks (chunk). A comparison with reality may take longer than
// a request, so it is a job (jobs). Runners process the parts of a job for machines that only they
// reach (parts, work). A kept plan (kept) is a file that Service writes and accepts again. Every
// answer of a route is declared once, as a type here; commands with --json write the same types.
package api

import (
	"southbound/shared/api/actions"
	"southbound/shared/api/agents"
	"southbound/shared/api/comparisons"
	"southbound/shared/api/environments"
	"southbound/shared/api/exports"
	"southbound/shared/api/graphs"
	"southbound/shared/api/parameters"
	"southbound/shared/api/previews"
	"southbound/shared/api/resources"
	"southbound/shared/api/search"
	"southbound/shared/api/services"
	"southbound/shared/api/states"
	"southbound/shared/api/types"
	"southbound/shared/api/versions"
)

// Home is the interface through which the command line works: one port for each kind of resource and
// role. Filters are the terms that state.ParseFilter reads. Errors are faults, or diag.Problems for
// methods that take a model.
type Home interface {
	environments.Reader
	types.Reader
	actions.Reader
	agents.Reader
	resources.Reader
	versions.Reader
	parameters.Reader
	states.Reader
	graphs.Reader
	search.Reader
	environments.Operator
	agents.Operator
	resources.Operator
	exports.Exporter
	comparisons.Comparer
	parameters.Writer
	states.Operator
	services.Offerer
	previews.Reader
	// Orders returns the service for orders; Unsupported if the home keeps none.
	Orders() (Orders, error)
}
