// Package version is the stored form of what an environment wants: the resources of a version in
// chunks, and the graph of what is released. Both are files by hash, and never change.
//
//	resources ── NewEntries ──► entries ── Chunks ──► files, named in a Version
//	                                                      │ ReadChunks, where two versions differ
//	entries of the version to release ◄───────────────────┘
//	      └── Nodes, with what is being removed ── NewGraph ──► graph ── Blob ──► file
//
// It knows neither types nor rows: what a version may hold is checked before, and what of it is to
// be done is planned afterwards.
package version
