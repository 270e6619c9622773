// Package run carries out single runs of handlers: for a deploy, a dry run or a discovery.
//
//	Runner.NewRun    the intent of a row, and its handler
//	Runner.Connect   the connection to the agent, which the runs of a Session share
//	Runner.Resolve   the resource that the handler gets: with the texts of files and with secrets
//	Executor         calls the handlers of runs of one type: it reads, compares and, unless it
//	                 is a dry run, acts
//	Run.Finish       the step.Result: the record of the run, and its meaning for the row
//
// The reports of a handler pass through a host, which removes secrets from them. The package does
// not depend on leases, schedules or graphs: the holder of the lane supplies the data that depends
// on these (Inputs, and the functions of an Executor).
package run
