package api

import (
	"net/http"

	"southbound/shared/api/client"
	"southbound/shared/api/document"
	"southbound/shared/api/guard"
	"southbound/shared/api/problem"
	"southbound/shared/api/wire"
	"southbound/shared/diag"
)

// The names of this package for records and helpers of the packages below, so that programs import
// this package alone.

type (
	// Discovery is the public description of a server.
	Discovery = wire.Discovery
	// Failure is an error for programs.
	Failure = problem.Failure
	// Wrong is one problem of an input.
	Wrong = problem.Wrong
	// Guard admits requests that bear a token.
	Guard = guard.Guard
	// ClientConfig defines the address of a server and how to reach it.
	ClientConfig = client.Config
	// Description is a resource of a version in the form of documents.
	Description = document.Description
)

// The authentication schemes.
const (
	AuthBearer = wire.AuthBearer
	AuthSigV4  = wire.AuthSigV4
	AuthNone   = wire.AuthNone
)

// FilesDir is the directory of files beside the document of a version.
const FilesDir = document.FilesDir

// FailureOf writes an error for programs.
func FailureOf(err error) Failure { return problem.FailureOf(err) }

// WrongOf writes a problem for programs.
func WrongOf(p diag.Problem) Wrong { return problem.WrongOf(p) }

// CountProblems returns the number of problems as text.
func CountProblems(n int) string { return problem.CountProblems(n) }

// Bound bounds the connections of a server.
func Bound(s *http.Server) { guard.Bound(s) }

// Loopback reports whether an address of an API is on this machine.
func Loopback(address string) bool { return client.Loopback(address) }

// Passes reports whether an error of a server may be temporary.
func Passes(err error) bool { return client.Passes(err) }

// ValidEnvironment reports whether s can name an environment.
func ValidEnvironment(s string) bool { return wire.ValidEnvironment(s) }
