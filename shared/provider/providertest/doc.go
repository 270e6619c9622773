// Package providertest checks that a handler keeps the contract of package provider: one suite for
// all handlers, so that the engine may rely on any of them.
//
//	func TestConformance(t *testing.T) {
//		providertest.Run(t, providertest.Subject{Definition: Thing(), New: newCase})
//	}
//
// The suite drives a handler as the engine does: it reads, compares and acts. Each of its checks
// starts in a place of its own.
package providertest
