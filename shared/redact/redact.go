// Package redact takes secrets out of texts, also in the forms in which programs and protocols
// write them, and where a text was cut in the middle of one.
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// shortest is the shortest secret that is taken out: what is shorter is part of too many words.
	shortest = 3
	// shortestInside is from how many bytes on a secret is looked for within what is encoded in
	// base64, where it has no clear borders.
	shortestInside = 6
	// shortestBroken is from how many characters on a form is looked for also where it is broken
	// into lines or groups: a shorter one may be put together of other words.
	shortestBroken = 12
	// shortestPart is from how many characters on a part of such a form is looked for.
	shortestPart = 16
	// longestEncoded is the longest secret of which encoded forms are looked for.
	longestEncoded = 64 << 10
	// Ellipsis stands where a text was cut.
	ellipsis = "…"
)

// inHTML escapes for HTML, with each way to write quotes. Making these takes longer than using them.
var inHTML = []*strings.Replacer{
	html("&quot;", "&#39;"), html("&quot;", "&#x27;"), html("&#34;", "&#39;"),
	html("&quot;", "'"), html(`"`, "'"),
}

func html(double, single string) *strings.Replacer {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, double, "'", single)
}

// asComponent leaves what encodeURIComponent leaves.
var asComponent = strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")

// encoded returns a secret as JSON, Go, shells, URLs, HTML, hexadecimal digits and base64 have it.
func encoded(s string) []string {
	if len(s) > longestEncoded {
		return nil
	}
	quoted := fmt.Sprintf("%q", s)
	out := []string{
		quoted[1 : len(quoted)-1], everyByte(s), lowerPercent(everyByte(s)),
		strings.ReplaceAll(s, `"`, `""`), // as CSV
		backslashedSigns(s),
		strings.ReplaceAll(s, "'", `'\''`), strings.ReplaceAll(s, "'", `'"'"'`),
		strings.ReplaceAll(s, "'", `\'`), backslashed(s, "\"$`\\"), backslashed(s, shellSpecial),
	}
	for _, form := range inHTML {
		out = append(out, form.Replace(s))
	}
	for _, text := range []string{inJSON(s, true), inJSON(s, false),
		inJSON(inJSON(s, true), true), inJSON(inJSON(s, false), false)} {
		ascii := inASCII(text)
		out = append(out, text, ascii, slashed(text), slashed(ascii))
	}
	for _, text := range inURLs(s) {
		out = append(out, text, lowerPercent(text))
	}
	return out
}

// broken returns the forms of s that programs break into lines, or into groups of digits.
func broken(s string) []string {
	if len(s) > longestEncoded {
		return nil
	}
	digits := hex.EncodeToString([]byte(s))
	return append(inBase64(s), digits, strings.ToUpper(digits))
}

// inURLs returns a secret as programs write it in URLs, which escape more or less of it.
func inURLs(s string) []string {
	query := url.QueryEscape(s)
	strict := strings.ReplaceAll(query, "+", "%20")
	return []string{
		url.PathEscape(s), query, strict,
		strings.ReplaceAll(strict, "%2F", "/"), // as Python's quote
		asComponent.Replace(strict),
	}
}

// inASCII escapes what is not ASCII in a text of JSON, as Python's json does.
func inASCII(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// slashed escapes the slashes of a text of JSON, as PHP does.
func slashed(text string) string { return strings.ReplaceAll(text, "/", `\/`) }

// shellSpecial is what bash puts a backslash in front of (printf %q).
const shellSpecial = " \t!\"#$&'()*,;<>?[\\]^`{|}~"

func backslashed(s, special string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(special, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// backslashedSigns puts a backslash before each character that is no letter and no digit.
func backslashedSigns(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf && !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' ||
			r >= 'A' && r <= 'Z') {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func inJSON(s string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(s); err != nil {
		return ""
	}
	text := strings.TrimSuffix(b.String(), "\n")
	return text[1 : len(text)-1]
}

// everyByte writes each byte as an escape of a URL.
func everyByte(s string) string {
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, 3*len(s))
	for i := range len(s) {
		b = append(b, '%', digits[s[i]>>4], digits[s[i]&15])
	}
	return string(b)
}

// lowerPercent writes the digits of the escapes of a URL in lower case.
func lowerPercent(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// inBase64 returns what base64 has of a secret, in both alphabets: by itself, and within something
// longer, as in "user:secret", where it may begin at any of three places of a group.
func inBase64(s string) []string {
	var out []string
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		whole := enc.EncodeToString([]byte(s))
		out = append(out, whole, strings.TrimRight(whole, "="))
		if len(s) < shortestInside {
			continue
		}
		for before := range 3 {
			all := enc.EncodeToString(append(make([]byte, before), s...))
			first := (before*8 + 5) / 6 // the characters before have bits of something else
			out = append(out, all[first:], strings.TrimRight(all, "=")[first:],
				all[first:(before+len(s))*8/6])
		}
	}
	return out
}

// URL puts mark in the place of who logs in, in what looks like a URL.
func URL(text, mark string) string {
	from := 0
	for {
		i := strings.Index(text[from:], "://")
		if i < 0 {
			return text
		}
		from += i + len("://")
		host := text[from:]
		if end := strings.IndexAny(host, "/?# \t\r\n"); end >= 0 &&
			strings.IndexByte(host[:end], '@') >= 0 {
			host = host[:end] // else the password itself may have such a character
		}
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			text = text[:from] + mark + host[at:] + text[from+len(host):]
			from += len(mark)
		}
	}
}

// Clean puts mark in the place of each secret in a text, and of the parts of one that are left
// where the text was cut.
func (s *Set) Clean(text, mark string) string {
	all := s.ready()
	if len(all) == 0 {
		return text
	}
	for _, f := range all.within(text, plainForms) {
		if strings.Contains(text, f) {
			text = strings.ReplaceAll(text, f, mark)
		}
	}
	text = all.cleanParts(all.cleanBroken(text, mark), mark)
	if !strings.Contains(text, ellipsis) {
		return text
	}
	parts := strings.Split(text, ellipsis)
	for i := range parts {
		if i > 0 {
			parts[i] = all.cutBefore(parts[i], mark)
		}
		if i < len(parts)-1 {
			parts[i] = all.cutAfter(parts[i], mark)
		}
	}
	return strings.Join(parts, ellipsis)
}

// cleanBroken replaces forms between whose characters there are others that only break them into
// lines or groups of digits.
func (all runs) cleanBroken(text, mark string) string {
	if !strings.ContainsAny(text, breaks) {
		return text
	}
	joined := join(text, nil)
	for _, f := range all.within(joined, denseForms) {
		if strings.Contains(joined, f) {
			text = replaceBroken(text, joined, f, mark)
			joined = join(text, nil)
		}
	}
	return text
}

// cleanParts replaces parts of forms that stand alone, as where only one line of several is shown.
func (all runs) cleanParts(text, mark string) string {
	var b strings.Builder
	done := 0
	for from := 0; from < len(text); {
		to := from
		for to < len(text) && isDense(text[to]) {
			to++
		}
		if to-from >= shortestPart {
			if i, j := all.part(text[from:to]); j > i {
				b.WriteString(text[done : from+i])
				b.WriteString(mark)
				done = from + j
			}
		}
		from = to + 1
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// isDense reports whether a byte may be one of base64 or of hexadecimal digits.
func isDense(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
		strings.IndexByte("+/=_-", c) >= 0
}

// replaceBroken puts mark in place of each f in a text, given that text as join leaves it.
func replaceBroken(text, joined, f, mark string) string {
	var at []int
	join(text, &at)
	var b strings.Builder
	done := 0 // bytes of text
	for from := 0; ; {
		i := strings.Index(joined[from:], f)
		if i < 0 {
			b.WriteString(text[done:])
			return b.String()
		}
		from += i + len(f)
		b.WriteString(text[done:at[from-len(f)]])
		b.WriteString(mark)
		done = at[from-1] + 1
	}
}

// breaks stand between parts of what is encoded: base64 in lines, also as JSON writes them, and
// digits as xxd, od and openssl group them.
const breaks = " \t\r\n:,-"

// join leaves breaks, and what stands before digits, such as 0x, out of a text. at, unless it is nil,
// becomes where each byte that is left stood.
func join(text string, at *[]int) string {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		next := byte(0)
		if i+1 < len(text) {
			next = text[i+1]
		}
		switch {
		case strings.IndexByte(breaks, c) >= 0:
		case c == '\\' && (next == 'n' || next == 'r' || next == 'x'), c == '0' && next == 'x':
			i++
		default:
			if out = append(out, c); at != nil {
				*at = append(*at, i)
			}
		}
	}
	return string(out)
}

// cutBefore takes the end of a secret from the start of a text.
func (all runs) cutBefore(text, mark string) string {
	lead := len(text) - len(strings.TrimLeft(text, " "))
	rest := text[lead:]
	if n := all.endsIn(rest); n > 0 {
		return text[:lead] + mark + rest[n:]
	}
	return text
}

// cutAfter takes the start of a secret from the end of a text.
func (all runs) cutAfter(text, mark string) string {
	rest := strings.TrimRight(text, " ")
	if n := all.beginsIn(rest); n > 0 {
		return rest[:len(rest)-n] + mark + text[len(rest):]
	}
	return text
}
