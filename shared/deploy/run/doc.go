// Package run carries out single runs of handlers: for a deploy, a dry run or a discovery.
//
//	Runner.NewRun    what a row wants, and the handler of that
//	Runner.Connect   the connection to the agent, which the runs of a Session share
//	Runner.Resolve   what the handler is to see: with the texts of files and with secrets
//	Executor         calls the handlers of runs of one type: it reads, compares and, unless it
//	                 is a dry run, acts
//	Run.Finish       the step.Result: the record of the run, and what it means for its row
//
// What a handler reports goes through a host, which takes secrets out of it. Nothing here knows of
// leases, schedules or graphs: whoever holds the lane says what depends on these (Inputs, and the
// functions of an Executor).
package run
