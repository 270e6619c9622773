package modtool

import (
	"context"
	"os/exec"
	"strings"
)

// UVEnvironment returns the environment variables with which uv uses the index of a tool's project: the
// one in project.yml, or else the one that pip is configured to use on this machine, whose
// configuration uv does not read.
func UVEnvironment(ctx context.Context, t *Tool) ([]string, error) {
	meta, err := t.folder().open()
	if err != nil {
		return nil, err
	}
	p := &pipTool{Tool: t, meta: meta}
	variables, system := p.pipEnvironment()
	if !system || hasVariable(variables, "UV_DEFAULT_INDEX") || hasVariable(variables, "UV_INDEX_URL") {
		return variables, nil
	}
	for _, setting := range [][2]string{
		{"index-url", "UV_DEFAULT_INDEX"}, {"extra-index-url", "UV_INDEX"},
	} {
		value := valueOf(variables, "PIP_"+strings.ToUpper(strings.ReplaceAll(setting[0], "-", "_")))
		if value == "" {
			value = pipSetting(ctx, setting[0])
		}
		if value != "" {
			variables = append(variables, setting[1]+"="+value)
		}
	}
	return variables, nil
}

// pipSetting returns a setting of pip on this machine; "": it is not set, or there is no pip.
func pipSetting(ctx context.Context, name string) string {
	for _, pip := range [][]string{{"python3", "-m", "pip"}, {"pip3"}, {"pip"}} {
		args := append(pip[1:], "config", "get", "global."+name)
		if out, err := exec.CommandContext(ctx, pip[0], args...).Output(); err == nil {
			return strings.Join(strings.Fields(string(out)), " ")
		}
	}
	return ""
}

func hasVariable(variables []string, name string) bool { return valueOf(variables, name) != "" }

// valueOf returns the value of a variable; "": it is not set.
func valueOf(variables []string, name string) string {
	out := ""
	for _, v := range variables {
		if value, is := strings.CutPrefix(v, name+"="); is {
			out = value
		}
	}
	return out
}
