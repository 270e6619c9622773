//go:build servers

package main_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"southbound/shared/tf/tftest"
)

// stateFile returns a state file of resources of the provider example.com/a/NAME.
func stateFile(provider string, resources ...string) string {
	return `{"version": 4, "terraform_version": "1.11.4", "serial": 4, "lineage": "x", "resources": [` +
		strings.ReplaceAll(strings.Join(resources, ",\n"), "PROVIDER",
			`provider[\"example.com/a/`+provider+`\"]`) + `]}`
}

const (
	timeMade = `{"mode": "managed", "type": "time_static", "name": "made", "provider": "PROVIDER",
		"instances": [{"schema_version": 0, "attributes": {"day": 1, "hour": 12, "id": "2026-03-01T12:00:00Z",
		"minute": 0, "month": 3, "rfc3339": "2026-03-01T12:00:00Z", "second": 0, "unix": 1772366400, "year": 2026,
		"triggers": {"{{ key }}": "a {{ b }} c", "secret": "is no reference"}}}]}`
	timeLater = `{"module": "module.net[\"eu\"]", "mode": "managed", "type": "time_offset", "name": "later",
		"provider": "PROVIDER", "instances": [
		{"index_key": 0, "schema_version": 0, "dependencies": ["time_static.made"], "attributes": {
		"base_rfc3339": "2026-03-01T12:00:00Z", "day": 2, "hour": 12, "id": "2026-03-01T12:00:00Z", "minute": 0,
		"month": 3, "offset_days": 1, "offset_hours": null, "offset_minutes": null, "offset_months": null,
		"offset_seconds": null, "offset_years": null, "rfc3339": "2026-03-02T12:00:00Z", "second": 0,
		"triggers": null, "unix": 1772452800, "year": 2026}},
		{"index_key": 1, "schema_version": 0, "dependencies": ["time_static.made"], "attributes": {
		"base_rfc3339": "2026-03-01T12:00:00Z", "day": 3, "hour": 12, "id": "2026-03-01T12:00:00Z", "minute": 0,
		"month": 3, "offset_days": 2, "offset_hours": null, "offset_minutes": null, "offset_months": null,
		"offset_seconds": null, "offset_years": null, "rfc3339": "2026-03-03T12:00:00Z", "second": 0,
		"triggers": null, "unix": 1772539200, "year": 2026}}]}`
	timePause = `{"mode": "managed", "type": "time_sleep", "name": "pause", "provider": "PROVIDER", "instances": [
		{"index_key": "a b", "schema_version": 0, "attributes": {"create_duration": "1ms",
		"destroy_duration": null, "id": "2026-03-01T12:00:01Z", "triggers": {"k": "s3cret"}},
		"sensitive_attributes": [[{"type": "get_attr", "value": "triggers"},
		{"type": "index", "value": {"value": "k", "type": "string"}}]]}]}`
	timeData = `{"mode": "data", "type": "time_static", "name": "d", "provider": "PROVIDER",
		"instances": [{"attributes": {}}]}`
	timeOdd = `{"mode": "managed", "type": "time_gone", "name": "odd", "provider": "PROVIDER",
		"instances": [{"attributes": {}}]}`
)

// TestAdopt adopts a state file of the provider "time" of the Go module proxy, with modules, count and
// for_each, as a document and as a model: all objects are as described, and an apply changes none.
func TestAdopt(t *testing.T) {
	t.Parallel()
	for _, model := range []bool{false, true} {
		p := newProvided(t, "time", tftest.Time(t))
		p.prints(0, "provider add example.com/a/time --from "+p.mirror, `^added`)
		p.write("terraform.tfstate", stateFile("time", timeMade, timeLater, timePause, timeData))
		line, file, agent, variable := "provider adopt terraform.tfstate", "adopted.yaml", "time",
			"TIME_SLEEP_PAUSE_A_B_TRIGGERS_K"
		if model {
			line, file, agent, variable = line+" --model --agent clock", "main.cf", "clock", "CLOCK_"+variable
		}
		p.prints(0, line, `^adopted 4 objects into `+file,
			`^set `+variable+` to triggers/k of tf::time::Sleep\[`+agent+`,label=pause-a_b\]`,
			`left out: data.time_static.d: a data source has no object`)
		p.env = append(p.env, variable+"=s3cret")
		p.prints(0, "plan .", `nothing to do; all 4 are as described`)
		p.prints(0, "apply .", `4 deployed`)
		p.prints(0, "logs", `no changes and no failures`)
		p.prints(0, "plan .", `nothing to do; all 4 are as described`)
		p.prints(0, "facts", `Offset\[`+agent+`,label=net-eu/later-1\]  rfc3339 = 2026-03-03T12:00:00Z`)
		p.withoutSecrets()
	}
}

// withoutSecrets fails the test if a file that the program has written has the secret of a state file.
func (p *provided) withoutSecrets() {
	p.Helper()
	err := filepath.WalkDir(p.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "terraform.tfstate" {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte("s3cret")) {
			p.Errorf("%s has a secret in clear", path)
		}
		return err
	})
	if err != nil {
		p.Error(err)
	}
}

// TestAdoptRefused pins what is refused, and that nothing is written and no state is stored then.
func TestAdoptRefused(t *testing.T) {
	t.Parallel()
	p := newProvided(t, "time", tftest.Time(t))
	p.write("terraform.tfstate", stateFile("time", timeMade, timeOdd))
	p.write("cut.tfstate", stateFile("time", timeMade)[:80])
	p.write("empty.tfstate", stateFile("time"))
	p.prints(2, "provider adopt terraform.tfstate", `time_static.made: southbound.lock has no provider`,
		"add it with `southbound provider add example.com/a/time`")
	p.prints(0, "provider add example.com/a/time --from "+p.mirror, `^added`)
	p.prints(2, "provider adopt cut.tfstate", `it ends too early`)
	p.prints(2, "provider adopt empty.tfstate", `no object that can be adopted`)
	p.prints(1, "provider adopt none.tfstate", `no such file`)
	p.prints(1, "provider adopt terraform.tfstate --agent x=y", `no configuration "x"`)
	p.prints(2, "provider adopt terraform.tfstate", `1 of 2 objects cannot be adopted`,
		`left out: time_gone.odd: .* has no usable type time_gone`, `--skip`)
	p.prints(1, "provider adopt terraform.tfstate --skip --api http://127.0.0.1:9", `without --api`)
	for _, name := range []string{"adopted.yaml", ".southbound"} {
		if _, err := os.Stat(filepath.Join(p.dir, name)); err == nil {
			t.Errorf("a refused adoption has made %s", name)
		}
	}
	p.prints(0, "provider adopt terraform.tfstate --skip --agent clock", `^adopted 1 object into adopted\.yaml`)
	p.prints(1, "provider adopt terraform.tfstate --skip", `adopted\.yaml is there already`)
	p.prints(0, "provider adopt terraform.tfstate --skip --out again --agent clock", `^adopted 1 object`)
	p.prints(0, "apply adopted.yaml", `1 deployed`)
	p.prints(1, "provider adopt terraform.tfstate --skip --out third --agent clock",
		`the environment has the resource tf::time::Static\[clock,label=made\] already`)
	if _, err := os.Stat(filepath.Join(p.dir, "third")); err == nil {
		t.Error("a refused adoption has made a directory")
	}
}

// TestAdoptInvalid pins that values which the provider refuses are left out if they may come from it
// alone, and noted otherwise.
func TestAdoptInvalid(t *testing.T) {
	t.Parallel()
	p := newProvided(t, "time", tftest.Time(t))
	p.prints(0, "provider add example.com/a/time --from "+p.mirror, `^added`)
	p.write("terraform.tfstate", stateFile("time", `{"mode": "managed", "type": "time_static", "name": "a",
		"provider": "PROVIDER", "instances": [{"attributes": {"id": "2026-03-01T12:00:00Z", "rfc3339": "noon"}}]}`,
		strings.Replace(timePause, "1ms", "soon", 1)))
	p.prints(0, "provider adopt terraform.tfstate", `^adopted 2 objects`,
		`^tf::time::Sleep\[time,label=pause-a_b\]: complete it, since it is not valid: create_duration`)
	text, err := os.ReadFile(filepath.Join(p.dir, "adopted.yaml"))
	if err != nil || strings.Contains(string(text), "rfc3339") || !strings.Contains(string(text), "# complete it") {
		t.Errorf("%v\n%s", err, text)
	}
}

// adopts adopts objects of a provider of our own, whose things are in a store, and checks that the first
// apply only reads them.
func (p *provided) adopts(store *tftest.Store, url string, things ...string) {
	p.Helper()
	for _, thing := range things {
		made, err := http.Post(url+"/things", "application/json", strings.NewReader(thing))
		if err != nil {
			p.Fatal(err)
		}
		_ = made.Body.Close()
	}
	out := p.run(0, "provider", "adopt", "terraform.tfstate", "--json")
	if !strings.Contains(out, "set config: it requires url") {
		p.Errorf("%s", out)
	}
	text, err := os.ReadFile(filepath.Join(p.dir, "adopted.yaml"))
	if err != nil {
		p.Fatal(err)
	}
	p.write("adopted.yaml", strings.Replace(string(text), "transport: terraform",
		"transport: terraform\n      config: {url: "+url+"}", 1))
	store.Requests()
	p.prints(0, "plan .", `nothing to do; (all `+strconv.Itoa(len(things))+` are|it is) as described`)
	p.prints(0, "apply .", strconv.Itoa(len(things))+` deployed`)
	for _, r := range store.Requests() {
		if !strings.HasPrefix(r, "GET ") {
			p.Errorf("the first apply sent %s", r)
		}
	}
	p.withoutSecrets()
}

// TestAdoptNested adopts an object of version 6 with nested attributes, a computed member, a secret,
// private bytes and an identity, another one that refers to its secret, and one of an older schema of version 5 with blocks, which its
// provider upgrades.
func TestAdoptNested(t *testing.T) {
	t.Parallel()
	server := func() (*tftest.Store, string) {
		store := &tftest.Store{}
		s := httptest.NewServer(store)
		t.Cleanup(s.Close)
		return store, s.URL
	}
	store, url := server()
	p := newProvided(t, "fw", tftest.Framework(t))
	p.prints(0, "provider add example.com/a/fw --from "+p.mirror, `^added`)
	p.write("terraform.tfstate", stateFile("fw", `{"mode": "managed", "type": "fw_thing", "name": "box",
		"provider": "PROVIDER", "instances": [{"schema_version": 2, "private": "e30=",
		"identity_schema_version": 0, "identity": {"id": "t-1"}, "attributes": {"id": "t-1", "name": "box",
		"note": null, "size": 1, "secret": "s3cret-of-box", "pin_wo": null, "pin_wo_version": null, "any": null,
		"tags": {"a": "b"}, "parts": [{"name": "lid", "no": 100}]}}]}`,
		`{"mode": "managed", "type": "fw_thing", "name": "copy", "provider": "PROVIDER", "instances": [
		{"schema_version": 2, "identity_schema_version": 0, "identity": {"id": "t-2"},
		"dependencies": ["fw_thing.box"], "attributes": {"id": "t-2", "name": "copy", "size": 1,
		"secret": "s3cret-of-box"}}]}`))
	p.env = append(p.env, "FW_THING_BOX_SECRET=s3cret-of-box")
	p.adopts(store, url, `{"name": "box", "size": 1, "tags": {"a": "b"}, "parts": [{"name": "lid"}]}`,
		`{"name": "copy", "size": 1}`)
	p.prints(0, "resource tf::fw::Thing[fw,label=copy]", `output:tf::fw::Thing\[fw,label=box\]#secret`)

	store, url = server()
	p = newProvided(t, "sdk", tftest.SDK(t))
	p.prints(0, "provider add example.com/a/sdk --from "+p.mirror, `^added`)
	p.write("terraform.tfstate", stateFile("sdk", `{"mode": "managed", "type": "sdk_server", "name": "web",
		"provider": "PROVIDER", "instances": [{"schema_version": 0, "attributes": {"id": "t-1",
		"title": "web", "zone": "b", "labels": ["x"], "network": [{"cidr": "10.0.0.0/8"}],
		"rule": [{"port": 80, "no": 100}], "ready": true, "timeouts": null}}]}`))
	p.adopts(store, url, `{"name": "web", "zone": "b", "labels": ["x"], "network": [{"cidr": "10.0.0.0/8"}],
		"rules": [{"port": 80}]}`)
	text, err := os.ReadFile(filepath.Join(p.dir, "adopted.yaml"))
	if err != nil || !strings.Contains(string(text), "name: web") {
		t.Errorf("the upgraded name is missing in\n%s", text)
	}
}
