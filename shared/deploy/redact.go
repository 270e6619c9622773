package deploy

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"southbound/shared/diffview"
	"southbound/shared/plan"
	"southbound/shared/resource"
)

// Secret implements provider.Host.
func (h *host) Secret(value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.late = h.late || len(h.lines) > 0
	h.secrets.Add(value)
}

// secretsIn registers every text in v as a secret.
func (h *host) secretsIn(v any) {
	switch v := v.(type) {
	case string:
		h.Secret(v)
	case []any:
		for _, e := range v {
			h.secretsIn(e)
		}
	case map[string]any:
		for _, e := range v {
			h.secretsIn(e)
		}
	}
}

// hide keeps the values of an attribute out of changes.
func (h *host) hide(attribute string) {
	if h.hidden == nil {
		h.hidden = map[string]bool{}
	}
	h.hidden[attribute] = true
}

// redactLines removes secrets from log lines that were logged before these secrets were known.
func (h *host) redactLines() {
	if len(h.hidden) == 0 && !h.late {
		return
	}
	h.late = false
	for i := range h.lines {
		h.lines[i].Msg = h.redact(h.lines[i].Msg)
		for k, v := range h.lines[i].Kwargs {
			h.lines[i].Kwargs[k] = h.redactAny(v)
		}
	}
}

// redact replaces secrets in a text and bounds its length.
func (h *host) redact(s string) string { return h.cleanTo(s, mostText) }

// cleanTo is redact with another bound.
func (h *host) cleanTo(s string, most int) string { return shorten(h.clean(s), most) }

// clean replaces secrets in a text.
func (h *host) clean(s string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.secrets.Clean(s, redacted)
}

func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("… (%d bytes)", len(s))
}

// Cut tells of a value in the changes of an action whether only its beginning was kept: that, and
// how many bytes the value had, as JSON if it is not a text.
func Cut(v any) (kept string, size int, is bool) {
	text, _ := v.(string)
	at := strings.LastIndex(text, "… (")
	if at < mostValue-utf8.UTFMax {
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

// redactAny removes secrets from a value that is as provider.Plain makes it.
func (h *host) redactAny(v any) any { return h.redactTo(v, mostText) }

// redactTo is redactAny with another bound of each text.
func (h *host) redactTo(v any, most int) any {
	switch v := v.(type) {
	case nil, bool, int64, float64, *big.Int:
		return v
	case string:
		return h.cleanTo(v, most)
	case resource.File:
		return map[string]any{"file": v.Hash, "size": v.Size}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = h.redactTo(e, most)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[h.cleanTo(k, most)] = h.redactTo(e, most)
		}
		return out
	}
	return h.cleanTo(fmt.Sprint(v), most)
}

// redactDiff returns differences in a form that may be shown and, unless they are whole, stored. texts,
// when not nil, gives files as texts.
func (h *host) redactDiff(diffs map[string]plan.Diff, texts fileTexts,
	whole bool) map[string]plan.Diff {
	out := make(map[string]plan.Diff, len(diffs))
	for name, d := range diffs {
		if h.hidden[name] {
			out[name] = plan.Diff{Current: hideValue(d.Current), Desired: hideValue(d.Desired)}
			continue
		}
		shown := plan.Diff{Current: h.shown(d.Current, whole), Desired: h.shown(d.Desired, whole)}
		shown.Unified = h.unified(d, texts, whole)
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

// unified returns the difference as one of texts where that tells more than the values, which are
// cut.
func (h *host) unified(d plan.Diff, texts fileTexts, whole bool) string {
	most, inside := mostUnified, mostText
	if whole {
		most, inside = mostWhole, mostWhole
	}
	if d.Unified != "" {
		return cutLines(h.clean(d.Unified), most)
	}
	if diff, ofFiles := h.unifiedFiles(d, texts, whole); ofFiles {
		return cutLines(diff, most)
	}
	if d.Current == nil || d.Desired == nil {
		return ""
	}
	now, isText := d.Current.(string)
	wanted, both := d.Desired.(string)
	if isText && both {
		return cutLines(diffview.Of(h.clean(now), h.clean(wanted)), most)
	}
	return cutLines(diffview.Of(h.redactTo(d.Current, inside), h.redactTo(d.Desired, inside)), most)
}

// unifiedFiles is unified where one of the values is a file. It returns "" if they are not both
// texts that can be had, as values tell them apart then.
func (h *host) unifiedFiles(d plan.Diff, texts fileTexts, whole bool) (diff string, ofFiles bool) {
	_, one := d.Current.(resource.File)
	_, other := d.Desired.(resource.File)
	if !one && !other {
		return "", false
	}
	if texts == nil || (d.Current == nil || d.Desired == nil) && !whole {
		return "", true
	}
	now, isText := texts.of(d.Current)
	wanted, both := texts.of(d.Desired)
	if !isText || !both {
		return "", true
	}
	return diffview.Unified(h.clean(now), h.clean(wanted)), true
}

// UnifiedFiles returns the unified diff of two files with these texts, as long as changes have it.
func UnifiedFiles(current, desired string, whole bool) string {
	if whole {
		return cutLines(diffview.Unified(current, desired), mostWhole)
	}
	return cutLines(diffview.Unified(current, desired), mostUnified)
}

// cutLines bounds the length of a unified diff.
func cutLines(diff string, most int) string {
	if len(diff) <= most {
		return diff
	}
	kept := diff[:strings.LastIndexByte(diff[:most], '\n')+1]
	return kept + fmt.Sprintf("\\ %d more lines\n", strings.Count(diff[len(kept):], "\n"))
}

// shown returns a value as it may stand in changes: without secrets and bounded in length.
func (h *host) shown(v any, whole bool) any {
	most, inside := mostValue, mostText
	if whole {
		most, inside = mostWhole, mostWhole
	}
	switch v := v.(type) {
	case string:
		return h.cleanTo(v, most)
	case []any, map[string]any:
		out := h.redactTo(v, inside)
		if b, err := json.Marshal(out); err == nil && len(b) > most {
			return shorten(string(b), most)
		}
		return out
	}
	return h.redactAny(v)
}
