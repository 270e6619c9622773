package home

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"southbound/shared/cli/output"
	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/resource"
)

const (
	// defaultGrace is how long running handlers may take to finish after the program was asked to
	// stop.
	defaultGrace = 30 * time.Second
	// lastResort is how long after that limit the program may take to end.
	lastResort = 10 * time.Second
	// cleanUp is how long handlers may take to end the processes they have started, such as
	// commands, when the program ends immediately.
	cleanUp = 2 * time.Second
	// oneStop is how long equal signals count as one: programs such as timeout(1) send theirs to
	// this process and to its group.
	oneStop = time.Second
	// maxLate is how many unfinished resources are named.
	maxLate = 10
)

// GraceOf returns how long running handlers may take to finish, from SOUTHBOUND_GRACE. If the value
// of the variable is not valid, GraceOf returns the default and an error.
func GraceOf() (time.Duration, error) {
	text := os.Getenv("SOUTHBOUND_GRACE")
	if text == "" {
		return defaultGrace, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return defaultGrace, fault.New(fault.Usage, "", "SOUTHBOUND_GRACE: %q is not a time to wait",
			text).WithHint("write a number with its unit, such as 30s or 2m")
	}
	return d, nil
}

// Watch ends the program after it was asked to stop, if it is asked again or takes too long. A
// handler, a machine or a disk may hang. No data is lost, as after a crash. Calling the result ends
// the watch.
func (s *Session) Watch(ctx context.Context) (stop func()) {
	asked := make(chan os.Signal, 4)
	signal.Notify(asked, StopSignals()...)
	ended := make(chan struct{})
	go func() {
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
		first := <-asked              // it has ended ctx
		signal.Ignore(syscall.SIGHUP) // closing a terminal sends it more than once
		late, release := patience.After(s.Grace + lastResort)
		defer release()
		same, stop := patience.After(oneStop)
		defer stop()
		if why := stopAgain(first, asked, same, late, ended); why != "" {
			s.endAtOnce(why)
		}
	}()
	return func() {
		signal.Stop(asked)
		close(ended)
	}
}

// stopAgain waits for a reason to end immediately, after a first signal, and returns it; "" if the
// program has ended before. Until same is closed, signals equal to the first count as part of it.
func stopAgain(
	first os.Signal, asked <-chan os.Signal, same, late, ended <-chan struct{},
) (why string) {
	for {
		select {
		case <-ended:
			return ""
		case <-same:
			first, same = nil, nil
		case again := <-asked:
			if again != first && again != syscall.SIGHUP {
				return "stopped immediately"
			}
		case <-late:
			return "running handlers do not end; stopped without them"
		}
	}
}

// endAtOnce ends the program, and the processes that its handlers have started: a command would
// otherwise outlive the program.
func (s *Session) endAtOnce(why string) {
	if calls := s.calls.Load(); calls != nil {
		over, stop := patience.After(cleanUp)
		defer stop()
		select {
		case <-calls.End():
		case <-over:
		}
	}
	s.Children.end(s.Console)
	s.Console.Complain("southbound: %s; recorded results are kept, running resources stay "+
		"scheduled", why)
	s.Console.Complain("  the same command, or `southbound deploy`, continues")
	os.Exit(output.Interrupted)
}

// late reports the resources that have not finished in time, and are ended.
func (s *Session) late(ids []resource.ID) {
	names := make([]string, 0, maxLate)
	for _, id := range ids[:min(len(ids), maxLate)] {
		names = append(names, string(id))
	}
	more := ""
	if len(ids) > maxLate {
		more = " and " + output.Plural(len(ids)-maxLate, "other")
	}
	if len(ids) > 0 {
		s.Console.Say("not finished in time, ended, and still scheduled: %s%s",
			strings.Join(names, ", "), more)
	}
}

// StopSignals are the signals that ask the program to stop. Under nohup, a closed terminal does not
// stop the program. An interrupt stops it even if the signal is initially ignored, as in the
// background of a script: scripts send it to such programs.
func StopSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
