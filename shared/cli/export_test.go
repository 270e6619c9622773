package cli

// Emulated is for tests that ask servers themselves.
var Emulated = emulated
