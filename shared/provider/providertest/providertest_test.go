package providertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

func TestGoodHandlersPass(t *testing.T) {
	for _, tc := range []struct {
		why    string
		faults faults
		change func(s *Subject, c *Case)
	}{
		{"with all that a handler can have", faults{}, func(*Subject, *Case) {}},
		{"whose target knows creates by their token", faults{byToken: true},
			func(_ *Subject, c *Case) { c.Interrupt = nil }},
		{"that takes its time", faults{patient: true},
			func(_ *Subject, c *Case) { c.Interrupt = nil }},
		{"with the four calls alone", faults{}, func(s *Subject, c *Case) {
			s.Definition.Handler = struct{ provider.Handler }{s.Definition.Handler}
			s.Definition.Type.Assigned, s.Definition.Type.Features = false, nil
			c.Attributes["colour"], c.Updates, c.Edges = "red", nil, nil // nothing makes RED red
		}},
		{"of which the world is not known", faults{}, func(_ *Subject, c *Case) { c.World = nil }},
		{"whose things vanish by being deleted", faults{},
			func(_ *Subject, c *Case) { c.Vanish = nil }},
		{"alone", faults{}, func(_ *Subject, c *Case) { c.Others = nil }},
	} {
		t.Run(tc.why, func(t *testing.T) {
			s := subject(tc.faults)
			newCase := s.New
			if tc.change != nil {
				tc.change(&s, &Case{Attributes: map[string]any{}})
			}
			s.New = func(dir string, host *Host) (Case, error) {
				c, err := newCase(dir, host)
				tc.change(&Subject{}, &c)
				return c, err
			}
			Run(t, s)
		})
	}
}

// only runs one check and returns how it failed.
func only(ctx context.Context, t *testing.T, s Subject, name string) (says, fix string) {
	t.Helper()
	for _, c := range checks() {
		if c.name != name {
			continue
		}
		if err := c.run(ctx, s, func() (string, error) { return t.TempDir(), nil }); err != nil {
			return err.Error(), c.fixOf(err)
		}
		return "", ""
	}
	t.Fatalf("there is no check %s", name)
	return "", ""
}

// TestSuiteCanFail breaks the handler in one way after the other; the named check has to find each,
// and to say what is wrong.
func TestSuiteCanFail(t *testing.T) {
	for _, tc := range []struct {
		check  string
		faults faults
		says   string
	}{
		{"declaration", faults{noDescription: true}, "the type has no description"},
		{"declaration", faults{noAttributeDescription: true}, "attribute size has no description"},
		{"declaration", faults{negativeTimeout: true}, "time limit of a call is negative"},
		{"declaration", faults{saysTooLittle: true},
			"the handler implements discover, and Features of the type does not list it"},
		{"create", faults{alwaysDiffers: true}, "a dry run would do \"updated\": [size] differ"},
		{"create", faults{undeclared: true}, "weight was reported, and is not declared"},
		{"create", faults{parameterReported: true}, "care was reported, and is a parameter"},
		{"create", faults{wrongType: true},
			"size was reported with a value that its type does not allow"},
		{"create", faults{tellsSecret: true}, "a secret is in the output of the handler"},
		{"create", faults{secretInChange: true}, "a secret is in the output of the handler"},
		{"create", faults{panics: true},
			"panic in Read of " + box1 + ": broken"},
		{"create", faults{ghost: true}, "an object that does not exist was reported with attributes"},
		{"create", faults{canonicalMoves: true}, "differ"},
		{"create", faults{asksForever: true}, "still asks for another call"},
		{"create", faults{largeState: true}, "larger than 4 KiB"},
		{"create", faults{dryBlind: true}, "a dry run would do \"created\""},
		{"create_twice", faults{createTwiceFails: true}, "it exists"},
		{"create_twice", faults{createsTwin: true}, "creating twice and purging changed the world"},
		{"update", faults{ignoresSize: true}, "update 1: the difference is not seen"},
		{"update", faults{updateAdds: true}, "update 1, repeated"},
		{"update", faults{updateTwiceFails: true}, "repeated: updated: nothing to do"},
		{"update_gone", faults{updateGoneStuck: true}, "only be set at creation"},
		{"update_gone", faults{remembers: true}, "an object that vanished is still reported"},
		{"init_only", faults{missesFixed: true}, "another value of wood is not refused"},
		{"delete", faults{deleteGoneFails: true}, "deleting an object that no longer exists: purged: it is gone"},
		{"delete", faults{leavesTrace: true}, "creating and purging changed the world"},
		{"dry_run", faults{readWrites: true}, "reading while it is missing changed the world"},
		{"dry_run", faults{dryReadWrites: true}, "reading while it is missing changed the world"},
		{"dry_run", faults{dryBlind: true}, "a dry run sees"},
		{"batch", faults{batchSwaps: true}, "reads differently in a batch"},
		{"batch", faults{batchReadsStale: true}, "reads differently in a batch"},
		{"batch", faults{batchShort: true}, "answers for"},
		{"batch", faults{batchSkips: true}, "after the batch"},
		{"parallel", faults{oneAtATime: true}, "another call is under way"},
		{"canceled", faults{secretInError: true}, "a secret is in the output of the handler"},
		{"canceled", faults{batchForgetsCanceled: true}, "0 answers for 4 changes"},
		{"interrupted", faults{halfMade: true},
			"create, stopped before step 2: wood can only be set at creation"},
		{"interrupted", faults{leavesHalf: true}, "stopped before step 1: in the end there is"},
		{"canonical", faults{canonicalMoves: true}, "the canonical form of"},
		{"find", faults{misfinds: true}, "found = true, expected false"},
		{"find", faults{findFails: true}, "cannot look"},
		{"reload", faults{reloadFails: true}, "once is enough"},
		{"reload", faults{reloadBreaks: true}, "a dry run would do \"created\""},
		{"facts", faults{factsWrite: true},
			"asking for facts while it is missing changed the world"},
		{"facts", faults{secretInFact: true}, "a secret is in the output of the handler"},
		{"list", faults{listsTwice: true}, "is listed 2 times"},
		{"list", faults{listsOther: true}, "is listed as -5 and read as 1"},
		{"list", faults{listsGhosts: true}, "is listed, and was purged"},
		{"list", faults{listGoesOn: true}, "that its callback stopped"},
		{"list", faults{listWrites: true}, "listing changed the world"},
		{"noop", faults{noopWrites: true}, "a noop of a created resource changed the world"},
		{"edges", faults{cutsText: true}, `colour = "aaa`},
		{"edges", faults{trimsText: true}, `colour = " "`},
		{"edges", faults{losesEmpty: true}, `colour = ""`},
		{"edges", faults{narrowNumbers: true}, "size = -9223372036854775808"},
		{"edges", faults{refusesAsRetryable: true}, "it fails as retryable"},
		{"edges", faults{refusesTooLate: true}, "a value that was refused changed the world"},
	} {
		t.Run(tc.check+" finds "+tc.faults.String(), func(t *testing.T) {
			t.Parallel()
			s := subject(tc.faults)
			if tc.check == "create_twice" {
				s.Definition.Type.Assigned = false // what a Finder finds is not made again
			}
			if says, _ := only(t.Context(), t, s, tc.check); !strings.Contains(says, tc.says) {
				t.Fatalf("found: %q", says)
			}
		})
	}
}

// TestWrongCases tells the author of a test, not of a handler, what to change.
func TestWrongCases(t *testing.T) {
	for _, tc := range []struct {
		why    string
		change func(s *Subject, c *Case)
		check  string
		says   string
	}{
		{"a type that cannot be", func(s *Subject, _ *Case) { s.Definition.Type.Name = "no name" },
			"declaration", "the type is not valid"},
		{"no handler", func(s *Subject, _ *Case) { s.Definition.Handler = nil }, "declaration",
			"the Definition has no Handler"},
		{"no connection", func(s *Subject, _ *Case) {
			s.Definition.Type.Transports = []string{"http", "line"}
		}, "declaration", "the Subject has no Transport, and the type is reached over http or line"},
		{"attributes that are not allowed",
			func(_ *Subject, c *Case) { c.Attributes["size"] = "large" }, "create",
			"the case is not valid"},
		{"no other value of what can only be set at creation",
			func(_ *Subject, c *Case) { c.InitOnly = nil }, "init_only",
			"the case has no other value for wood"},
		{"an update that changes nothing",
			func(_ *Subject, c *Case) { c.Updates = []map[string]any{{"care": "gentle"}} },
			"update", "the difference is not seen"},
		{"what exists already", func(_ *Subject, c *Case) { c.Attributes["name"] = "always there" },
			"create", "before it was created: exists = true"},
		{"a world that cannot be described",
			func(_ *Subject,
				c *Case) {
				c.World = func() (string, error) { return "", errors.New("fog") }
			}, "create", "describe the world: fog"},
		{"features that the handler has not",
			func(s *Subject,
				_ *Case) {
				s.Definition.Handler = struct{ provider.Handler }{s.Definition.Handler}
			},
			"declaration", "Features of the type lists batch, and the handler does not implement it"},
		{"a target that assigns identities and cannot be asked",
			func(s *Subject,
				_ *Case) {
				s.Definition.Handler = struct{ provider.Handler }{s.Definition.Handler}
			},
			"find", "creates cannot be looked up"},
		{"one that stops nothing",
			func(_ *Subject,
				c *Case) {
				c.Interrupt = func(int) func() bool { return func() bool { return false } }
			},
			"interrupted", "Interrupt of the case stops nothing"},
		{"a reason for what is not declared",
			func(_ *Subject, c *Case) { c.Unfit = map[string]string{"weight": "it is heavy"} },
			"declaration", "Unfit of the case names weight, which is not declared"},
		{"what is left out without a reason",
			func(_ *Subject, c *Case) { c.Unfit = map[string]string{"tags": ""} },
			"declaration", "Unfit of the case names tags without a reason"},
		{"what can be changed as fixed",
			func(_ *Subject, c *Case) { c.InitOnly = map[string]any{"size": int64(2)} },
			"declaration", "InitOnly of the case names size, which is not init_only"},
		{"a secret that stands anywhere",
			func(_ *Subject, c *Case) { c.Secrets = []string{"a"} },
			"declaration", "Secrets of the case has one of 1 characters"},
		{"one that is stopped for ever",
			func(_ *Subject,
				c *Case) {
				c.Interrupt = func(int) func() bool { return func() bool { return true } }
			},
			"interrupted", "it is still stopped after"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			s := subject(faults{})
			h, _ := s.Definition.Handler.(*shelf)
			h.boxes["always there"] = map[string]any{"size": int64(1), "wood": "oak"}
			newCase := s.New
			tc.change(&s, &Case{Attributes: map[string]any{}})
			s.New = func(dir string, host *Host) (Case, error) {
				c, err := newCase(dir, host)
				tc.change(&Subject{}, &c)
				return c, err
			}
			if says, _ := only(t.Context(), t, s, tc.check); !strings.Contains(says, tc.says) {
				t.Fatalf("%q", says)
			}
		})
	}
	t.Run("no case at all", func(t *testing.T) {
		s := subject(faults{})
		s.New = func(string, *Host) (Case, error) { return Case{}, errors.New("no place") }
		found := Verify(t.Context(), s, func() (string, error) { return t.TempDir(), nil })
		if len(found) != 1 || found[0].Err.Error() != "New of the Subject: no place" ||
			!strings.Contains(found[0].Fix, "the Case that New of the Subject returns") {
			t.Fatalf("%+v", found)
		}
	})
}

// TestEveryCheckCanFail pins the checks. TestSuiteCanFail, TestWrongHandlers, TestReplacedAndWritten
// and TestForeign have a wrong handler for each.
func TestEveryCheckCanFail(t *testing.T) {
	want := []string{"declaration", "create", "create_twice", "update", "update_gone", "init_only",
		"replaced", "delete", "dry_run", "batch", "parallel", "canceled", "interrupted",
		"canonical", "find", "reload", "facts", "list", "noop", "neighbours", "left_out", "foreign",
		"edges"}
	var all []string
	for _, c := range checks() {
		all = append(all, c.name)
		if c.meaning == "" || c.fix == "" {
			t.Errorf("%s has no meaning or no fix", c.name)
		}
	}
	if !slices.Equal(all, want) {
		t.Errorf("the checks are %v", all)
	}
}

// TestHost remembers what a handler says, and replaces what it named as a secret.
func TestHost(t *testing.T) {
	host := NewHost("a transport")
	file := host.AddFile([]byte("bytes"))
	ctx := host.Context(t.Context(), provider.Options{})
	ctx.Info("hello", "key", "s3cr3t")
	ctx.Changed("colour", "red", "blue")
	ctx.Fact("size", "large")
	ctx.Secret("s3cr3t")
	if ctx.Transport() != "a transport" || host.Now().IsZero() {
		t.Error("the transport or the time is missing")
	}
	if lines := host.Lines(); len(lines) != 1 || lines[0].Msg != "hello" ||
		lines[0].Kwargs["key"] != "s3cr3t" {
		t.Error(lines)
	}
	if host.AttributeChanges()["colour"] != (diff.Diff{Current: "red", Desired: "blue"}) ||
		host.Facts()["size"] != "large" {
		t.Error(host.AttributeChanges(), host.Facts())
	}
	if out := host.Output(); strings.Contains(out, "s3cr3t") || !strings.Contains(out, "hello") ||
		!strings.Contains(out, "blue") || !strings.Contains(out, "large") {
		t.Error(out)
	}
	f, err := ctx.Files().Open(ctx, file.Hash)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 10)
	if n, _ := f.Read(data); string(data[:n]) != "bytes" {
		t.Errorf("%q", data[:n])
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := ctx.Files().Open(ctx, "none"); err == nil {
		t.Error("a file that was never added")
	}
}

// former is the shelf with the signature that Facts had earlier.
type former struct{ *shelf }

func (former) Facts(*provider.Context, provider.ReadRequest) (map[string]string, error) {
	return map[string]string{"boxes": "some"}, nil
}

// TestMethodThatIsNeverCalled pins that the suite refuses a method with a signature of its own.
func TestMethodThatIsNeverCalled(t *testing.T) {
	t.Parallel()
	s := subject(faults{})
	h, _ := s.Definition.Handler.(*shelf)
	s.Definition.Handler = former{h}
	says, fix := only(t.Context(), t, s, "declaration")
	if !strings.Contains(says, "method Facts is func(") || !strings.Contains(fix, "change its signature") {
		t.Errorf("found %q, to do: %q", says, fix)
	}
}
