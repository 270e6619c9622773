package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"

	"southbound/shared/diffview"
)

// GitHub writes findings as workflow commands of GitHub's runner, which shows them at their lines.
// The prefix is put before file names, for documents whose paths are not relative to the root of
// the repository.
func (r *Report) GitHub(w io.Writer, prefix string) error {
	for _, f := range r.findings() {
		level, parts := "warning", []string(nil)
		if f.Error {
			level = "error"
		}
		if f.File != "" {
			parts = append(parts, "file="+property(inRepository(prefix, f.File)))
			if f.Line > 0 {
				parts = append(parts, fmt.Sprintf("line=%d", f.Line))
			}
			if f.Column > 0 {
				parts = append(parts, fmt.Sprintf("col=%d", f.Column))
			}
		}
		parts = append(parts, "title="+property("Southbound: "+f.Check))
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", level, strings.Join(parts, ","),
			data(f.text())); err != nil {
			return err
		}
	}
	return nil
}

// data escapes the message of a command.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// property escapes a property of a command.
func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s))
}

// inRepository returns a path relative to the root of the repository. The name of standard input is
// unchanged.
func inRepository(prefix, file string) string {
	if file == "-" || path.IsAbs(file) {
		return file
	}
	return path.Join(prefix, file)
}

// issue is an entry of a code quality report.
type issue struct {
	Description string   `json:"description"`
	Check       string   `json:"check_name"`
	Fingerprint string   `json:"fingerprint"`
	Severity    string   `json:"severity"`
	Location    location `json:"location"`
}

type location struct {
	Path  string `json:"path"`
	Lines struct {
		Begin int `json:"begin"`
	} `json:"lines"`
}

// GitLab writes findings as a code quality report. Findings without a position are reported at
// fallback, since GitLab shows no finding without a position.
func (r *Report) GitLab(w io.Writer, prefix, fallback string) error {
	out := []issue{}
	seen := map[string]int{}
	for _, f := range r.Findings() {
		i := issue{Description: strings.ReplaceAll(f.text(), "\n", "; "),
			Check: "southbound/" + f.Check, Severity: "minor"}
		if f.Error {
			i.Severity = "critical"
		}
		i.Location.Path, i.Location.Lines.Begin = fallback, max(f.Line, 1)
		if f.File != "" {
			i.Location.Path = inRepository(prefix, f.File)
		}
		// The line is excluded, so that a finding keeps its fingerprint when it moves.
		key := strings.Join([]string{i.Location.Path, i.Check, i.Description}, "\n")
		seen[key]++
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d", key, seen[key]))
		i.Fingerprint = hex.EncodeToString(sum[:16])
		out = append(out, i)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

// Text writes a plan for a terminal, and then each finding with its hint.
func (r *Report) Text(w io.Writer, prefix string) error {
	for _, g := range r.steps() {
		if r.Plan[g[0]].Failed {
			continue // listed under findings
		}
		if _, err := io.WriteString(w, diffview.Visible(r.step(g), "\n\t")); err != nil {
			return err
		}
	}
	if r.Planned != nil {
		if _, err := fmt.Fprintln(w, plannedText(r.Planned)); err != nil {
			return err
		}
	}
	for _, f := range r.findings() {
		at := ""
		if f.File != "" {
			f.File = inRepository(prefix, f.File)
			at = f.Pos.String() + ": "
		}
		if _, err := fmt.Fprintf(w, "%s%s\n", at,
			strings.ReplaceAll(f.text(), "\n", "\n  ")); err != nil {
			return err
		}
	}
	return nil
}
