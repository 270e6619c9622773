package home

import (
	"os"
	"syscall"
	"testing"
)

// TestStopAgain pins which signals end the program immediately, after the one that has asked it to
// stop. The second in which equal signals are one is over where a step says so.
func TestStopAgain(t *testing.T) {
	t.Parallel()
	const term, hup = syscall.SIGTERM, syscall.SIGHUP
	type step = any
	type second struct{}
	const atOnce, hangs = "stopped immediately", "running handlers do not end; stopped without them"
	for name, c := range map[string]struct {
		first os.Signal
		steps []step
		want  string
	}{
		"nothing more":                          {term, nil, ""},
		"timeout(1) signals child and group":    {term, []step{term}, ""},
		"however often":                         {term, []step{term, term, term}, ""},
		"Ctrl-C bounces":                        {os.Interrupt, []step{os.Interrupt}, ""},
		"later, it counts":                      {term, []step{second{}, term}, atOnce},
		"later, after one that did not count":   {term, []step{term, second{}, term}, atOnce},
		"another counts immediately":            {term, []step{os.Interrupt}, atOnce},
		"also after one that did not count":     {os.Interrupt, []step{os.Interrupt, term}, atOnce},
		"a closed terminal never counts":        {term, []step{hup, second{}, hup}, ""},
		"but what comes after it does":          {hup, []step{hup, term}, atOnce},
		"it takes too long":                     {term, []step{"late"}, hangs},
		"it takes too long, after equal ones":   {term, []step{term, "late"}, hangs},
		"it takes too long, after the second":   {term, []step{second{}, "late"}, hangs},
		"the terminal, and then it takes long":  {hup, []step{hup, "late"}, hangs},
		"another, although it is after a while": {term, []step{second{}, os.Interrupt}, atOnce},
	} {
		asked := make(chan os.Signal)
		same, late, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
		got := make(chan string, 1)
		go func() { got <- stopAgain(c.first, asked, same, late, ended) }()
		for _, s := range c.steps {
			switch s := s.(type) {
			case os.Signal:
				asked <- s // it is taken before the next step
			case second:
				close(same)
				asked <- hup // it was noticed
			case string:
				close(late)
			}
		}
		if c.want == "" {
			close(ended)
		}
		if why := <-got; why != c.want {
			t.Errorf("%s: %q, expected %q", name, why, c.want)
		}
	}
}
