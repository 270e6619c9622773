package modtool

import (
	"slices"
	"strings"

	"southbound/shared/lang/metadata"
)

// setOption returns the text of an INI file with one option set. All other text stays as written.
func setOption(text []byte, section, name, value string) []byte {
	lines := strings.SplitAfter(string(text), "\n")
	in, last, at, end := false, -1, -1, -1 // in the section; its last line; the option's range
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "[") && line[0] == '[':
			in = trimmed == "["+section+"]"
		case in && at >= 0 && end < 0 && trimmed != "" && line[0] != ' ' && line[0] != '\t':
			end = i
		}
		if in && trimmed != "" {
			last = i
		}
		if key, _, ok := strings.Cut(trimmed, "="); in && ok && line[0] != ' ' && at < 0 &&
			strings.EqualFold(strings.TrimSpace(key), name) {
			at = i
		}
	}
	if end < 0 {
		end = last + 1
	}
	entry := name + " = " + value + "\n"
	if value == "" || value[0] == '\n' { // a value of several lines
		entry = name + " =" + value + "\n"
	}
	switch {
	case at >= 0:
		for end > at+1 && strings.TrimSpace(lines[end-1]) == "" {
			end--
		}
		lines = slices.Replace(lines, at, max(end, at+1), entry)
	case last >= 0:
		lines[last] = strings.TrimRight(lines[last], "\n") + "\n"
		lines = slices.Insert(lines, last+1, entry)
	default:
		gap := "\n"
		if len(text) == 0 {
			gap = ""
		}
		lines = append(lines, gap+"["+section+"]\n"+entry)
	}
	return []byte(strings.Join(lines, ""))
}

// setRequirement returns the lines of a requirements.txt or of install_requires with a requirement.
// It replaces other requirements of the same module.
func setRequirement(lines []string, r metadata.Requirement) []string {
	text := r.Requirement.String()
	done := false
	out := make([]string, 0, len(lines)+1)
	for _, line := range lines {
		before, err := metadata.ParsePackage(strings.TrimSpace(line))
		if err == nil && before.Module == r.Module {
			if !done {
				out = append(out, text)
			}
			done = true
			continue
		}
		out = append(out, line)
	}
	if !done {
		out = append(out, text)
	}
	return out
}
