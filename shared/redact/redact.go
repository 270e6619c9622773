// Package redact removes secrets from texts. It also finds secrets in the encodings that programs
// and protocols use, and secrets that were truncated.
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
	// shortest is the minimum length of a secret that is removed. Shorter ones occur in too many
	// words.
	shortest = 3
	// shortestInside is the minimum length in bytes of a secret that is searched for inside longer
	// base64 data, where its borders are not clear.
	shortestInside = 6
	// shortestBroken is the minimum length of a form that is also searched for when it is broken
	// into lines or groups. A shorter form may result from adjacent words by chance.
	shortestBroken = 12
	// shortestPart is the minimum length of a part of such a form that is searched for.
	shortestPart = 16
	// longestEncoded is the maximum length of a secret whose encoded forms are searched for.
	longestEncoded = 64 << 10
	// ellipsis marks the position at which a text was truncated.
	ellipsis = "…"
)

// inHTML escapes for HTML, with each way of escaping quotes. Creating a replacer takes longer than
// using it.
var inHTML = []*strings.Replacer{
	html("&quot;", "&#39;"), html("&quot;", "&#x27;"), html("&#34;", "&#39;"),
	html("&quot;", "'"), html(`"`, "'"),
}

func html(double, single string) *strings.Replacer {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, double, "'", single)
}

// asComponent restores the characters that encodeURIComponent does not escape.
var asComponent = strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")

// encoded returns the forms of a secret in JSON, Go, shells, URLs, HTML and CSV.
func encoded(s string) []string {
	if len(s) > longestEncoded {
		return nil
	}
	quoted := fmt.Sprintf("%q", s)
	out := []string{
		quoted[1 : len(quoted)-1], everyByte(s), lowerPercent(everyByte(s)),
		strings.ReplaceAll(s, `"`, `""`), // as in CSV
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

// broken returns the forms of s in base64 and hexadecimal digits, which programs break into lines
// or groups.
func broken(s string) []string {
	if len(s) > longestEncoded {
		return nil
	}
	digits := hex.EncodeToString([]byte(s))
	return append(inBase64(s), digits, strings.ToUpper(digits))
}

// inURLs returns the forms of a secret in URLs. Programs differ in the characters that they escape.
func inURLs(s string) []string {
	query := url.QueryEscape(s)
	strict := strings.ReplaceAll(query, "+", "%20")
	return []string{
		url.PathEscape(s), query, strict,
		strings.ReplaceAll(strict, "%2F", "/"), // as by quote of Python
		asComponent.Replace(strict),
	}
}

// inASCII escapes the non-ASCII characters in a text of JSON, as Python's json does.
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

// shellSpecial is the set of characters before which bash writes a backslash (printf %q).
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

// backslashedSigns writes a backslash before each ASCII character that is neither a letter nor a
// digit.
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

// everyByte percent-encodes each byte.
func everyByte(s string) string {
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, 3*len(s))
	for i := range len(s) {
		b = append(b, '%', digits[s[i]>>4], digits[s[i]&15])
	}
	return string(b)
}

// lowerPercent converts the digits of percent-encoded bytes to lower case.
func lowerPercent(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// inBase64 returns the forms of a secret in base64, in both alphabets. A secret may be encoded
// alone, or inside a longer text such as "user:secret", where it may begin at each of three
// positions of a group.
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
			first := (before*8 + 5) / 6 // the first ones hold bits of preceding bytes
			out = append(out, all[first:], strings.TrimRight(all, "=")[first:],
				all[first:(before+len(s))*8/6])
		}
	}
	return out
}

// URL replaces the user information by mark in each apparent URL of a text.
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
			host = host[:end] // otherwise the password may contain such a character
		}
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			text = text[:from] + mark + host[at:] + text[from+len(host):]
			from += len(mark)
		}
	}
}

// Clean replaces each secret in a text by mark. It also replaces the rest of a secret where the
// text was truncated.
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

// cleanBroken replaces forms whose characters are separated by breaks, as in lines or groups of
// digits.
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

// cleanParts replaces parts of forms that stand alone, such as one of several lines.
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

// isDense reports whether a byte may occur in base64 or in hexadecimal digits.
func isDense(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
		strings.IndexByte("+/=_-", c) >= 0
}

// replaceBroken replaces each f in a text by mark. The argument joined is the result of join for
// the text.
func replaceBroken(text, joined, f, mark string) string {
	var at []int
	join(text, &at)
	var b strings.Builder
	done := 0 // number of bytes of text that are written
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

// breaks are the separators in encoded data: line breaks in base64, also as JSON escapes them, and
// the separators of digits in the output of xxd, od and openssl.
const breaks = " \t\r\n:,-"

// join removes breaks and prefixes of digits, such as 0x, from a text. If at is not nil, join
// appends to it the original position of each remaining byte.
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

// cutBefore replaces the end of a secret at the start of a text.
func (all runs) cutBefore(text, mark string) string {
	lead := len(text) - len(strings.TrimLeft(text, " "))
	rest := text[lead:]
	if n := all.endsIn(rest); n > 0 {
		return text[:lead] + mark + rest[n:]
	}
	return text
}

// cutAfter replaces the beginning of a secret at the end of a text.
func (all runs) cutAfter(text, mark string) string {
	rest := strings.TrimRight(text, " ")
	if n := all.beginsIn(rest); n > 0 {
		return rest[:len(rest)-n] + mark + text[len(rest):]
	}
	return text
}
