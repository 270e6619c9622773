//go:build servers

package main_test

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/tf/tftest"
)

// tofuSite is a configuration with an object of each kind that a state file has.
const tofuSite = `
terraform {
  required_providers {
    fw  = { source = "example.com/a/fw" }
    sdk = { source = "example.com/a/sdk" }
  }
  ENCRYPTION
}
provider "fw" { url = "URL" }
provider "sdk" {
  alias    = "zone"
  for_each = toset(["eu", "us"])
  url      = "URL"
}
variable "password" {
  sensitive = true
  default   = "s3cret-password"
}
resource "fw_thing" "counted" {
  count = 2
  name  = "c${count.index}"
  size  = 3
  any   = { list = [1, "a"], on = true }
  parts = [{ name = "lid" }, { name = "box" }]
}
resource "fw_thing" "by_key" {
  for_each = toset(["a b", "eu"])
  name     = each.key
  tags     = { of = fw_thing.counted[0].id }
}
resource "fw_thing" "secret" {
  name           = "secret"
  secret         = var.password
  pin_wo         = "1234"
  pin_wo_version = 1
}
resource "fw_thing" "marked" {
  name = "marked"
  tags = { password = var.password, clear = "x" }
}
resource "fw_thing" "first" {
  name = "FIRST"
  lifecycle { create_before_destroy = true }
}
resource "sdk_server" "zoned" {
  for_each = toset(["eu", "us"])
  provider = sdk.zone[each.key]
  name     = "web-${each.key}"
  labels   = ["x", "y"]
  network { cidr = "10.0.0.0/8" }
  rule { port = 80 }
  rule { port = 443 }
  timeouts { create = "2h" }
}
module "net" {
  source   = "./net"
  for_each = toset(["eu", "us"])
  name     = each.key
}
data "sdk_server" "found" {
  provider = sdk.zone["eu"]
  name     = sdk_server.zoned["eu"].name
}
MORE
`

const tofuModule = `
terraform {
  required_providers { fw = { source = "example.com/a/fw" } }
}
variable "name" {}
resource "fw_thing" "in" {
  name = "net-${var.name}"
  note = "in ${var.name}"
}
`

// tofuProject is a project beside a working directory of OpenTofu with the same objects.
type tofuProject struct {
	*provided
	*tftest.Tofu
	store *tftest.Store
	url   string
}

func newTofuProject(t *testing.T) *tofuProject {
	t.Helper()
	programs := map[string]string{"fw": tftest.Framework(t), "sdk": tftest.SDK(t)}
	p := &tofuProject{newProvided(t, "fw", programs["fw"]), tftest.NewTofu(t, programs), &tftest.Store{}, ""}
	p.offer("sdk", programs["sdk"])
	server := httptest.NewServer(p.store)
	t.Cleanup(server.Close)
	p.url = server.URL
	p.prints(0, "provider add example.com/a/fw --from "+p.mirror, `^added`)
	p.prints(0, "provider add example.com/a/sdk --from "+p.mirror, `^added`)
	p.Write("net/main.tf", tofuModule)
	return p
}

// configures writes the configuration of OpenTofu.
func (p *tofuProject) configures(pairs ...string) {
	p.Write("main.tf", strings.NewReplacer(append(pairs, "URL", p.url, "ENCRYPTION", "", "MORE", "",
		"FIRST", "first")...).Replace(tofuSite))
}

// applies applies the configuration of OpenTofu, and copies the state file into the project.
func (p *tofuProject) applies(fails bool) {
	p.provided.Helper()
	_, messages, err := p.Do("apply", "-auto-approve", "-input=false", "-no-color", "-refresh=false", "-parallelism=1")
	if (err != nil) != fails {
		p.Fatalf("tofu apply: %v\n%s", err, messages)
	}
	text, err := os.ReadFile(filepath.Join(p.Dir, "terraform.tfstate"))
	if err != nil {
		p.Fatal(err)
	}
	p.write("terraform.tfstate", string(text))
}

// completes sets the configuration of the agents in an adopted document.
func (p *tofuProject) completes(name string) {
	p.provided.Helper()
	text, err := os.ReadFile(filepath.Join(p.provided.dir, name))
	if err != nil {
		p.Fatal(err)
	}
	p.write(name, strings.ReplaceAll(string(text), "transport: terraform",
		"transport: terraform\n      config: {url: \""+p.url+"\"}"))
}

// TestAdoptOpenTofu adopts state files that OpenTofu has written, in clear and encrypted: the first plan
// and the first apply find all objects as described.
func TestAdoptOpenTofu(t *testing.T) {
	t.Parallel()
	p := newTofuProject(t)
	p.configures()
	p.Reads("get")
	p.applies(false)
	p.prints(0, "provider adopt terraform.tfstate", `^adopted 11 objects into adopted\.yaml`,
		`left out: data.sdk_server.found: a data source has no object`,
		`^set FW_THING_SECRET_SECRET to secret of`, `^set FW_THING_MARKED_TAGS_PASSWORD to tags/password of`,
		`set pin_wo: no state has a write-only attribute`)
	p.env = append(p.env, "FW_THING_SECRET_SECRET=s3cret-password", "FW_THING_MARKED_TAGS_PASSWORD=s3cret-password")
	p.completes("adopted.yaml")
	p.store.Requests()
	p.prints(0, "plan --read .", `nothing to do; all 11 are as described`)
	p.prints(0, "apply .", `11 deployed`)
	for _, r := range p.store.Requests() {
		if !strings.HasPrefix(r, "GET ") {
			t.Errorf("the first apply sent %s", r)
		}
	}
	p.withoutSecrets()
}

// TestAdoptOpenTofuTainted pins that a tainted object is adopted and replaced, and that a deposed object
// is refused until it is deleted or skipped.
func TestAdoptOpenTofuTainted(t *testing.T) {
	t.Parallel()
	p := newTofuProject(t)
	p.configures()
	p.Reads("get")
	p.applies(false)
	p.store.Requests()
	p.store.At(3, tftest.Reject) // the data source is read first
	p.configures("MORE", `resource "fw_thing" "broken" { name = "broken" }`)
	p.applies(true)
	p.store.Requests()
	p.store.At(3, tftest.Reject)
	p.configures("MORE", `resource "fw_thing" "broken" {
		name = "broken"
		lifecycle { ignore_changes = all }
	}`, "FIRST", "other")
	_, messages, err := p.Do("apply", "-auto-approve", "-input=false", "-no-color", "-refresh=false", "-parallelism=1",
		"-target=fw_thing.first")
	if err == nil {
		t.Fatalf("the deposed object is deleted: %s", messages)
	}
	text, err := os.ReadFile(filepath.Join(p.Dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("terraform.tfstate", string(text))
	p.prints(2, "provider adopt terraform.tfstate",
		`left out: fw_thing.first \(deposed [0-9a-f]+\): the object was replaced, and is to be deleted`,
		`1 of 13 objects cannot be adopted`)
	p.prints(0, "provider adopt terraform.tfstate --skip", `^adopted 12 objects`,
		`label=broken\]: it is tainted: the first apply replaces it`)
	p.env = append(p.env, "FW_THING_SECRET_SECRET=s3cret-password", "FW_THING_MARKED_TAGS_PASSWORD=s3cret-password")
	p.completes("adopted.yaml")
	p.prints(0, "plan --read .", `^replace +tf::fw::Thing\[fw,label=broken\]`)
}

const tofuEncryption = `encryption {
	key_provider "pbkdf2" "key" { passphrase = "a long s3cret passphrase" }
	method "aes_gcm" "sealed" { keys = key_provider.pbkdf2.key }
	state { method = method.aes_gcm.sealed }
}`

// TestAdoptOpenTofuEncrypted pins that an encrypted state is refused, and that the cure in the hint works.
func TestAdoptOpenTofuEncrypted(t *testing.T) {
	t.Parallel()
	p := newTofuProject(t)
	p.configures("ENCRYPTION", tofuEncryption)
	p.Reads("get")
	p.applies(false)
	p.prints(1, "provider adopt terraform.tfstate", `it is encrypted`, "`tofu state pull`", `name the file -`)
	decrypted := p.Reads("state", "pull")
	var out bytes.Buffer
	cmd := p.command("provider", "adopt", "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(decrypted), &out, &out
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "adopted 11 objects into adopted.yaml") {
		t.Fatalf("%v: %s", err, &out)
	}
	p.env = append(p.env, "FW_THING_SECRET_SECRET=s3cret-password", "FW_THING_MARKED_TAGS_PASSWORD=s3cret-password")
	p.completes("adopted.yaml")
	p.prints(0, "plan --read .", `nothing to do; all 11 are as described`)
}
