// Package pattern has regular expressions that are compiled when they are first needed. To compile
// one takes some hundredths of a millisecond, up to two milliseconds with counted repetitions; a
// command that needs none of the hundred of the program does not wait for them.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns a function that gives the compiled expression, compiled when it is first called. An
// expression that does not compile panics then, so each is to be used by a test.
func Lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
