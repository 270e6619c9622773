package providertest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/provider"
)

// rounds is how often calls are repeated to see whether they leave more behind each time. What is
// kept for all calls, such as a pool of connections, is there after the first two.
const rounds = 10

// leaves repeats all calls, and demands that the process has no more descriptors and children in
// the end than after the first two rounds: a connection that is kept for the next call is none of
// them.
func leaves(e *env) error {
	if e.own == nil || len(descriptors()) == 0 {
		return errNotApplicable // others have some, too, or the system does not tell
	}
	steps, err := leavingSteps(e)
	if err != nil {
		return err
	}
	var before kept
	for i := range rounds {
		if i == 2 {
			before = keptNow(e.mark)
		}
		for _, s := range steps {
			if err := s.make(); err != nil {
				return fmt.Errorf("%s, once more: %w", s.name, err)
			}
		}
	}
	var what, sample string
	left := 0
	if e.subject.sofar.soon(func() error {
		now := keptNow(e.mark)
		if what = before.more(now, rounds-2); what == "" {
			return nil
		}
		// What is no more than somewhere else now is not one more.
		left, sample = len(now[what])-len(before[what]), before.news(now, what)[0]
		return errors.New(what)
	}) == nil {
		return nil
	}
	return advise("close what is opened on all ways (the Body of every http.Response, every "+
		"connection, listener, pipe and file), make clients and pools once, with "+
		"provider.Borrow, Wait for every command, and end what is started besides",
		"each %s leaves %s behind: after %d more rounds of calls, %d more are there (such as %s)",
		leaver(e, steps, what), what, rounds-2, left, sample)
}

// step is a call that is repeated, with what leads there.
type step struct {
	name string
	make func() error
}

// leavingSteps are the calls of one round.
func leavingSteps(e *env) ([]step, error) {
	r, err := madeResource(e)
	if err != nil {
		return nil, err
	}
	read := func(r provider.Resource) func() error {
		return func() error { _, err := e.read(r, false); return err }
	}
	apply := func(r provider.Resource) func() error {
		return func() error { _, err := e.apply(r); return err }
	}
	out := []step{{"Read", read(r)}}
	if e.Present {
		return out, nil
	}
	if len(e.Updates) > 0 {
		other, err := e.want(e.Attributes, e.Updates[0])
		if err != nil {
			return nil, err
		}
		out = append(out, step{"Update", apply(other)}, step{"Update", apply(r)})
	}
	if !e.Lasting {
		out = append(out, step{"Delete", apply(purged(r))},
			step{"Read of what is missing", read(r)}, step{"Create", apply(r)})
	}
	return out, nil
}

// leaver makes some more rounds and returns the calls that leave something behind each time.
func leaver(e *env, steps []step, what string) string {
	names := map[string]bool{}
	for range 3 {
		for _, s := range steps {
			before := keptNow(e.mark)
			err := s.make()
			left := err == nil && len(before.news(keptNow(e.mark), what)) > 0
			if known, again := names[s.name]; !again || known {
				names[s.name] = left
			}
		}
	}
	maps.DeleteFunc(names, func(_ string, leaves bool) bool { return !leaves })
	switch {
	case names["Read"]:
		return "Read" // which each of the others begins with
	case len(names) == 0:
		return "round of Read, Update, Delete and Create"
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), " and each ")
}

// These are what a process can keep.
const (
	openDescriptor = "an open file, socket or pipe"
	childProcess   = "a child process"
	goroutine      = "a goroutine"
)

// kept is what the process has open, and its children, by what it is.
type kept map[string][]string

func keptNow(mark string) kept {
	return kept{openDescriptor: descriptors(), childProcess: children(),
		goroutine: goroutines(mark)}
}

// news returns what is there now and was not before.
func (k kept) news(now kept, what string) []string {
	return slices.DeleteFunc(slices.Clone(now[what]),
		func(s string) bool { return slices.Contains(k[what], s) })
}

// more says of what there are at least n more now; "" when there is no such thing.
func (k kept) more(now kept, n int) (what string) {
	for _, what := range []string{childProcess, openDescriptor, goroutine} {
		if len(now[what])-len(k[what]) >= n {
			return what
		}
	}
	return ""
}

// descriptors returns what the process has open, each with its number; nil where the system does
// not tell.
func descriptors() []string {
	links, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	var out []string
	for _, l := range links {
		if to, err := os.Readlink("/proc/self/fd/" + l.Name()); err == nil &&
			!strings.HasPrefix(to, "/proc/") { // that of this look
			out = append(out, l.Name()+" "+to)
		}
	}
	return out
}

// goroutines returns those that calls of a place have started and that go on, each with where it
// is, libraries included.
func goroutines(mark string) []string {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return nil
	}
	var out []string
	there := map[string]int{}
	for _, alike := range strings.Split(b.String(), "\n\n") {
		if !strings.Contains(alike, mark) {
			continue
		}
		n, where := 0, ""
		for _, line := range strings.Split(alike, "\n") {
			fields := strings.Fields(line)
			switch {
			case len(fields) > 1 && fields[1] == "@":
				n, _ = strconv.Atoi(fields[0])
			case where == "" && len(fields) > 2 && strings.HasPrefix(fields[1], "0x"):
				where, _, _ = strings.Cut(fields[2], "+0x")
			}
		}
		for range n {
			there[where]++
			out = append(out, fmt.Sprintf("number %d in %s", there[where], where))
		}
	}
	return out
}

// children returns the processes whose parent is this one, those that nobody has waited for
// included; nil where the system does not tell.
func children() []string {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil
	}
	var out []string
	for _, l := range lists {
		text, err := os.ReadFile(l)
		if errors.Is(err, os.ErrNotExist) {
			continue // that thread has ended
		}
		for _, pid := range strings.Fields(string(text)) {
			name, _ := os.ReadFile("/proc/" + pid + "/comm")
			out = append(out, pid+" "+strings.TrimSpace(string(name)))
		}
	}
	return out
}
