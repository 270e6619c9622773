// Package version is the stored form of the desired state of an environment: the resources of a
// version in chunks, and the graph of the released version. Both are files by hash, and never
// change.
//
//	resources ── NewEntries ──► entries ── Chunks ──► files, named in a Version
//	                                                      │ ReadChunks, where two versions differ
//	entries of the version to release ◄───────────────────┘
//	      └── Nodes, with resources being removed ── NewGraph ──► graph ── Blob ──► file
//
// The package depends neither on types nor on rows: the content of a version is checked before, and
// the work for it is planned afterwards.
package version
