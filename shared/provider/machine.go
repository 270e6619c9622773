package provider

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// MachineFacts returns the facts by which providers are chosen: os (linux) and arch (amd64). If the
// machine declares them, it also returns distribution (debian), family, version (12) and init. The
// family has the distribution and those it is like ("ubuntu debian"). The init program is the one
// that runs as process 1: systemd, runit, sysvinit, ...
func MachineFacts() map[string]string {
	facts := map[string]string{"os": runtime.GOOS, "arch": runtime.GOARCH}
	for _, path := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		release := ParseRelease(string(text))
		for fact, value := range map[string]string{"distribution": release["ID"],
			"version": release["VERSION_ID"],
			"family":  strings.TrimSpace(release["ID"] + " " + release["ID_LIKE"])} {
			if value != "" {
				facts[fact] = value
			}
		}
		break
	}
	if name := initName(); name != "" {
		facts["init"] = name
	}
	return facts
}

// initName names the init program of the machine.
func initName() string {
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		return "systemd"
	}
	raw, err := os.ReadFile("/proc/1/comm")
	if err != nil {
		return ""
	}
	switch name := strings.TrimSpace(string(raw)); name {
	case "init":
		if target, err := filepath.EvalSymlinks("/sbin/init"); err == nil &&
			filepath.Base(target) != "init" {
			return filepath.Base(target)
		}
		return "sysvinit"
	case "runsvdir", "runit":
		return "runit"
	default:
		return name
	}
}

// ParseRelease parses the form of /etc/os-release: names and values, which may be quoted as in a
// shell.
func ParseRelease(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') &&
			value[n-1] == value[0] {
			quote := value[0]
			value = value[1 : n-1]
			if quote == '"' {
				value = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\$`, `$`, "\\`", "`").
					Replace(value)
			}
		}
		out[name] = value
	}
	return out
}
