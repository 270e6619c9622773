// Package sys reads facts about the machine it runs on.
package sys

import (
	"bufio"
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"southbound/handlers/internal/tool"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Facts declares sys::Facts: its only thing is the machine.
func Facts() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Name: "sys::Facts",
			Description: "Facts of the agent's machine for other resources: os, distribution, version, family, " +
				"arch, init, kernel, hostname, fqdn, cpus, memory_bytes, swap_bytes, addresses, ipv4, " +
				"ipv6, macs, interfaces, timezone, boot_id, machine_id, virtual, packages and " +
				"package.NAME. Lists are words separated by blanks. The facts are read at every " +
				"deploy, and when a resource refers to one. It changes nothing. For other agents the " +
				"transport provides the facts: http.protocol, http.server, tls.version and " +
				"tls.certificate.until of an API, postgresql.version of a PostgreSQL server, " +
				"aws.region, aws.account and aws.arn of AWS.",
			Attributes: []schema.Attribute{
				{Name: "name", Type: "String[1]", Behaviour: schema.Namevar,
					Description: "its name"},
				{Name: "packages", Type: "Array[String[1]]", Default: []any{},
					Behaviour: schema.Parameter,
					Description: "packages whose versions become facts, as package.NAME; the empty text if a " +
						"package is not installed"},
			},
			Features:   []string{"facts"},
			Thing:      schema.SharedByIdentity("name"),
			Machine:    true,
			Transports: []string{schema.AnyTransport},
		},
		Handler: handler{root: "/"},
	}
}

// handler reads the files below a root.
type handler struct{ root string }

// Read implements provider.Handler. Except in a dry run, it also reads the facts.
func (h handler) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	if req.Resource.Purged {
		return provider.Observation{}, nil
	}
	if !ctx.DryRun() {
		facts, err := h.Facts(ctx, req)
		if err != nil {
			return provider.Observation{}, err
		}
		for name, value := range facts {
			ctx.Fact(name, value)
		}
	}
	return provider.Observation{Exists: true}, nil
}

// Create implements provider.Handler; it is never needed.
func (handler) Create(*provider.Context, provider.CreateRequest) (provider.Result, error) {
	return provider.Result{}, nil
}

// Update implements provider.Handler; it is never needed.
func (handler) Update(*provider.Context, provider.UpdateRequest) (provider.Result, error) {
	return provider.Result{}, nil
}

// Delete implements provider.Handler; it is never needed.
func (handler) Delete(*provider.Context, provider.DeleteRequest) (provider.Result, error) {
	return provider.Result{}, nil
}

// Facts implements provider.FactReader. Facts that cannot be read are omitted.
func (h handler) Facts(ctx *provider.Context, req provider.ReadRequest) (map[string]any, error) {
	if err := ctx.Err(); err != nil {
		return nil, provider.Errorf(provider.Retryable, "learn facts: %w", err)
	}
	if other, ok := ctx.Transport().(provider.FactSource); ok {
		facts, err := other.Facts(ctx)
		return provider.TextFacts(facts), err // the error names the fact
	}
	facts := provider.MachineFacts()
	h.files(facts)
	h.memory(facts)
	addresses(facts)
	if name, err := os.Hostname(); err == nil {
		facts["hostname"], _, _ = strings.Cut(name, ".")
		facts["fqdn"] = h.fqdn(name)
	}
	facts["cpus"] = strconv.Itoa(runtime.NumCPU())
	h.packages(ctx, req, facts)
	for name, value := range facts {
		if value == "" && !strings.HasPrefix(name, "package.") {
			delete(facts, name)
		}
	}
	return provider.TextFacts(facts), nil
}

// line returns the content of a file, without the line end; "" if it does not exist.
func (h handler) line(path string) string {
	raw, err := os.ReadFile(filepath.Join(h.root, path))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

func (h handler) files(facts map[string]string) {
	facts["kernel"] = h.line("proc/sys/kernel/osrelease")
	facts["boot_id"] = h.line("proc/sys/kernel/random/boot_id")
	facts["machine_id"] = h.line("etc/machine-id")
	facts["timezone"] = h.timezone()
	facts["virtual"] = h.virtual()
}

func (h handler) timezone() string {
	if target, err := os.Readlink(filepath.Join(h.root, "etc/localtime")); err == nil {
		if _, zone, ok := strings.Cut(target, "zoneinfo/"); ok {
			return zone
		}
	}
	return h.line("etc/timezone")
}

// virtual returns the kind of machine: the name of a container engine, of the vendor of a virtual
// machine, or physical.
func (h handler) virtual() string {
	for path, name := range map[string]string{".dockerenv": "docker",
		"run/.containerenv": "podman"} {
		if _, err := os.Stat(filepath.Join(h.root, path)); err == nil {
			return name
		}
	}
	if kind := h.line("run/systemd/container"); kind != "" {
		return kind
	}
	if !strings.Contains(h.line("proc/cpuinfo"), " hypervisor") {
		return "physical"
	}
	if maker := h.line("sys/class/dmi/id/sys_vendor"); maker != "" {
		return strings.ToLower(strings.Join(strings.Fields(maker), "_"))
	}
	return "virtual"
}

func (h handler) memory(facts map[string]string) {
	for line := range strings.Lines(h.line("proc/meminfo")) {
		name, value, _ := strings.Cut(line, ":")
		fact := map[string]string{"MemTotal": "memory_bytes", "SwapTotal": "swap_bytes"}[name]
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if fact != "" && err == nil {
			facts[fact] = strconv.FormatInt(kib<<10, 10)
		}
	}
}

// fqdn is the full name of the machine in /etc/hosts, else its short name.
func (h handler) fqdn(name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	for s := bufio.NewScanner(strings.NewReader(h.line("etc/hosts"))); s.Scan(); {
		text, _, _ := strings.Cut(s.Text(), "#")
		words := strings.Fields(text)
		if len(words) < 2 || !slices.Contains(words[1:], name) {
			continue
		}
		for _, word := range words[1:] {
			if strings.HasPrefix(word, name+".") {
				return word
			}
		}
	}
	return name
}

// addresses reads the addresses that other machines can reach, sorted by interface; ipv4 and ipv6
// are the first of their kind.
func addresses(facts map[string]string) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return
	}
	var all, names, macs []string
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback != 0 || i.Flags&net.FlagUp == 0 {
			continue
		}
		names = append(names, i.Name)
		if len(i.HardwareAddr) > 0 {
			macs = append(macs, i.HardwareAddr.String())
		}
		list, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range list {
			n, ok := a.(*net.IPNet)
			if !ok || !n.IP.IsGlobalUnicast() {
				continue
			}
			kind := "ipv6"
			if n.IP.To4() != nil {
				kind = "ipv4"
			}
			if facts[kind] == "" {
				facts[kind] = n.IP.String()
			}
			all = append(all, n.IP.String())
		}
	}
	facts["addresses"], facts["interfaces"], facts["macs"] = strings.Join(all, " "),
		strings.Join(names, " "), strings.Join(macs, " ")
}

// packages reads how many packages are installed, and the versions of the requested ones.
func (h handler) packages(
	ctx *provider.Context, req provider.ReadRequest, facts map[string]string,
) {
	have, known := h.installed(ctx)
	if known {
		facts["packages"] = strconv.Itoa(len(have))
	}
	list, _ := req.Resource.Attributes["packages"].([]any)
	for _, p := range list {
		if name, ok := p.(string); ok && known {
			facts["package."+name] = have[name]
		}
	}
}

// installed returns the packages of the machine and their versions; false if it has no known
// package manager.
func (h handler) installed(ctx context.Context) (map[string]string, bool) {
	for _, argv := range [][]string{
		{"dpkg-query", "--show", "--showformat=${db:Status-Status} ${Package}\t${Version}\n"},
		{"rpm", "-qa", "--qf", "installed %{NAME}\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\n"},
	} {
		out, err := tool.Run(ctx, nil, argv...)
		if err != nil {
			continue
		}
		have := map[string]string{}
		for line := range strings.Lines(out) {
			if text, ok := strings.CutPrefix(strings.TrimSpace(line), "installed "); ok {
				name, version, _ := strings.Cut(text, "\t")
				have[name] = version
			}
		}
		return have, true
	}
	raw := h.line("lib/apk/db/installed")
	have, name := map[string]string{}, ""
	for line := range strings.Lines(raw) {
		switch letter, value, _ := strings.Cut(strings.TrimSpace(line), ":"); letter {
		case "P":
			name = value
		case "V":
			have[name] = value
		}
	}
	return have, raw != ""
}
