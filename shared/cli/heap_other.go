//go:build !linux

package cli

// expectModel does nothing: only Linux has to be asked for huge pages.
func expectModel(string) {}
