package fs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"southbound/handlers/internal/textfile"

	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

const defaultMarker = "# {mark} {name}"

// Line declares fs::Line: a line, or a block of lines between two markers, in a text file. The
// resource does not manage the file's other lines.
func Line() provider.Definition {
	const pattern = "Optional[String[1]]"
	const oneLine = `Pattern[/\A[^\r\n]+\z/]`
	return provider.Definition{
		Type: schema.Type{
			Name: "fs::Line",
			Description: "A line, or a block of lines between two markers, in a text file. Everything else " +
				"stays: all other bytes, line ends, a missing last line end, owner, mode and extended " +
				"attributes. A symbolic link is refused, and so is a file whose content an fs::File " +
				"describes without replace: false. line or block is required, except for a purge. A " +
				"purge removes lines equal to line; without line, lines that match; without both, the " +
				"block between the markers of name.",
			Attributes: []schema.Attribute{
				pathAttribute(),
				{Name: "name", Type: oneLine, Behaviour: schema.Namevar,
					Description: "a name, unique in the file; it is part of a block's markers"},
				{Name: "line", Type: `Optional[Pattern[/\A[^\r\n]*\z/]]`,
					Description: "the whole line, without its line end"},
				{Name: "block", Type: "Optional[String]",
					Description: "the lines between the markers"},
				{Name: "match", Type: pattern, Behaviour: schema.Parameter,
					Description: "a regular expression (RE2): line replaces the line that it matches; if none " +
						"matches and none is equal, line is inserted"},
				{Name: "multiple", Type: "Enum[refuse,first,last,all,single]", Default: "refuse",
					Behaviour: schema.Parameter,
					Description: "if match matches several lines: refuse; replace the first, the last or all; " +
						"or single: replace the first and remove the rest"},
				{Name: "after", Type: pattern, Behaviour: schema.Parameter,
					Description: "a regular expression: insert after the last line that it matches; existing " +
						"lines are not moved"},
				{Name: "before", Type: pattern, Behaviour: schema.Parameter,
					Description: "a regular expression: insert before the first line that it matches"},
				{Name: "position", Type: "Enum[end,start]", Default: "end",
					Behaviour:   schema.Parameter,
					Description: "the place of an insertion without after and before"},
				{Name: "marker", Type: oneLine, Default: defaultMarker, Behaviour: schema.Parameter,
					Description: "the lines before and after a block, with {mark} for BEGIN and " +
						"END: \"<!-- {mark} {name} -->\""},
				createAttribute(),
				backupAttribute("replaces"),
				validateAttribute(),
				{Name: "extra", Type: "Optional[Integer[1]]", Behaviour: schema.ReadOnly,
					Description: "number of matching lines besides the single desired one"},
			},
			Features:  []string{"batch", "noop"},
			Machine:   true,
			Validate:  validLine,
			Relations: lineRelations(),
			Thing:     lineThing,
			Keeps:     keepsFile,
			Within:    pathName,
			Space:     atPath,
		},
		Handler: newLine(textfile.Editor{}),
	}
}

// lineThing names the managed lines by the property that finds them in the file: their text, the
// matching expression, or the markers around them.
func lineThing(attrs map[string]any) schema.Thing {
	path, known := attrs["path"].(string)
	if !known || path == "" {
		return schema.Thing{}
	}
	path = schema.CleanPath(path)
	line, isLine := attrs["line"].(string)
	match, isMatch := attrs["match"].(string)
	var names []string
	if isLine {
		names = append(names, fmt.Sprintf("the line %q of %s", line, path))
	}
	if isMatch {
		names = append(names, fmt.Sprintf("the line of %s that matches %s", path, match))
	}
	if attrs["line"] == nil && attrs["match"] == nil {
		r, err := ruleOf(provider.Resource{Attributes: map[string]any{"name": attrs["name"],
			"marker": attrs["marker"], "block": ""}})
		if err != nil {
			return schema.Thing{}
		}
		names = append(names, fmt.Sprintf("the block after %q in %s", r.markers.Begin, path))
	}
	return schema.NewThing(names...)
}

// lineRelations makes a line require its file, and the file's directory, if they are managed.
func lineRelations() []schema.Relation {
	file := map[string]string{"path": "$path"}
	return append(parentRelations(), schema.Relation{Kind: schema.Require, Type: "fs::File",
		Keys: file})
}

func validLine(attrs map[string]any) []diag.Problem {
	out := slices.Concat(validPath(false)(attrs), validBackup(attrs), validCheck(attrs))
	add := func(attribute, hint, format string, args ...any) {
		out = append(out, diag.Problem{Attribute: attribute, Message: fmt.Sprintf(format, args...),
			Hint: hint})
	}
	for _, name := range []string{"match", "after", "before"} {
		if s, ok := attrs[name].(string); ok {
			if _, err := regexp.Compile(s); err != nil {
				add(name,
					"RE2 has neither look-around nor references back; the line is matched "+
						"without its end", "the regular expression cannot be used: %v", err)
			}
		}
	}
	switch {
	case attrs["block"] != nil && attrs["line"] != nil:
		add("block", "make two resources of it", "a block and a line cannot be one resource")
	case attrs["block"] != nil && attrs["match"] != nil:
		add("match", "leave it out", "a block is found by its markers, not by match")
	// Problems of line are ignored if the resource is purged and does not set line.
	case attrs["block"] == nil && attrs["line"] == nil && attrs["match"] == nil:
		add("line", "give line or block; purged: true removes the block of this name",
			"neither line nor block is set")
	case attrs["block"] == nil && attrs["line"] == nil:
		add("line", "set line; purged: true removes the lines that match selects",
			"match selects a line, but line, its new text, is not set")
	}
	if attrs["after"] != nil && attrs["before"] != nil {
		add("before", "choose one", "after and before exclude each other")
	}
	if s, ok := attrs["marker"].(string); ok && !strings.Contains(s, "{mark}") {
		add("marker", defaultMarker,
			"the marker has no {mark}, so its begin and its end would be the same")
	}
	return out
}

// line is the handler of fs::Line.
type line struct{ textfile.Texts }

func newLine(e textfile.Editor) line {
	return line{textfile.Texts{Store: e, Place: pathOf, Observe: observeLine,
		Differs: lineDiffers, Change: changeLine, Manner: mannerOf}}
}

func observeLine(r provider.Resource, p *textfile.Page) (provider.Observation, error) {
	rule, err := ruleOf(r)
	if err != nil || !p.Exists {
		return provider.Observation{}, err
	}
	if p.Binary() {
		return provider.Observation{}, noText()
	}
	obs, err := rule.observe(p.Lines)
	return obs, rule.explain(err)
}

func noText() error {
	return provider.Errorf(provider.NeedsChange, "the file is not text: it has a zero byte in it")
}

func pathOf(r provider.Resource) string { return text(r, "path") }

// Diff implements provider.Differ.
func (line) Diff(
	_ *provider.Context, desired provider.Resource, observed provider.Observation,
) (map[string]diff.Diff, error) {
	return lineDifferences(desired, observed), nil
}

func lineDiffers(want provider.Resource, seen provider.Observation) bool {
	return len(lineDifferences(want, seen)) > 0
}

func lineDifferences(
	desired provider.Resource, observed provider.Observation,
) map[string]diff.Diff {
	out := differences(desired, observed, "line", "block")
	if n := observed.Attributes["extra"]; n != nil {
		if out == nil {
			out = map[string]diff.Diff{}
		}
		out["extra"] = diff.Diff{Current: n, Desired: int64(0)}
	}
	return out
}

// changeLine makes one change.
func changeLine(item provider.BatchChange, p *textfile.Page) error {
	rule, err := ruleOf(item.Resource)
	switch {
	case err != nil:
		return err
	case p.Binary():
		return noText()
	case item.Change == diff.Purged:
		return rule.drop(p.Lines)
	case !p.Exists && !rule.create:
		return provider.Errorf(provider.Retryable, "there is no file %s; %w", rule.path,
			textfile.ErrNoFile)
	}
	p.Exists = true
	return rule.explain(rule.put(p.Lines))
}
