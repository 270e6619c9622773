package cli

// The exit codes, which scripts rely on.
const (
	exitDone        = 0
	exitFault       = 1
	exitInput       = 2
	exitUnhealthy   = 3
	exitTimeout     = 4
	exitChanges     = 5
	exitInterrupted = 130
)
