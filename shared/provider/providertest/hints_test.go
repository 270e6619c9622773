package providertest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"southbound/shared/provider"
)

// TestHintsSayBoth pins that what may be the fault of the case is not told as if it could only be
// that of the handler, and that what can only be the case's is told as that.
func TestHintsSayBoth(t *testing.T) {
	n := 0
	for _, tc := range []struct {
		why, check, says, fix string
		change                func(c *Case)
	}{
		{"what exists already", "create", "before it was created: exists = true",
			"or, if it is the case: name an object that does not exist in Attributes",
			func(c *Case) { c.Attributes["name"] = "always there" }},
		{"an update that changes nothing", "update", "the difference is not seen",
			"or, if it is the case: change a property to a new value",
			func(c *Case) { c.Updates = []map[string]any{{"care": "gentle"}} }},
		{"a Vanish that takes nothing away", "update_gone", "an object that vanished is still reported",
			"or, if it is the case: remove exactly the object of Attributes in Vanish",
			func(c *Case) { c.Vanish = func() error { return nil } }},
		{"a world with a clock", "create", "World of the case describes one state differently",
			"no times", func(c *Case) {
				c.World = func() (string, error) { n++; return fmt.Sprint(n), nil }
			}},
		{"a world with what others do", "dry_run", "changed the world",
			"or, if it is the case: describe only state that the handler can change in World",
			func(c *Case) {
				asked := 0
				c.World = func() (string, error) {
					asked++
					return fmt.Sprint(min(asked, 2)), nil
				}
			}},
		{"an Interrupt that stops for ever", "interrupted", "it is still stopped after",
			"or, if it is the case: pass n calls in Interrupt",
			func(c *Case) {
				c.Interrupt = func(int) func() bool { return func() bool { return true } }
			}},
		{"no other value of what is fixed", "init_only", "the case has no other value for wood",
			"give InitOnly of the case another value for wood",
			func(c *Case) { c.InitOnly = nil }},
		{"a secret that is in the name", "declaration",
			"Secrets of the case contains a part of name",
			"the Case that New of the Subject returns", func(c *Case) {
				c.Attributes["name"] = c.Attributes["name"].(string) + "s3cr3t"
			}},
		{"an update of the name", "declaration",
			"Updates of the case change name, which names the thing",
			"the Case that New of the Subject returns",
			func(c *Case) { c.Updates = []map[string]any{{"name": "another"}} }},
		{"an update of what is fixed", "declaration",
			"Updates of the case change wood, which is init_only: put it into InitOnly",
			"the Case that New of the Subject returns",
			func(c *Case) { c.Updates = []map[string]any{{"wood": "pine"}} }},
		{"another thing that is the same", "declaration",
			"of the case is the same object as that of Attributes",
			"the Case that New of the Subject returns", func(c *Case) {
				c.Others = []map[string]any{{"name": c.Attributes["name"], "size": int64(9)}}
			}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			s := twisted(func(*twist) {})
			h, _ := s.Definition.Handler.(*twist)
			h.boxes["always there"] = map[string]any{"size": int64(1), "wood": "oak"}
			says, fix := only(t.Context(), t, changed(s, tc.change), tc.check)
			if !strings.Contains(says, tc.says) || !strings.Contains(fix, tc.fix) {
				t.Errorf("found: %q\nto do: %q", says, fix)
			}
		})
	}
	for _, tc := range []struct{ why, check, fix string }{
		{"neighbours", "neighbours", "or, if it is the case: take Others that share nothing"},
		{"list", "list", "or, if it is the case: if List searches another place"},
		{"edges", "edges", "or, if it is the case: name the attribute in Unfit"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			s := twisted(func(w *twist) {
				w.update = func(_ *provider.Context, req provider.UpdateRequest) (provider.Result,
					error) {
					for name := range w.boxes { // those of others, too
						w.set(name, "size", req.Resource.Attributes["size"])
					}
					return provider.Result{}, nil
				}
				w.list = func(*provider.Context, func(provider.Found) error) error { return nil }
			})
			if says, fix := only(t.Context(), t, s, tc.check); !strings.Contains(fix, tc.fix) {
				t.Errorf("found: %q\nto do: %q", says, fix)
			}
		})
	}
}

// TestEveryHintIsGiven pins that of several things that are wrong, each has its hint.
func TestEveryHintIsGiven(t *testing.T) {
	c := check{fix: "look"}
	got := c.fixOf(errors.Join(fmt.Errorf("a: %w", advise("mend a", "is wrong")),
		errors.New("b"), advise("mend c", "is wrong"), advise("mend a", "is wrong, too")))
	if want := "mend a; and: look; and: mend c"; got != want {
		t.Errorf("%q", got)
	}
}

// TestHintOfPanic pins that a panic is told to be mended, and not what its check demands else.
func TestHintOfPanic(t *testing.T) {
	_, fix := only(t.Context(), t, subject(faults{panics: true}), "create")
	if !strings.HasPrefix(fix, "correct the panic") {
		t.Error(fix)
	}
}

// changed is a subject with another case.
func changed(s Subject, change func(c *Case)) Subject {
	newCase := s.New
	s.New = func(dir string, host *Host) (Case, error) {
		c, err := newCase(dir, host)
		change(&c)
		return c, err
	}
	return s
}
