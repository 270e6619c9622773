package providertest

import (
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// wrongQuietly seem to work.
func wrongQuietly() []wrong {
	afterUpdate := func(f func(w *twist, ctx *provider.Context,
		req provider.UpdateRequest)) func(w *twist) {
		return func(w *twist) {
			w.update = func(ctx *provider.Context, req provider.UpdateRequest) (provider.Result,
				error) {
				out, err := w.shelf.Update(ctx, req)
				f(w, ctx, req)
				return out, err
			}
		}
	}
	return []wrong{
		{"an update that is deaf to cancellation", "canceled",
			"Update: calls that were cut off after 0s went on for", "Done",
			afterUpdate(func(_ *twist, ctx *provider.Context, _ provider.UpdateRequest) {
				if ctx.Err() != nil {
					<-time.After(1100 * time.Millisecond)
				}
			})},
		{"a delete that is cut off and says that it went well", "canceled",
			"Delete: after it was cut off it says that it went well, and it still would be purged",
			"return every error", func(w *twist) {
				w.remove = func(ctx *provider.Context, req provider.DeleteRequest) (provider.Result,
					error) {
					if ctx.Err() != nil {
						return provider.Result{}, nil
					}
					return w.shelf.Delete(ctx, req)
				}
			}},
		{"a comparison of the first two items", "parts", "the difference is not seen", "whole",
			func(w *twist) {
				w.sync = func(_ *provider.Context, attribute string, desired,
					observed any) (provider.Verdict, error) {
					a, b := asList(desired), asList(observed)
					if attribute == "tags" && slices.Equal(a[:min(2, len(a))], b[:min(2, len(b))]) {
						return provider.Verdict{Sync: provider.Same}, nil
					}
					return provider.Verdict{}, nil
				}
			}},
		{"a comparison that ignores keys that were taken away", "parts",
			"the difference is not seen", "missing in one of them", func(w *twist) {
				w.sync = func(_ *provider.Context, attribute string, desired,
					observed any) (provider.Verdict, error) {
					want, is := desired.(map[string]any)
					have, _ := observed.(map[string]any)
					for k, v := range want {
						if !resource.Equal(v, have[k]) {
							return provider.Verdict{}, nil
						}
					}
					if is {
						return provider.Verdict{Sync: provider.Same}, nil
					}
					return provider.Verdict{}, nil
				}
			}},
		{"an update that resets what is left out", "left_out",
			"colour was left out: it was changed to", "req.Changes",
			func(w *twist) { w.resets = true }},
		{"a change that is none", "update",
			"it says through Changed that tags was changed, and it is read as it was before",
			"call Changed",
			afterUpdate(func(_ *twist, ctx *provider.Context, req provider.UpdateRequest) {
				ctx.Changed("tags", []any{"a"}, req.Resource.Attributes["tags"])
			})},
		{"a change to something else", "update", "it says through Changed that size is another now",
			"call Changed",
			afterUpdate(func(_ *twist, ctx *provider.Context, _ provider.UpdateRequest) {
				ctx.Changed("size", int64(1), int64(99))
			})},
		{"no change that is one", "update",
			"it says through SetChange that nothing was changed, and something was",
			"call SetChange",
			afterUpdate(func(_ *twist, ctx *provider.Context, _ provider.UpdateRequest) {
				ctx.SetChange(diff.NoChange)
			})},
		{"no change that is a create", "create",
			"it says through SetChange that nothing was changed, and something was",
			"call SetChange", func(w *twist) {
				w.create = func(ctx *provider.Context, req provider.CreateRequest) (provider.Result,
					error) {
					ctx.SetChange(diff.NoChange)
					return w.shelf.Create(ctx, req)
				}
			}},
		{"no change that is a delete", "delete",
			"it says through SetChange that nothing was changed, and something was",
			"call SetChange", func(w *twist) {
				w.remove = func(ctx *provider.Context, req provider.DeleteRequest) (provider.Result,
					error) {
					ctx.SetChange(diff.NoChange)
					return w.shelf.Delete(ctx, req)
				}
			}},
		{"a change that reading made", "create",
			"a second apply, which has nothing to do, says through SetChange that it was updated",
			"never in Read", func(w *twist) {
				w.read = func(ctx *provider.Context, req provider.ReadRequest) (provider.Observation,
					error) {
					ctx.SetChange(diff.Updated)
					return w.shelf.Read(ctx, req)
				}
			}},
		{"a create that is an update", "update",
			"it says through SetChange that it was created, and it was there before",
			"call SetChange",
			afterUpdate(func(_ *twist, ctx *provider.Context, _ provider.UpdateRequest) {
				ctx.SetChange(diff.Created)
			})},
		{"a change of no kind", "update", `it says through SetChange "bananas", which is none of`,
			"call SetChange",
			afterUpdate(func(_ *twist, ctx *provider.Context, _ provider.UpdateRequest) {
				ctx.SetChange("bananas")
			})},
		{"two changes of one call", "update", "two different things in one call",
			"call SetChange",
			afterUpdate(func(_ *twist, ctx *provider.Context, _ provider.UpdateRequest) {
				ctx.SetChange(diff.NoChange)
				ctx.SetChange(diff.Updated)
			})},
		{"a change from something else", "update",
			"that size was another before than what was read then", "call Changed",
			afterUpdate(func(_ *twist, ctx *provider.Context, req provider.UpdateRequest) {
				if d, ok := req.Changes["size"]; ok {
					ctx.Changed("size", int64(12345), d.Desired)
				}
			})},
		{"a log line with what is not a number", "update",
			`ratio of the log line "sized" of Update of ` + box1 + " cannot be recorded: it is NaN",
			"log texts, numbers",
			afterUpdate(func(_ *twist, ctx *provider.Context, _ provider.UpdateRequest) {
				ctx.Info("sized", "ratio", math.NaN())
			})},
		{"a log line with what holds itself", "update",
			`cannot be recorded: it is nested without end`, "log texts, numbers",
			afterUpdate(func(_ *twist, ctx *provider.Context, _ provider.UpdateRequest) {
				m := map[string]any{}
				m["self"] = m
				ctx.Info("looped", "m", m)
			})},
		{"a context that is kept", "update",
			"a context that it has kept from another call, Read of " + box1,
			"use the context that a call is given", func(w *twist) {
				var kept *provider.Context
				w.read = func(ctx *provider.Context,
					req provider.ReadRequest) (provider.Observation,
					error) {
					if kept == nil {
						kept = ctx
					}
					return w.shelf.Read(ctx, req)
				}
				w.update = func(ctx *provider.Context, req provider.UpdateRequest) (provider.Result,
					error) {
					kept.Info("updating")
					return w.shelf.Update(ctx, req)
				}
			}},
	}
}

// TestWrongInTheProcess has handlers that are wrong in what a process has one of, so that they are
// tried one after the other.
func TestWrongInTheProcess(t *testing.T) {
	onUpdate := func(f func(req provider.UpdateRequest)) func(w *twist) {
		return func(w *twist) {
			w.update = func(ctx *provider.Context, req provider.UpdateRequest) (provider.Result,
				error) {
				f(req)
				return w.shelf.Update(ctx, req)
			}
		}
	}
	var open []*os.File
	t.Cleanup(func() {
		for _, f := range open {
			_ = f.Close()
		}
	})
	for _, tc := range []wrong{
		{"a file that each update leaves open", "leaves",
			"each Update leaves an open file, socket or pipe behind: after 8 more rounds of calls, 16 ",
			"close what is opened", onUpdate(func(provider.UpdateRequest) {
				if f, err := os.Open(os.DevNull); err == nil {
					open = append(open, f)
				}
			})},
		{"a connection that each read leaves open", "leaves",
			"each Read leaves an open file, socket or pipe behind",
			"close what is opened", func(w *twist) {
				w.read = func(ctx *provider.Context, req provider.ReadRequest) (provider.Observation,
					error) {
					if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
						t.Cleanup(func() { _ = l.Close() })
					}
					return w.shelf.Read(ctx, req)
				}
			}},
		{"a goroutine of a library that each update starts", "leaves",
			"each Update leaves a goroutine behind: after 8 more rounds of calls, 16 more are there " +
				"(such as number ", "end what is started", onUpdate(func(provider.UpdateRequest) {
				r, w := io.Pipe()
				t.Cleanup(func() { _ = w.Close() })
				go io.Copy(io.Discard, r) //nolint:errcheck // that nobody minds is the fault
			})},
		{"a command that each delete starts and nobody waits for", "leaves",
			"each Delete leaves a child process behind", "Wait for every command",
			func(w *twist) {
				w.remove = func(ctx *provider.Context, req provider.DeleteRequest) (provider.Result,
					error) {
					cmd := exec.Command("sleep", "1000")
					if err := cmd.Start(); err == nil {
						t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
					}
					return w.shelf.Delete(ctx, req)
				}
			}},
		{"temporary files", "update", "Update of " + box2 + " leaves box",
			"remove temporary files", onUpdate(func(provider.UpdateRequest) {
				if f, err := os.CreateTemp("", "box"); err == nil {
					_ = f.Close()
				}
			})},
		{"another directory", "update",
			"Update of " + box1 + " has changed the directory of the process to /", "whole paths",
			onUpdate(func(provider.UpdateRequest) { _ = os.Chdir("/") })},
		{"another environment", "update",
			"Update of " + box1 + " has changed the variable BOX_COLOUR of the process",
			"set Env", onUpdate(func(provider.UpdateRequest) {
				_ = os.Setenv("BOX_COLOUR", "red")
			})},
		{"another directory for a moment", "update",
			"Update of " + box1 + " changes the directory of the process and puts it back",
			"set Dir and Env", onUpdate(func(provider.UpdateRequest) {
				dir, _ := os.Getwd()
				for range 20 {
					_ = os.Chdir("/")
					_ = exec.Command("true").Run()
					_ = os.Chdir(dir)
				}
			})},
		{"another environment for a moment", "update",
			"Update of " + box1 + " changes the environment of the process and puts it back",
			"set Dir and Env", onUpdate(func(provider.UpdateRequest) {
				for range 20 {
					_ = os.Setenv("BOX_COLOUR", "red")
					_ = exec.Command("true").Run()
					_ = os.Unsetenv("BOX_COLOUR")
				}
			})},
		{"less of the environment", "update", "a] has unset the variable HOME of the process", "set Env",
			onUpdate(func(provider.UpdateRequest) { _ = os.Unsetenv("HOME") })},
		{"no environment", "update", "unset the variable", "set Env",
			onUpdate(func(provider.UpdateRequest) { os.Clearenv() })},
		{"a secret on standard output", "update",
			"a secret is in what Update of " + box2 + " writes to standard output",
			"print nothing", onUpdate(func(req provider.UpdateRequest) {
				fmt.Println("updating with", req.Resource.Attributes["care"])
			})},
		{"a secret on standard error", "update",
			"a secret is in what Update of " + box2 + " writes to " + standardError(),
			"print nothing", onUpdate(func(req provider.UpdateRequest) {
				fmt.Fprintln(os.Stderr, "updating with", req.Resource.Attributes["care"])
			})},
	} {
		t.Run(tc.why, func(t *testing.T) {
			s := impatient(twisted(tc.change))
			s.Alone = alone(t)
			says, fix := only(t.Context(), t, s, tc.check)
			if !strings.Contains(says, tc.says) || !strings.Contains(fix, tc.fix) {
				t.Fatalf("found: %q, to do: %q", says, fix)
			}
		})
	}
	t.Run("right", func(t *testing.T) {
		Run(t, twisted(func(*twist) {}))
	})
	t.Run("what is left is not waited for in each place", func(t *testing.T) {
		s := twisted(onUpdate(func(provider.UpdateRequest) {
			if f, err := os.CreateTemp("", "box"); err == nil {
				_ = f.Close()
			}
		}))
		s.Alone = alone(t)
		began := time.Now()
		found := Verify(t.Context(), s, func() (string, error) { return t.TempDir(), nil })
		// A check has dozens of places, and there are dozens of checks.
		if took := time.Since(began); len(found) < 5 || took > 15*patience {
			t.Errorf("it took %s to find %d", took, len(found))
		}
		for _, f := range found {
			if says := f.Err.Error(); !strings.Contains(says, "Update of test::Box[") &&
				!strings.Contains(says, "ApplyBatch leaves") {
				t.Errorf("%s does not name the call: %v", f.Check, f.Err)
			}
		}
	})
	t.Run("beside others", func(t *testing.T) {
		t.Parallel()
		t.Run("within", func(t *testing.T) {
			if alone(t) {
				t.Error("a part of a test that is parallel takes itself to be alone")
			}
		})
	})
}

// TestMissingMembersAreNamed pins that what a case has nothing for is not taken for checked.
func TestMissingMembersAreNamed(t *testing.T) {
	for member, tc := range map[string]struct {
		check string
		take  func(c *Case)
	}{
		"Interrupt": {"interrupted", func(c *Case) { c.Interrupt = nil }},
		"Stall":     {"stalled", func(*Case) {}},
		"Foreign":   {"foreign", func(*Case) {}},
		"Edges":     {"edges", func(c *Case) { c.Edges = nil }},
		"Others":    {"neighbours", func(c *Case) { c.Others = nil }},
		"Updates":   {"update", func(c *Case) { c.Updates = nil }},
		"World":     {"dry_run", func(c *Case) { c.World = nil }},
	} {
		s := subject(faults{})
		newCase := s.New
		s.New = func(dir string, host *Host) (Case, error) {
			c, err := newCase(dir, host)
			tc.take(&c)
			return c, err
		}
		says, _ := only(t.Context(), t, s, tc.check)
		if says != "not checked: the case has no "+member {
			t.Errorf("%s: %q", member, says)
		}
		for _, f := range Verify(t.Context(), s, func() (string, error) {
			return t.TempDir(), nil
		}) {
			t.Errorf("%s: %s: %v", member, f.Check, f.Err)
		}
	}
}

// rigid is a target in which the zone of a disk cannot be changed, and whose key nobody reads.
type rigid struct {
	*twist
	keepsZone, tellsKey bool
}

func rigidSubject(change func(r *rigid)) Subject {
	s := twisted(func(*twist) {})
	typ := s.Definition.Type
	typ.Features = []string{}
	typ.Assigned = false
	typ.Attributes = slices.Clone(typ.Attributes)
	typ.Attributes = append(typ.Attributes,
		schema.Attribute{Name: "zone", Type: "String", Default: "a", Behaviour: schema.Replace,
			Description: "where it stands"},
		schema.Attribute{Name: "key", Type: "Optional[String]", Behaviour: schema.WriteOnly,
			Description: "opens it"})
	w, _ := s.Definition.Handler.(*twist)
	r := &rigid{twist: w}
	change(r)
	s.Definition = provider.Definition{Type: typ, Handler: struct{ provider.Handler }{r}}
	newCase := s.New
	s.New = func(dir string, host *Host) (Case, error) {
		c, err := newCase(dir, host)
		c.Attributes = maps.Clone(c.Attributes)
		c.Attributes["colour"], c.Attributes["key"] = "red", "k1"
		c.Updates, c.Edges = append(c.Updates, map[string]any{"key": "k2"}), nil
		c.Replaces = map[string]any{"zone": "b"}
		c.Interrupt = nil
		return c, err
	}
	return s
}

func (r *rigid) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	obs, err := r.shelf.Read(ctx, req)
	if obs.Exists {
		obs.Attributes["zone"] = r.get(nameOf(req.Resource), "zone")
		if r.tellsKey {
			obs.Attributes["key"] = r.get(nameOf(req.Resource), "key")
		}
	}
	return obs, err
}

func (r *rigid) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	name := nameOf(req.Resource)
	zone := r.get(name, "zone")
	out, err := r.shelf.Create(ctx, req)
	if zone == nil {
		zone = req.Resource.Attributes["zone"]
	}
	r.set(name, "zone", zone)
	r.set(name, "key", req.Resource.Attributes["key"])
	return out, err
}

func (r *rigid) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	name := nameOf(req.Resource)
	zone, key := r.get(name, "zone"), r.get(name, "key")
	out, err := r.shelf.Update(ctx, req)
	if _, ok := req.Changes["key"]; ok {
		key = req.Resource.Attributes["key"]
	}
	r.set(name, "zone", zone)
	r.set(name, "key", key)
	return out, err
}

func (r *rigid) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	if r.keepsZone && !req.Resource.Purged {
		return provider.Result{}, nil
	}
	return r.shelf.Delete(ctx, req)
}

// TestReplacedAndWritten pins what is asked of handlers of things that are replaced, and of
// attributes that are never read.
func TestReplacedAndWritten(t *testing.T) {
	t.Run("right", func(t *testing.T) { Run(t, rigidSubject(func(*rigid) {})) })
	for _, tc := range []struct {
		why, check, says, fix string
		change                func(r *rigid)
	}{
		{"a delete that leaves what is to be replaced", "replaced", "another zone",
			"Delete remove the one that was observed", func(r *rigid) { r.keepsZone = true }},
		{"a key that is reported", "create", "key was reported, and is write_only",
			"leave what is write_only out", func(r *rigid) { r.tellsKey = true }},
	} {
		t.Run(tc.why, func(t *testing.T) {
			says, fix := only(t.Context(), t, rigidSubject(tc.change), tc.check)
			if !strings.Contains(says, tc.says) || !strings.Contains(fix, tc.fix) {
				t.Fatalf("found: %q, to do: %q", says, fix)
			}
		})
	}
}

// standardError returns where os.Stderr leads to: go test -json lets it be the standard output.
func standardError() string {
	if os.Stderr.Fd() == os.Stdout.Fd() {
		return "standard output"
	}
	return "standard error"
}
