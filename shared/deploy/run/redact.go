package run

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"southbound/shared/diff"
	"southbound/shared/diffview"
	"southbound/shared/redact"
	"southbound/shared/resource"
)

// Redactor removes secrets from values that are shown or stored, and bounds their length. It is
// safe for concurrent use, except for Hide.
type Redactor struct {
	guard   sync.Mutex // of secrets
	secrets redact.Set
	hidden  map[string]bool // attributes whose values are not shown
}

// NewRedactor returns a Redactor without secrets.
func NewRedactor() *Redactor { return &Redactor{} }

// clone returns a copy with the same secrets.
func (d *Redactor) clone() *Redactor {
	d.guard.Lock()
	defer d.guard.Unlock()
	return &Redactor{secrets: d.secrets.Clone(), hidden: maps.Clone(d.hidden)}
}

// add registers a secret.
func (d *Redactor) add(secret string) {
	d.guard.Lock()
	defer d.guard.Unlock()
	d.secrets.Add(secret)
}

// Hide keeps the values of an attribute out of changes.
func (d *Redactor) Hide(attribute string) {
	if d.hidden == nil {
		d.hidden = map[string]bool{}
	}
	d.hidden[attribute] = true
}

// redact replaces secrets in a text and bounds its length.
func (d *Redactor) redact(s string) string { return d.cleanTo(s, maxText) }

// cleanTo is redact with another bound.
func (d *Redactor) cleanTo(s string, limit int) string { return shorten(d.clean(s), limit) }

// clean replaces secrets in a text.
func (d *Redactor) clean(s string) string {
	d.guard.Lock()
	defer d.guard.Unlock()
	return d.secrets.Clean(s, redacted)
}

func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + fmt.Sprintf("… (%d bytes)", len(s))
}

// Cut reports whether a value in the changes of an action was truncated. It returns the kept
// beginning and the full size in bytes, that of the JSON form if the value is not a text.
func Cut(v any) (kept string, size int, is bool) {
	text, _ := v.(string)
	at := strings.LastIndex(text, "… (")
	if at < maxValue-utf8.UTFMax {
		return "", 0, false
	}
	digits, ends := strings.CutSuffix(text[at+len("… ("):], " bytes)")
	size, err := strconv.Atoi(digits)
	return text[:at], size, ends && err == nil && size > at
}

// CutLines returns how many lines were left out of a unified diff in the changes of an action.
func CutLines(diff string) int {
	last := diff[strings.LastIndexByte(strings.TrimSuffix(diff, "\n"), '\n')+1:]
	digits, ends := strings.CutSuffix(strings.TrimPrefix(last, "\\ "), " more lines\n")
	n, err := strconv.Atoi(digits)
	if !ends || err != nil {
		return 0
	}
	return n
}

// redactAny removes secrets from a value in the form of provider.Plain.
func (d *Redactor) redactAny(v any) any { return d.redactTo(v, maxText) }

// redactTo is redactAny with another bound of each text.
func (d *Redactor) redactTo(v any, limit int) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case int64, float64, *big.Int:
		if text := fmt.Sprint(v); d.clean(text) != text {
			return redacted // a secret may be a number
		}
		return v
	case string:
		return d.cleanTo(v, limit)
	case resource.File:
		return map[string]any{"file": v.Hash, "size": v.Size}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = d.redactTo(e, limit)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[d.cleanTo(k, limit)] = d.redactTo(e, limit)
		}
		return out
	}
	return d.cleanTo(fmt.Sprint(v), limit)
}

// cleanData replaces secrets in a JSON value. If a secret spans several parts of the value, the whole
// value is replaced.
func (d *Redactor) cleanData(v resource.Data) (resource.Data, error) {
	out, err := resource.DataOf(d.redactTo(v.Value(), math.MaxInt))
	if err == nil && !out.IsText() && d.clean(out.JSON()) != out.JSON() {
		out = resource.TextData(redacted)
	}
	return out, err
}

// Diffs returns differences in a form that may be shown and, unless whole is set, stored. texts,
// when not nil, supplies the texts of files.
func (d *Redactor) Diffs(diffs map[string]diff.Diff, texts Texts,
	whole bool) map[string]diff.Diff {
	out := make(map[string]diff.Diff, len(diffs))
	for name, of := range diffs {
		if d.hidden[name] {
			out[name] = diff.Diff{Current: hideValue(of.Current), Desired: hideValue(of.Desired)}
			continue
		}
		shown := diff.Diff{Current: d.shown(of.Current, whole), Desired: d.shown(of.Desired, whole)}
		shown.Unified = d.unified(of, texts, whole)
		out[name] = shown
	}
	return out
}

func hideValue(v any) any {
	if v == nil {
		return nil
	}
	return redacted
}

// unified returns the difference as a unified diff, if that shows more than the truncated values.
func (d *Redactor) unified(of diff.Diff, texts Texts, whole bool) string {
	limit, inside := maxUnified, maxText
	if whole {
		limit, inside = maxWhole, maxWhole
	}
	if of.Unified != "" {
		return cutLines(d.clean(of.Unified), limit)
	}
	if diff, ofFiles := d.unifiedFiles(of, texts, whole); ofFiles {
		return cutLines(diff, limit)
	}
	if of.Current == nil || of.Desired == nil {
		return ""
	}
	now, isText := of.Current.(string)
	wanted, both := of.Desired.(string)
	if isText && both {
		return cutLines(diffview.Of(d.clean(now), d.clean(wanted)), limit)
	}
	return cutLines(
		diffview.Of(d.redactTo(of.Current, inside), d.redactTo(of.Desired, inside)),
		limit,
	)
}

// unifiedFiles is unified for values of which at least one is a file. It returns "" if they are not
// both available texts: then the values show the difference.
func (d *Redactor) unifiedFiles(of diff.Diff, texts Texts, whole bool) (diff string, ofFiles bool) {
	_, one := of.Current.(resource.File)
	_, other := of.Desired.(resource.File)
	if !one && !other {
		return "", false
	}
	if texts == nil || (of.Current == nil || of.Desired == nil) && !whole {
		return "", true
	}
	now, isText := texts.of(of.Current)
	wanted, both := texts.of(of.Desired)
	if !isText || !both {
		return "", true
	}
	return diffview.Unified(d.clean(now), d.clean(wanted)), true
}

// UnifiedFiles returns the unified diff of two files with these texts, with the length limit of
// changes.
func UnifiedFiles(current, desired string, whole bool) string {
	if whole {
		return cutLines(diffview.Unified(current, desired), maxWhole)
	}
	return cutLines(diffview.Unified(current, desired), maxUnified)
}

// cutLines bounds the length of a unified diff.
func cutLines(diff string, limit int) string {
	if len(diff) <= limit {
		return diff
	}
	kept := diff[:strings.LastIndexByte(diff[:limit], '\n')+1]
	return kept + fmt.Sprintf("\\ %d more lines\n", strings.Count(diff[len(kept):], "\n"))
}

// shown returns a value in the form for changes: without secrets and bounded in length.
func (d *Redactor) shown(v any, whole bool) any {
	limit, inside := maxValue, maxText
	if whole {
		limit, inside = maxWhole, maxWhole
	}
	switch v := v.(type) {
	case string:
		return d.cleanTo(v, limit)
	case []any, map[string]any:
		out := d.redactTo(v, inside)
		if b, err := json.Marshal(out); err == nil && len(b) > limit {
			return shorten(string(b), limit)
		}
		return out
	}
	return d.redactAny(v)
}
