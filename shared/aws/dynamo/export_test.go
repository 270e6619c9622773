//go:build servers

package dynamo

// Small are limits with which a transaction has two rows, and each value is stored in
// items of its own.
func Small() *Limits { return &Limits{Page: 3, Bytes: 1 << 20, Value: 100} }
