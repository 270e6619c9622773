package output

// The exit codes, which scripts rely on.
const (
	exitDone    = 0
	Fault       = 1
	exitInput   = 2
	Unhealthy   = 3
	exitTimeout = 4
	Changed     = 5
	Interrupted = 130
)
