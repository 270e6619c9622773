//go:build servers

package console_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"southbound/shared/buildtest"
	"southbound/shared/internal/simtest/consoletest/chrome"
)

// product is a copy of examples/services, the program that deploys it, and where.
type product struct {
	*testing.T
	bin, dir, root string
}

func newProduct(t *testing.T) product {
	t.Helper()
	p := product{t, buildtest.Program(t, buildtest.Southbound), filepath.Join(t.TempDir(), "services"),
		filepath.Join(t.TempDir(), "srv")}
	if err := os.CopyFS(p.dir, os.DirFS("../../examples/services")); err != nil {
		t.Fatal(err)
	}
	main := filepath.Join(p.dir, "main.cf")
	model, err := os.ReadFile(main)
	if err != nil {
		t.Fatal(err)
	}
	here := strings.ReplaceAll(string(model), "/tmp/southbound-services", p.root)
	if err := os.WriteFile(main, []byte(here), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// console exports the services, starts the console, signs a tab in, and returns the address of the
// environment.
func (p product) console(x *chrome.Tab) string {
	p.Helper()
	const env = "hosting"
	flags := []string{"--data", filepath.Join(p.TempDir(), "data"), "--environment", env}
	export := exec.CommandContext(p.Context(), p.bin, append(flags, "service", "export", p.dir)...)
	if out, err := export.CombinedOutput(); err != nil {
		p.Fatalf("service export: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(p.Context(), p.bin, append(flags, "--json", "console", "--no-open")...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.Fatal(err)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if p.Failed() {
			p.Logf("the console says: %s", &problems)
		}
	})
	var line struct{ Address, Open string }
	if err := json.NewDecoder(out).Decode(&line); err != nil {
		p.Fatalf("the console prints no address: %v", err)
	}
	x.Open(line.Open)
	return strings.TrimSuffix(line.Address, "/") + "/" + env
}

// settle waits until the settings of the site are text.
func (p product) settle(text string) {
	p.Helper()
	var got []byte
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if got, _ = os.ReadFile(p.settings()); string(got) == text {
			return
		}
	}
	p.Fatalf("the settings stay %q, not %q", got, text)
}

func (p product) settings() string {
	return filepath.Join(p.root, "www.acme.example", "site.conf")
}

// typed types a text into a field of a form.
func typed(x *chrome.Tab, name, text string) {
	x.Eval(`(() => { const e = document.querySelector('[name="` + name + `"]'); e.focus(); e.select(); })()`)
	x.Type(text)
}

const (
	send   = `form.order button.primary[value="order"]`
	stated = `document.querySelector("#state .status")?.innerText === `
)

// TestStory orders from the example in the browser alone, finds and repairs a change by hand, changes
// the order, compares the versions, changes the instance back from the comparison, and releases the
// earlier version.
func TestStory(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	x := chrome.Start(t).Tab(t)
	x.Size(1366, 900)
	url := p.console(x)
	shot := func(name string) { x.Shot("story-" + name) }

	x.Open(url + "/services")
	shot("1-services")
	x.Open(url + "/services/customer/new")
	typed(x, "/name", "acme")
	typed(x, "/contact", "info@acme.example")
	shot("2-order-customer")
	x.Click(send)
	x.Until(stated + `"up"`)
	x.Open(url + "/services/site/new")
	typed(x, "/host_name", "www.acme.example")
	x.Eval(`(() => { const e = document.querySelector('[name="/customer"]');
		e.value = [...e.options].find(o => o.label.includes("acme")).value; })()`)
	shot("3-order-site")
	x.Click(send)
	x.Until(stated + `"up"`)
	shot("4-up")
	site := x.Eval("location.origin + location.pathname")
	const five = "server_name www.acme.example;\nlisten 8000 ssl;\nquota 5G;\n"
	p.settle(five)

	if err := os.WriteFile(p.settings(), []byte(five+"# changed by hand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.Open(site + "?tab=resources")
	x.Until(`document.querySelector("main").innerText.includes("main.cf:")`) // the place in the model
	x.Open(x.Eval(`[...document.querySelectorAll("main th a")].find(a => a.innerText.includes("site.conf")).href`))
	x.Click(`button[formaction$="/do/dryrun"], form[action$="/do/dryrun"] button`)
	x.Until(`document.querySelector("#job form[action$='/do/repair']")`)
	x.Click("#job details > summary")
	x.Until(`document.querySelector("#job").innerText.includes("# changed by hand")`)
	shot("5-difference")
	x.Click(`form[action$="/do/repair"] button`)
	x.Until(`document.body.innerText.includes("1 resource is checked and repaired")`)
	p.settle(five)
	shot("6-repaired")

	x.Open(site + "/edit")
	typed(x, "/quota", "7")
	x.Click(`form.order button[value="preview"]:not(.hidden)`)
	x.Until(`["quota", "site.conf"].every(text => document.querySelector("#preview")?.innerText.includes(text))`)
	shot("7-preview")
	x.Click(send)
	seven := strings.ReplaceAll(five, "5G", "7G")
	p.settle(seven)
	x.Until(stated + `"up"`)
	shot("8-changed")

	x.Open(url + "/versions")
	shot("9-versions")
	x.Click(`#rows a[href*="compare"]`)
	x.Until(`document.querySelector("main details > summary")`)
	x.Click("main details > summary")
	x.Until(`["quota 5G", "quota 7G", "release would be refused", "www.acme.example"].
		every(text => document.querySelector("main").innerText.includes(text))`)
	shot("10-compare")
	x.Click(`a.button[href*="/edit?asof="]`)
	x.Until(`document.querySelector("#preview")?.innerText.includes("quota")`)
	shot("11-change-back")
	x.Click(`#preview button[value="order"]`)
	x.Until(`document.body.innerText.includes("1 change of www.acme.example sent")`)
	shot("12-sent")
	p.settle(five)
	x.Open(x.Eval("location.href"))
	x.Until(`document.body.innerText.includes("Nothing is deleted.")`)
	shot("13-release")
	x.Click(`form[action$="/do/release"] button`)
	x.Until(`document.body.innerText.includes("is in force: 0 resources changed")`)
	shot("14-released")
	pictures(x, url)
}

// pictures keeps the pages that docs/console.md shows.
func pictures(x *chrome.Tab, url string) {
	x.Open(url + "/services/site/new")
	typed(x, "/host_name", "shop.acme.example")
	x.Shot("order-1366")
	x.Open(url + "/resources")
	x.Shot("resources-1366")
	x.Open(x.Eval(`[...document.querySelectorAll("#rows a")].find(a => a.innerText.includes("site.conf")).href`))
	x.Size(820, 900)
	x.Shot("resource-820")
	x.Dark(true)
	x.Size(390, 844)
	x.Open(url + "/")
	x.Shot("overview-390")
}
