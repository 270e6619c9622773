package remote

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
)

// frameOf is a frame as it is sent; size is what it announces, -1: what it has.
func frameOf(k kind, body []byte, size int) []byte {
	head := make([]byte, headSize)
	if size < 0 {
		size = len(body)
	}
	binary.BigEndian.PutUint32(head, uint32(size)) // small
	head[4] = byte(k)
	return append(head, body...)
}

// sent is what a hostile machine answers to a call: a frame, and how often it comes. The frame is
// made where it is sent: what others take is not to count.
type sent struct {
	frame func() []byte
	times int
}

// hostileFrames are what is sent, by what it is.
func hostileFrames(t *testing.T) map[string]sent {
	t.Helper()
	made := func(k kind, v any) func() []byte {
		return func() []byte {
			b, err := marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return frameOf(k, b, -1)
		}
	}
	long := func(size int) func() []byte {
		return func() []byte { return frameOf(kindAnswer, make([]byte, 1<<20), size) }
	}
	// An answer whose attribute is a list of so many empty lists: a byte each.
	lists := func(n int) func() []byte {
		return func() []byte {
			// small
			b := append([]byte{0xa3, 1, 1, 2, 0, 3, 0xa1, 2, 0xa1, 0x61, 'a', 0x9a},
				binary.BigEndian.AppendUint32(nil, uint32(n))...)
			return frameOf(kindAnswer, append(b, bytes.Repeat([]byte{0x80}, n)...), -1)
		}
	}
	kilo := strings.Repeat("x", 1000)
	many := map[string]any{"k": strings.Repeat("y", 1000)}
	more := map[string]any{"k": strings.Repeat("y", 10_000)}
	return map[string]sent{
		"a frame of many values":   {lists(15 << 20), 1},
		"frames of many values":    {lists(500_000), 100},
		"a frame that is too long": {long(maxFrame + 1), 100},
		"a frame that never ends":  {long(1 << 31), 1},
		"secrets":                  {made(kindSecret, named{Call: 1, Text: kilo}), 600_000},
		"short secrets": {made(kindSecret, named{Call: 1, Text: "abcdefgh"}),
			3_000_000},
		"facts": {made(kindFact, named{Call: 1, Name: kilo, Text: kilo}),
			300_000},
		"log lines": {made(kindLog, logged{Call: 1, Msg: kilo, Kwargs: many}),
			300_000},
		"changes": {made(kindChanged,
			named{Call: 1, Name: kilo, Diff: &diff.Diff{Current: kilo, Desired: kilo}}), 300_000},
		"things that exist": {made(kindFound, found{Call: 1, Attributes: many}),
			600_000},
		"providers": {
			made(kindProvider, named{Call: 1, Name: kilo, Text: kilo}), 300_000},
		"answers to one item": {made(kindAnswer,
			answer{Call: 1, Observed: &observed{Exists: true, Attributes: many}}), 600_000},
		"answers to what was not asked": {made(kindAnswer,
			answer{Call: 7, Observed: &observed{Exists: true, Attributes: more}}), 50_000},
		"files that nobody named": {made(kindOpen, open{Call: 1, Stream: 1, Hash: kilo}), 10},
	}
}

// TestHostileMachine pins that a machine, whatever it sends, makes this program take little memory
// and ends with an error that names the agent.
func TestHostileMachine(t *testing.T) {
	if name := os.Getenv("REMOTE_HOSTILE_TEST"); name != "" {
		h := hostileFrames(t)[name]
		tellHostile(t, h.frame(), h.times)
		return
	}
	most := int64(256 << 10) // kB that a machine may make this program take
	if testing.Short() {
		most *= 2 // the race detector takes as much again
	}
	for name := range hostileFrames(t) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHostileMachine$")
		cmd.Env = append(os.Environ(), "REMOTE_HOSTILE_TEST="+name)
		out, err := cmd.CombinedOutput()
		var kb int64
		_, said, _ := strings.Cut(string(out), "MEMORY ")
		if _, scanned := fmt.Sscan(said, &kb); err != nil || scanned != nil {
			t.Fatalf("%s: %v\n%.2000s", name, err, out)
		}
		t.Logf("%-30s %4d MB %s", name, kb>>10, said)
		if kb > most {
			t.Errorf("%s: it takes %d MB", name, kb>>10)
		}
		if !strings.Contains(said, "the connection with the machine of agent a is lost") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// tellHostile calls a machine that answers with a frame again and again, and prints what that took
// and came to.
func tellHostile(t *testing.T, frame []byte, times int) {
	t.Helper()
	toEngine, fromMachine := io.Pipe()
	go func() {
		w := newFrameWriter(fromMachine)
		_ = w.send(newHello(t))
		for range times {
			if _, err := fromMachine.Write(frame); err != nil {
				return
			}
		}
		_ = fromMachine.Close()
	}()
	c, err := newConn(t.Context(), toEngine, io.Discard, 0, Running{}, func() {
		_ = toEngine.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = forward(t, c, echoType()).Read(
		providertest.NewHost(nil).Context(t.Context(), provider.Options{}), asks(""))
	kb := 0
	status, _ := os.ReadFile("/proc/self/status")
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(peak, &kb); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("MEMORY %d %v (%s)\n", kb, err, fault.HintOf(err))
}

func newHello(*testing.T) frame {
	return frame{kindHello, hello{Protocol: protocol,
		Types: map[string]string{"test::Echo": digest(echoType())}}}
}

// TestHello pins that the first frame is bounded, too.
func TestHello(t *testing.T) {
	t.Parallel()
	var in bytes.Buffer
	if err := newFrameWriter(&in).send(frame{kindHello, hello{Protocol: protocol,
		Facts: map[string]string{"x": strings.Repeat("x", maxHello)}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := newConn(t.Context(), &in, io.Discard, 0, Running{}, func() {}); !fault.Is(err,
		fault.Damaged) || !strings.Contains(err.Error(), "the machine sends a frame of") {
		t.Errorf("got %v", err)
	}
}

// TestHostileWords pins what a machine may not say: files that the call does not name, also where
// they are stored, and providers that no type has.
func TestHostileWords(t *testing.T) {
	t.Parallel()
	host := providertest.NewHost(nil)
	mine, other := host.AddFile([]byte("its own")), host.AddFile([]byte("of another agent"))
	sent := func(hash string) string { return sentFile(t, host, mine, hash) }
	if got := sent(mine.Hash); got != "its own" {
		t.Errorf("a file that the call names: %q", got)
	}
	if got := sent(other.Hash); !strings.Contains(got, "is not one of the call") {
		t.Errorf("a file that the call does not name: %q", got)
	}
	toEngine, fromMachine := io.Pipe()
	toMachine, fromEngine := io.Pipe()
	go func() {
		w, r := newFrameWriter(fromMachine), newFrameReader(toMachine)
		_ = w.send(newHello(t))
		// What is said of a call before it is made is ignored.
		for k := kind(0); k != kindItem; {
			var err error
			if k, _, err = r.next(); err != nil {
				return
			}
		}
		_ = w.send(frame{kindProvider, named{Call: 1, Name: strings.Repeat("x", 1000)}},
			frame{kindAnswer, answer{Call: 1}}, frame{kindDone, done{Call: 1}})
	}()
	c, err := newConn(t.Context(), toEngine, fromEngine, 0, Running{}, func() {
		_, _ = toEngine.Close(), toMachine.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, err = forward(t, c, echoType()).Read(host.Context(t.Context(), provider.Options{}), asks(""))
	if err == nil || !strings.Contains(err.Error(), "is lost") {
		t.Errorf("a provider: %v", err)
	}
}

// sentFile returns what a machine gets that asks for a file in a call that names one: its first
// piece, or the error.
func sentFile(
	t *testing.T, host *providertest.Host, names resource.File, hash string,
) (got string) {
	t.Helper()
	toEngine, fromMachine := io.Pipe()
	toMachine, fromEngine := io.Pipe()
	told := make(chan data, 1)
	go func() {
		w, r := newFrameWriter(fromMachine), newFrameReader(toMachine)
		_ = w.send(newHello(t))
		for {
			k, body, err := r.next()
			if err != nil {
				return
			}
			switch k {
			case kindItem:
				_ = w.send(frame{kindOpen, open{Call: 1, Stream: 1, Hash: hash}})
			case kindData:
				var m data
				_ = unmarshal(body, &m)
				select {
				case told <- m:
				default:
				}
				_ = w.send(frame{kindAnswer, answer{Call: 1}}, frame{kindDone, done{Call: 1}})
			}
		}
	}()
	c, err := newConn(t.Context(), toEngine, fromEngine, 0, Running{}, func() {
		_, _ = toEngine.Close(), toMachine.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	req := provider.ReadRequest{Resource: provider.Resource{Attributes: map[string]any{
		"do": "", "list": []any{names}}}}
	_, _ = forward(t, c, echoType()).Read(host.Context(t.Context(), provider.Options{}), req)
	m := <-told
	if m.Err != nil {
		return m.Err.err().Error()
	}
	return string(m.Bytes)
}
