package sys

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, providertest.Subject{Definition: Facts(),
		New: func(string, *providertest.Host) (providertest.Case, error) {
			return providertest.Case{Attributes: map[string]any{"name": "a"},
				Others: []map[string]any{{"name": "b"}}, Present: true}, nil
		}})
}

// TestFactsOfThisMachine compares with what the machine's own programs say.
func TestFactsOfThisMachine(t *testing.T) {
	t.Parallel()
	host := providertest.NewHost(nil)
	r := provider.Resource{ID: "sys::Facts[a,name=x]", Attributes: map[string]any{"name": "x",
		"packages": []any{"dpkg", "no-such-package"}}}
	if _, err := Facts().Handler.Read(host.Context(t.Context(), provider.Options{ID: r.ID}),
		provider.ReadRequest{Resource: r}); err != nil {
		t.Fatal(err)
	}
	facts := map[string]string{}
	for name, value := range host.Facts() {
		facts[name], _ = value.(string)
	}
	for fact, argv := range map[string][]string{"kernel": {"uname", "-r"},
		"hostname": {"hostname", "-s"}, "cpus": {"nproc"},
		"package.dpkg": {"dpkg-query", "--show", "--showformat=${Version}", "dpkg"}} {
		out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).Output()
		if want := strings.TrimSpace(string(out)); err != nil || facts[fact] != want {
			t.Errorf("%s is %q, %v says %q (%v)", fact, facts[fact], argv, want, err)
		}
	}
	if n, err := strconv.ParseInt(facts["memory_bytes"], 10, 64); err != nil || n < 64<<20 ||
		n%1024 != 0 {
		t.Error(facts["memory_bytes"])
	}
	for a := range strings.FieldsSeq(facts["addresses"]) {
		if ip, err := netip.ParseAddr(a); err != nil || ip.IsLoopback() {
			t.Error(a, err)
		}
	}
	if v, learned := facts["package.no-such-package"]; !learned || v != "" {
		t.Error("a package that is not there has the empty text")
	}
	for name, value := range facts {
		if value == "" && !strings.HasPrefix(name, "package.") {
			t.Errorf("%s is empty", name)
		}
	}
	dry := providertest.NewHost(nil)
	if _, err := Facts().Handler.Read(dry.Context(t.Context(),
		provider.Options{ID: r.ID, DryRun: true}), provider.ReadRequest{Resource: r}); err != nil ||
		len(dry.Facts()) != 0 {
		t.Error("a dry run learns nothing", dry.Facts(), err)
	}
}

// TestFilesOfOtherMachines reads the files of machines that this is not.
func TestFilesOfOtherMachines(t *testing.T) {
	t.Parallel()
	for why, tc := range map[string]struct {
		files map[string]string
		want  map[string]string
	}{
		"a container": {map[string]string{"run/.containerenv": ""},
			map[string]string{"virtual": "podman"}},
		"a virtual machine": {map[string]string{"proc/cpuinfo": "flags : fpu hypervisor x",
			"sys/class/dmi/id/sys_vendor": "Amazon EC2\n"},
			map[string]string{"virtual": "amazon_ec2"}},
		"a machine": {map[string]string{"proc/cpuinfo": "flags : fpu",
			"etc/timezone": "Europe/Brussels\n",
			"proc/meminfo": "MemTotal:       1024 kB\nSwapTotal:  0 kB\n"},
			map[string]string{"virtual": "physical", "timezone": "Europe/Brussels",
				"memory_bytes": "1048576", "swap_bytes": "0"}},
	} {
		h := handler{root: t.TempDir()}
		for name, text := range tc.files {
			path := filepath.Join(h.root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		facts := map[string]string{}
		h.files(facts)
		h.memory(facts)
		for name, want := range tc.want {
			if facts[name] != want {
				t.Errorf("%s: %s is %q, want %q", why, name, facts[name], want)
			}
		}
	}
	h := handler{root: t.TempDir()}
	if err := os.MkdirAll(filepath.Join(h.root, "etc"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.root, "etc/hosts"),
		[]byte("# web.example.com web\n10.0.0.1 web.example.org web # x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := h.fqdn("web"); got != "web.example.org" {
		t.Error(got)
	}
	if got := h.fqdn("db"); got != "db" {
		t.Error(got)
	}
}

// database is a connection to something that is not a machine.
type database struct{ err error }

func (d database) Facts(context.Context) (map[string]string, error) {
	return map[string]string{"postgresql.version": "16.4"}, d.err
}

// TestFactsOfATransport learns from the connection, and says nothing of this machine, when the
// agent is not a machine.
func TestFactsOfATransport(t *testing.T) {
	t.Parallel()
	r := provider.Resource{ID: "sys::Facts[db,name=x]", Attributes: map[string]any{"name": "x"}}
	host := providertest.NewHost(database{})
	read := provider.ReadRequest{Resource: r}
	if _, err := Facts().Handler.Read(host.Context(t.Context(), provider.Options{ID: r.ID}),
		read); err != nil {
		t.Fatal(err)
	}
	if got := host.Facts(); !maps.Equal(got, map[string]any{"postgresql.version": "16.4"}) {
		t.Error(got)
	}
	lost := errors.New("connection refused")
	host = providertest.NewHost(database{lost})
	if _, err := Facts().Handler.Read(host.Context(t.Context(), provider.Options{ID: r.ID}),
		read); !errors.Is(err, lost) {
		t.Error(err)
	}
}
