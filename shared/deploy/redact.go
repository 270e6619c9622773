package deploy

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"southbound/shared/diffview"
	"southbound/shared/plan"
	"southbound/shared/resource"
)

// Secret implements provider.Host.
func (h *host) Secret(value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
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
	if len(h.hidden) == 0 {
		return
	}
	for i := range h.lines {
		h.lines[i].Msg = h.redact(h.lines[i].Msg)
		for k, v := range h.lines[i].Kwargs {
			h.lines[i].Kwargs[k] = h.redactAny(v)
		}
	}
}

// redact replaces secrets in a text and bounds its length.
func (h *host) redact(s string) string { return shorten(h.clean(s), mostText) }

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

// redactAny removes secrets from a value that is as provider.Plain makes it.
func (h *host) redactAny(v any) any {
	switch v := v.(type) {
	case nil, bool, int64, float64, *big.Int:
		return v
	case string:
		return h.redact(v)
	case resource.File:
		return map[string]any{"file": v.Hash, "size": v.Size}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = h.redactAny(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[h.redact(k)] = h.redactAny(e)
		}
		return out
	}
	return h.redact(fmt.Sprint(v))
}

// redactDiff returns differences in a form that may be stored and shown. texts, when not nil, gives files as texts.
func (h *host) redactDiff(diffs map[string]plan.Diff, texts fileTexts) map[string]plan.Diff {
	out := make(map[string]plan.Diff, len(diffs))
	for name, d := range diffs {
		if h.hidden[name] {
			out[name] = plan.Diff{Current: hideValue(d.Current), Desired: hideValue(d.Desired)}
			continue
		}
		shown := plan.Diff{Current: h.shown(d.Current), Desired: h.shown(d.Desired)}
		shown.Unified = h.unified(d, texts)
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
func (h *host) unified(d plan.Diff, texts fileTexts) string {
	most := mostUnified
	if h.whole {
		most = mostWhole
	}
	if d.Unified != "" {
		return cutLines(h.clean(d.Unified), most)
	}
	if diff, ofFiles := h.unifiedFiles(d, texts); ofFiles {
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
	return cutLines(diffview.Of(h.redactAny(d.Current), h.redactAny(d.Desired)), most)
}

// unifiedFiles is unified where one of the values is a file. It returns "" if they are not both
// texts that can be had, as values tell them apart then.
func (h *host) unifiedFiles(d plan.Diff, texts fileTexts) (diff string, ofFiles bool) {
	_, one := d.Current.(resource.File)
	_, other := d.Desired.(resource.File)
	if !one && !other {
		return "", false
	}
	if texts == nil || (d.Current == nil || d.Desired == nil) && !h.whole {
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
func (h *host) shown(v any) any {
	most := mostValue
	if h.whole {
		most = mostWhole
	}
	switch v := v.(type) {
	case string:
		return shorten(h.clean(v), most)
	case []any, map[string]any:
		out := h.redactAny(v)
		if b, err := json.Marshal(out); err == nil && len(b) > most {
			return shorten(string(b), most)
		}
		return out
	}
	return h.redactAny(v)
}
