// Package version is the stored form of the desired state of an environment: the resources of a
// version in chunks, and the graph of the released version. Both are files by hash, and never
// change.
//
//	resources ── NewEntries ──► entries ── Chunks ──► files, named in a Version
//	                                                      │ ReadChunks, where two versions differ
//	entries of the version to release ◄───────────────────┘
//	      └── Nodes, with resources being removed ── NewGraph ──► graph ── Blob ──► file
//
// An Edit is a request as a change of a stored version: Apply returns the resources of the next
// version, and Check its problems.
//
// The package knows no rows: the work for a version is planned afterwards.
package version
