// Package memory sets the memory limit of the Go runtime to the memory of a function.
package memory

import (
	"runtime/debug"
	"strconv"
)

const (
	// Env is the name of Lambda's variable with the memory of the function in megabytes.
	Env = "AWS_LAMBDA_FUNCTION_MEMORY_SIZE"
	// envGo is the variable of the Go runtime. If an operator sets it, Limit changes nothing.
	envGo = "GOMEMLIMIT"
	// beside is the memory that a function needs besides the heap at least: the program itself,
	// stacks, and buffers of the system. Of a large heap it is a fifth of the memory, since the
	// collector is late on a busy machine: 71 MB beside a limit of 448 were measured.
	beside      = 64 << 20
	besideParts = 5
)

// Limit sets the memory limit of the collector. Without it the heap may grow to twice the live
// memory, and Lambda may kill a function while half of that is garbage. It returns the limit of the
// heap, or 0 if none was set.
func Limit(get func(name string) string) int64 {
	megabytes, err := strconv.ParseInt(get(Env), 10, 64)
	if err != nil || megabytes <= 0 || get(envGo) != "" {
		return 0
	}
	memory := megabytes << 20
	limit := max(memory-max(beside, memory/besideParts), beside)
	debug.SetMemoryLimit(limit)
	return limit
}
