// Package memory tells Go how much memory a function has.
package memory

import (
	"runtime/debug"
	"strconv"
)

const (
	// Env names the variable in which Lambda says how many megabytes a function has.
	Env = "AWS_LAMBDA_FUNCTION_MEMORY_SIZE"
	// envGo is what Go's own runtime reads: whoever sets it knows better.
	envGo = "GOMEMLIMIT"
	// beside is what a function needs beside the heap: the program itself, stacks, and what the
	// system keeps for it.
	beside = 64 << 20
)

// Limit tells the collector how much there is: without that it lets the heap grow to twice of
// what is in use, and the function is killed with half of that free. It returns the limit of the
// heap, 0 when none is known.
func Limit(get func(name string) string) int64 {
	megabytes, err := strconv.ParseInt(get(Env), 10, 64)
	if err != nil || megabytes <= 0 || get(envGo) != "" {
		return 0
	}
	limit := megabytes<<20 - beside
	if limit < beside {
		limit = beside
	}
	debug.SetMemoryLimit(limit)
	return limit
}
