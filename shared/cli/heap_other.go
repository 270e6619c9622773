//go:build !linux

package cli

// expectMuch does nothing: only Linux has to be asked for huge pages.
func expectMuch(string) {}

// expectModel does nothing, for the same reason.
func expectModel(string) {}
