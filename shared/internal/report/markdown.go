package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/diffview"
	"southbound/shared/resource"
)

// MaxComment is the maximum length of a comment in bytes, safely below the limit of GitHub.
// Markdown notes how much it omitted.
const MaxComment = 60_000

// Markdown writes the report for people, in at most limit bytes; 0 means no limit.
func (r *Report) Markdown(w io.Writer, limit int) error {
	d := &document{limit: limit}
	if r.Title != "" {
		d.add("## " + escape(r.Title) + "\n\n")
	}
	d.add(r.headline() + "\n")
	r.problems(d)
	r.wrong(d)
	r.plan(d)
	_, err := io.WriteString(w, d.end())
	return err
}

// document is a text with a maximum length.
type document struct {
	strings.Builder
	limit, left int
}

// add adds a complete block, or records that the block was omitted.
func (d *document) add(block string) {
	if d.limit > 0 && (d.left > 0 || d.Len()+len(block) > d.limit-200) {
		d.left++
		return
	}
	d.WriteString(block)
}

func (d *document) end() string {
	if d.left > 0 {
		fmt.Fprintf(d, "\n_%d more; the log of the job has all._\n", d.left)
	}
	return d.String()
}

// headline returns the result in one line.
func (r *Report) headline() string {
	switch {
	case len(r.Failures) > 0:
		n := 0
		for i := range r.Failures {
			n += len(r.Failures[i].Problems)
		}
		if n > 0 {
			return fmt.Sprintf("❌ **%s**; nothing was stored.", plural(n, "problem"))
		}
		return "❌ **It could not be done.**"
	case r.Result != nil:
		return r.outcome()
	case r.Planned != nil:
		return planned(r.Planned)
	case r.Status != nil:
		return r.state()
	case len(r.Wrong) > 0:
		return fmt.Sprintf("❌ **%s** with problems.", plural(len(r.Wrong), "resource"))
	}
	return "✅ No problems."
}

// plannedText summarizes a plan, without markup.
func plannedText(n map[string]int) string { return strings.ReplaceAll(planned(n), "**", "") }

// planned summarizes a plan.
func planned(n map[string]int) string {
	var parts []string
	same := n["none"] - n["reload"] - n["differs"] - n["move"] - n["later"]
	if n["replace"] > 0 {
		n = maps.Clone(n)
		n["update"] -= n["replace"]
	}
	for _, p := range []struct{ action, text string }{{"create", "to create"},
		{"update", "to update"}, {"replace", "to replace"}, {"reload", "to reload"}, {"move", "to move"}, {"delete", "to delete"},
		{"orphan", "left the documents and stay as they are"}, {"undefined", "undefined"},
		{"differs", "only compared, and different"}, {"later", "known after others change"},
		{"failed", "would fail, or could not be read"}} {
		if n[p.action] > 0 {
			parts = append(parts, fmt.Sprintf("**%d** %s", n[p.action], p.text))
		}
	}
	if len(parts) == 0 {
		return fmt.Sprintf("✅ Nothing would change; %s as described.",
			plural(same, "resource"))
	}
	return "📋 " + strings.Join(parts, ", ") + fmt.Sprintf("; %d stay as they are.", same)
}

// outcome summarizes an export or apply.
func (r *Report) outcome() string {
	o := r.Result
	mark, counts := counted(o.Counts)
	text := fmt.Sprintf("%s Version %d of %s: %s, %d changed, %d removed", mark, o.Version,
		code(o.Environment), plural(o.Resources, "resource"), o.Changed, o.Removed)
	if o.Repaired > 0 {
		text += fmt.Sprintf(", %d repaired", o.Repaired)
	}
	if o.Recovered > 0 {
		text += fmt.Sprintf(", %d recovered", o.Recovered)
	}
	return fmt.Sprintf("%s. Now %s (%.1f s).", text, counts, float64(o.DurationMS)/1000)
}

// counted returns the numbers of resources by status, and a mark that shows whether any of them has
// a problem.
func counted(counts map[state.Status]int) (mark, text string) {
	mark = "✅"
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		n := counts[status]
		if n == 0 {
			continue
		}
		if isWrong(status) {
			mark = "❌"
		}
		parts = append(parts, fmt.Sprintf("**%d** %s", n, status))
	}
	return mark, strings.Join(parts, ", ")
}

// state summarizes the status of an environment.
func (r *Report) state() string {
	s := r.Status
	mark, counts := counted(s.Counts)
	if counts == "" {
		counts = "nothing there"
	}
	text := fmt.Sprintf("%s Version %d of %s: %s", mark, s.Version, code(s.Environment), counts)
	if s.Scheduled > 0 {
		text += fmt.Sprintf("; **%d** to do", s.Scheduled)
	}
	if s.Halted {
		text += "; halted"
	}
	return text + "."
}

func (r *Report) problems(d *document) {
	if len(r.Failures) == 0 {
		return
	}
	d.add("\n| place | problem |\n|---|---|\n")
	for _, f := range r.findings() {
		if f.Resource != "" && f.Check != "document" {
			continue // shown in another table
		}
		at := f.Pos.String()
		if at != "" {
			at = code(at)
		}
		d.add(fmt.Sprintf("| %s | %s |\n", at, cell(f.text())))
	}
}

func (r *Report) wrong(d *document) {
	if len(r.Wrong) == 0 {
		return
	}
	d.add("\n| resource | status | reason |\n|---|---|---|\n")
	for _, causes := range []bool{true, false} { // root causes first
		for _, g := range r.wrongs() {
			if w := &r.Wrong[g[0]]; severe(w) == causes {
				same := Same(agentsOf(g, func(i int) resource.ID { return r.Wrong[i].ID }))
				d.add(fmt.Sprintf("| %s%s | %s | %s |\n", code(string(w.ID)), cell(same), w.Status,
					cell(w.Reason)))
			}
		}
	}
}

// mark returns the prefix of a step in a diff.
func mark(word string) string {
	marks := map[string]string{"create": "+", "update": "!", "replace": "!", "reload": "!", "later": "?", "move": "#",
		"delete": "-", "orphan": "#", "undefined": "?", "failed": "x"}
	return marks[word]
}

// plan shows the changes and the expected failures of a plan.
func (r *Report) plan(d *document) {
	steps, shown := r.steps(), 0
	for _, g := range steps {
		shown += len(g)
	}
	if shown == 0 {
		return
	}
	d.add(fmt.Sprintf("\n<details%s><summary>%s</summary>\n", open(len(steps)),
		plural(shown, "resource")))
	for _, g := range steps {
		d.add("\n" + fence(r.step(g), "diff"))
	}
	d.WriteString("\n</details>\n") // also when the list was truncated
}

// step shows the planned change of a resource, as lines of a diff.
func (r *Report) step(g Folded) string {
	s := &r.Plan[g[0]]
	word := s.Word()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s%s\n", mark(word), word,
		diffview.Visible(string(s.ID), ""),
		Same(agentsOf(g, func(i int) resource.ID { return r.Plan[i].ID })))
	if s.CreateFirst {
		b.WriteString("# a new one is created, then the old one is deleted\n")
	}
	if s.Reason != "" {
		fmt.Fprintf(&b, "# %s\n", strings.ReplaceAll(s.Reason, "\n", "\n# "))
	}
	changes := s.Changes
	if len(s.KnownAfter) > 0 {
		changes = diffview.KnownAfterApply(changes)
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		b.WriteString(changed(name, changes[name]))
	}
	if text := deploy.MayChangeText(s.KnownAfter); text != "" && text != s.Reason {
		fmt.Fprintf(&b, "# %s\n", diffview.Visible(text, ""))
	}
	for _, id := range s.ReloadFor {
		fmt.Fprintf(&b, "# reloads, since %s changes\n", diffview.Visible(string(id), ""))
	}
	return b.String()
}

// open returns the attribute that expands short lists initially.
func open(n int) string {
	if n <= 10 {
		return " open"
	}
	return ""
}

// changed shows the difference in an attribute, as lines of a diff.
func changed(name string, d diff.Diff) string {
	text := diffview.Style{}.Change(name, d)
	head := diffview.Visible(name, "") + ":\n"
	if diff, several := strings.CutPrefix(text, head); several {
		return "    " + head + strings.ReplaceAll("\n"+diff, "\n  ", "\n")[1:]
	}
	var b strings.Builder
	switch secret := d.Current == diff.Redacted || d.Desired == diff.Redacted; {
	case secret && d.Desired == nil:
		b.WriteString("-   " + text)
	case secret && d.Current == nil:
		b.WriteString("+   " + text)
	case secret:
		b.WriteString("!   " + text)
	default:
		if d.Current != nil {
			b.WriteString("-   " + diffview.Style{}.Change(name, diff.Diff{Desired: d.Current}))
		}
		if d.Desired != nil {
			b.WriteString("+   " + diffview.Style{}.Change(name, diff.Diff{Desired: d.Desired}))
		}
	}
	return b.String()
}

// fence makes a code block that its text cannot terminate.
func fence(text, language string) string {
	ticks := "```"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	return ticks + language + "\n" + strings.TrimRight(text, "\n") + "\n" + ticks + "\n"
}

// code formats a text as inline code.
func code(s string) string {
	return "<code>" + strings.ReplaceAll(escape(s), "\n", " ") + "</code>"
}

// cell escapes a text for a table cell.
func cell(s string) string { return strings.ReplaceAll(escape(s), "\n", "<br>") }

// escape escapes a text from documents or machines: the markup characters of HTML and Markdown, and
// @, which would notify people.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "\r", "",
		"\\", "&#92;", "`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;",
		"]", "&#93;", "~", "&#126;", "@", "&#64;", "#", "&#35;", "!", "&#33;", "://", "&#58;//").
		Replace(s)
}
