// Package chrome drives Chromium in tests of the console's pages.
package chrome

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"southbound/infra/assets/packs"
)

// The keys that have no character.
const (
	Enter  = kb.Enter
	Escape = kb.Escape
	Down   = kb.ArrowDown
	Up     = kb.ArrowUp
	Next   = kb.Tab
)

// patience is how long a page may take on a machine that is busy. No verdict depends on it, but that
// of a test that would wait for ever.
const patience = 90 * time.Second

// Browser is a Chromium with a profile of its own.
type Browser struct{ ctx context.Context }

// Host is a site that the browser finds at a port of this machine. Its certificate is not checked.
type Host struct {
	Name    string // as in URLs
	Address string // host and port
}

// Start starts Chromium, which ends with the test. SOUTHBOUND_CHROMIUM names the program, if it is
// not chromium. If there is none, Start installs that of Debian.
func Start(t testing.TB, hosts ...Host) *Browser {
	t.Helper()
	var rules []string
	for _, h := range hosts {
		rules = append(rules, "MAP "+h.Name+" "+h.Address)
	}
	ctx, end := chromedp.NewContext(t.Context(), chromedp.WithAllocatorOptions(
		chromedp.Flag("host-resolver-rules", strings.Join(rules, ",")),
		chromedp.Flag("ignore-certificate-errors", len(hosts) > 0),
		chromedp.ExecPath(program(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.UserDataDir(t.TempDir())))
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return &Browser{ctx}
}

// program returns the path of Chromium.
func program(t testing.TB) string {
	t.Helper()
	names := []string{os.Getenv("SOUTHBOUND_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"}
	for range 2 {
		for _, name := range names {
			if path, err := exec.LookPath(name); name != "" && err == nil {
				return path
			}
		}
		out, err := exec.CommandContext(t.Context(), "apt-get",
			"-o", "DPkg::Lock::Timeout=600", "install", "-y", "chromium").
			CombinedOutput()
		if err != nil {
			t.Fatalf("there is no chromium, and it cannot be installed (%v); install it, or name it "+
				"in SOUTHBOUND_CHROMIUM: %s", err, out)
		}
	}
	t.Fatal("there is no chromium in the path")
	return ""
}

// Tab is a tab. It fails its test if a page throws an exception, or if the browser reports an error
// such as a violation of the content security policy; see Expect.
type Tab struct {
	t   testing.TB
	ctx context.Context
	axe string // the source of axe-core, once it is used

	mu       sync.Mutex
	problems []string
	expected []expected
}

// expected are reports with a text, of a place whose URL has one of some parts; no parts: anywhere.
type expected struct {
	text  string
	parts []string
}

func (e *expected) matches(problem string) bool {
	return strings.Contains(problem, e.text) && (len(e.parts) == 0 ||
		slices.ContainsFunc(e.parts, func(part string) bool { return strings.Contains(problem, part) }))
}

// Tab opens a tab, which is visible until another is in front.
func (b *Browser) Tab(t testing.TB) *Tab {
	t.Helper()
	x := &Tab{t: t}
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithListener(x.heard))
	t.Cleanup(end)
	x.ctx = ctx
	call(x, log.Enable, cdp.Empty{})
	t.Cleanup(func() {
		for _, p := range x.Problems() {
			t.Errorf("the browser reports: %s", p)
		}
	})
	return x
}

func (x *Tab) heard(ev any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		b, _ := json.Marshal(ev.ExceptionDetails)
		x.problems = append(x.problems, "exception: "+string(b))
	case *log.EventEntryAdded:
		if ev.Entry.Level == log.EntryLevelError {
			x.problems = append(x.problems, fmt.Sprintf("%s %s", ev.Entry.Text, ev.Entry.URL))
		}
	}
}

// Expect says that the browser may report errors with a text, such as of a server that is gone. If
// parts are given, it may only do so for a URL that contains one of them.
func (x *Tab) Expect(text string, parts ...string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.expected = append(x.expected, expected{text, parts})
}

// Problems returns what the browser has reported, without expected reports.
func (x *Tab) Problems() (out []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range x.problems {
		if !slices.ContainsFunc(x.expected, func(e expected) bool { return e.matches(p) }) {
			out = append(out, p)
		}
	}
	return out
}

// call runs a command of the protocol.
func call[P, R any](x *Tab, cmd cdp.Command[P, R], params P) R {
	x.t.Helper()
	r, err := chromedp.Call(x.ctx, cmd, params)
	if err != nil {
		x.t.Fatal(err)
	}
	return r
}

// do runs actions.
func (x *Tab) do(actions ...chromedp.Action[chromedp.Void]) {
	x.t.Helper()
	ctx, end := context.WithTimeout(x.ctx, patience)
	defer end()
	if err := chromedp.Do(ctx, actions...); err != nil {
		x.t.Fatal(err)
	}
}

// Open opens a URL and waits until it is loaded.
func (x *Tab) Open(url string) {
	x.t.Helper()
	x.do(chromedp.Navigate(url))
}

// Eval returns the value of an expression of JavaScript, as text. A promise is awaited.
func (x *Tab) Eval(js string) string {
	x.t.Helper()
	text, err := x.eval(js)
	if err != nil {
		x.t.Fatalf("%s: %v", js, err)
	}
	return text
}

func (x *Tab) eval(js string) (string, error) {
	ctx, end := context.WithTimeout(x.ctx, patience)
	defer end()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[any](js, chromedp.EvalAwaitPromise))
	if err != nil {
		return "", err
	}
	if s, is := v.(string); is {
		return s, nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// Before runs a script in every page that is opened from now on, before its own scripts.
func (x *Tab) Before(js string) {
	x.t.Helper()
	call(x, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: js})
}

// Until waits until a page is loaded and an expression of JavaScript is true. An expression that
// cannot be evaluated, such as while another page is being opened, is not true. Neither is one of a
// page of which only a part has arrived: what a part lacks, the page may have.
func (x *Tab) Until(js string) {
	x.t.Helper()
	for end := time.Now().Add(patience); ; {
		is, err := x.eval(`document.readyState === "complete" && !!(` + js + ")")
		if err == nil && is == "true" {
			return
		}
		if time.Now().After(end) {
			x.t.Fatalf("this did not become true (%v): %s\n%s", err, js, x.Text())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Text returns the text of the page, as a person sees it.
func (x *Tab) Text() string { return x.Eval("document.body.innerText") }

// Type types a text where the focus is.
func (x *Tab) Type(text string) {
	x.t.Helper()
	x.do(chromedp.KeyEvent(text, asKeyboard))
}

// asKeyboard makes the event of a pressed key that of a keyboard. Only after such an event does
// Chromium leave out the character of a key whose event a script has prevented, such as the Enter that
// chooses a suggestion and would otherwise submit the form.
func asKeyboard(e *input.DispatchKeyEventParams) {
	if e.Type == kb.KeyDown {
		e.Type = kb.KeyRawDown
	}
}

// Click clicks the first element that a CSS selector finds, and waits for nothing.
func (x *Tab) Click(css string) {
	x.t.Helper()
	x.do(chromedp.Click(chromedp.CSS(css)))
}

// Size sets the size of the window, in CSS pixels.
func (x *Tab) Size(width, height int64) {
	x.t.Helper()
	x.do(chromedp.EmulateViewport(width, height))
}

// Dark sets whether the user prefers dark colours.
func (x *Tab) Dark(on bool) {
	x.t.Helper()
	value := "light"
	if on {
		value = "dark"
	}
	call(x, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}})
}

// Front makes the tab visible, and the other tabs of its window hidden.
func (x *Tab) Front() {
	x.t.Helper()
	id := chromedp.FromContext(x.ctx).Target.TargetID
	if _, err := chromedp.CallBrowser(x.ctx, target.ActivateTarget,
		target.ActivateTargetParams{TargetID: id}); err != nil {
		x.t.Fatal(err)
	}
}

// Shot keeps a screenshot of the whole page as an artefact of the test: in the directory that
// SOUTHBOUND_SCREENSHOTS names, if it is set.
func (x *Tab) Shot(name string) {
	x.t.Helper()
	dir := os.Getenv("SOUTHBOUND_SCREENSHOTS")
	if dir == "" {
		return
	}
	ctx, end := context.WithTimeout(x.ctx, patience)
	defer end()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		x.t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		x.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
		x.t.Fatal(err)
	}
}

// axe runs axe-core for WCAG 2.2 AA and its best practices, and returns its violations.
const axe = `(async () => {
	const r = await axe.run(document, {resultTypes: ["violations"]});
	return r.violations.map(v => v.id + ": " + v.help + ": " +
		v.nodes.slice(0, 3).map(n => n.target.join(" ") + " " + n.failureSummary).join("; ")).join("\n");
})()`

// Axe fails the test for each violation of accessibility that axe-core finds.
func (x *Tab) Axe(name string) {
	x.t.Helper()
	if x.axe == "" {
		x.axe = axeCore(x.t)
	}
	x.Eval(x.axe + "; 0")
	if found := x.Eval(axe); found != "" {
		x.t.Errorf("%s: axe: %s", name, found)
	}
}

// axeCore returns the source of axe-core, which is fetched if it is not on this machine.
func axeCore(t testing.TB) string {
	t.Helper()
	pack, err := packs.Locked("axe-core")
	if err != nil {
		t.Fatal(err)
	}
	archive, err := packs.Fetch(t.Context(), pack)
	if err != nil {
		t.Fatal(err)
	}
	files, err := packs.Files(archive, func(name string) bool { return name == "axe.min.js" })
	if err != nil {
		t.Fatal(err)
	}
	return string(files["axe.min.js"])
}

// Fits fails the test if the page scrolls to the side.
func (x *Tab) Fits(name string) {
	x.t.Helper()
	if wide := x.Eval(`document.documentElement.scrollWidth > innerWidth ? [...document.querySelectorAll("main *")]` +
		`.filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 3).map(e => e.outerHTML.slice(0, 120)).join("\n") || "it does" : ""`); wide != "" {
		x.t.Errorf("%s: the page scrolls to the side: %s", name, wide)
	}
}
