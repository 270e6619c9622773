package home

import (
	"strconv"
	"time"

	"southbound/shared/fault"
)

// PythonConfig describes the Python function: the function that runs handlers in Python.
type PythonConfig struct {
	Function string        // its name; empty: the stack has none
	Runtime  string        // of Lambda, such as python3.13
	Timeout  time.Duration // of an invocation
	Storage  int64         // size of its /tmp in megabytes
}

// The defaults of the template.
const (
	defaultPythonTimeout = 900 * time.Second
	defaultStorage       = 512
)

// fromEnv reads the configuration from environment variables.
func (c *PythonConfig) fromEnv(get func(name string) string) error {
	if c.Function = get(EnvPythonFunction); c.Function == "" {
		return nil // the template sets the others all the same
	}
	c.Runtime, c.Timeout, c.Storage = get(EnvPythonRuntime), defaultPythonTimeout, defaultStorage
	number := func(name string, set func(n int64)) error {
		text := get(name)
		if text == "" {
			return nil
		}
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n <= 0 {
			return fault.New(fault.Usage, "configure", "%s is %q", name, text).
				WithHint("set a whole number above 0")
		}
		set(n)
		return nil
	}
	if err := number(EnvPythonTimeout,
		func(n int64) { c.Timeout = time.Duration(n) * time.Second }); err != nil {
		return err
	}
	return number(EnvPythonStorage, func(n int64) { c.Storage = n })
}

// longestCall is the longest time of a call of a handler in Python, as on a machine.
const longestCall = 10 * time.Minute

// Call returns how long a call of a handler may take.
func (c *PythonConfig) Call() time.Duration { return min(longestCall, c.Timeout*2/3) }

// Room returns how many bytes the packages of a version may take unpacked: two versions and 12 MB
// for other files fit into /tmp.
func (c *PythonConfig) Room() int64 { return (c.Storage - 12) / 2 << 20 }

// handlerTimeout is the timeout of the handler function.
const handlerTimeout = 120 * time.Second

// hidden returns how long the queues of agents hide messages: six times the timeout of the handler
// function, as AWS recommends. Lambda refuses less than the timeout of the Python function. More
// would keep a lane waiting if its function dies before it shortens the time.
func (c *PythonConfig) hidden() time.Duration {
	const hides = 6 * handlerTimeout
	if c.Function == "" {
		return hides
	}
	return max(hides, c.Timeout)
}
