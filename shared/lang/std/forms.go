package std

import (
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"southbound/shared/pattern"
)

func isBase64(s string) bool {
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil
}

func isJSON(s string) bool { return json.Valid([]byte(s)) }

var (
	dates = pattern.Lazy(`^\d{4}-\d{2}-\d{2}$`)
	times = pattern.Lazy(
		`^(\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?\s?([Zz]|[+−-]\d{2}(?::?\d{2})?)?$`)
	stamps = pattern.Lazy(`^[+-]?\d+(\.\d*)?$`)
)

// isDate accepts a date, a timestamp at the start of a day, or a datetime at midnight.
func isDate(s string) bool {
	if dates().MatchString(s) {
		_, err := time.Parse(time.DateOnly, s)
		return err == nil && !strings.HasPrefix(s, "0000")
	}
	if stamps().MatchString(s) {
		n, err := strconv.ParseFloat(s, 64)
		return err == nil && int64(n)%86400 == 0 && n == float64(int64(n))
	}
	return len(s) > 11 && isDatetime(s) && strings.Trim(s[11:], "0:.Z") == ""
}

func isTime(s string) bool {
	m := times().FindStringSubmatch(s)
	if m == nil || m[1] >= "24" || m[2] >= "60" || m[3] >= "60" {
		return false
	}
	zone := strings.TrimLeft(m[4], "+-−")
	return !strings.ContainsAny(zone, "0123456789") || zone[:2] < "24"
}

func isDatetime(s string) bool {
	switch {
	case stamps().MatchString(s), dates().MatchString(s) && isDate(s):
		return true
	case len(s) < 12 || !strings.ContainsRune("Tt _", rune(s[10])):
		return false
	}
	return dates().MatchString(s[:10]) && isDate(s[:10]) && times().MatchString(s[11:]) &&
		isTime(s[11:])
}

// specialDomains are top-level domains that receive no e-mail.
var specialDomains = []string{
	"arpa", "invalid", "local", "localhost", "onion", "test",
}

var localParts = pattern.Lazy(
	"^[\\pL\\pN!#$%&'*+/=?^_`{|}~-]+(\\.[\\pL\\pN!#$%&'*+/=?^_`{|}~-]+)*$",
)

// isEmail accepts an e-mail address, alone or in angle brackets after a name.
func isEmail(s string) bool { return isNameEmail(s) }

// isAddress accepts an e-mail address with a valid domain.
func isAddress(s string) bool {
	s = strings.TrimSpace(s)
	i := strings.LastIndexByte(s, '@')
	if i < 1 || len(s) > 254 || i > 64 || !localParts().MatchString(s[:i]) {
		return false
	}
	domain := strings.ToLower(s[i+1:])
	if !isDomain(domain) || !strings.Contains(domain, ".") {
		return false
	}
	labels := strings.Split(domain, ".")
	top := labels[len(labels)-1]
	return !slices.Contains(specialDomains, top) &&
		strings.IndexFunc(top, unicode.IsLetter) >= 0
}

var labels = pattern.Lazy(`^[\pL\pN]([\pL\pN-]*[\pL\pN])?$`)

func isDomain(s string) bool {
	for l := range strings.SplitSeq(s, ".") {
		if len(l) > 63 || !labels().MatchString(l) {
			return false
		}
	}
	return len(s) <= 253
}

// isNameEmail accepts an e-mail address, alone or in angle brackets after a name.
func isNameEmail(s string) bool {
	s = strings.TrimSpace(s)
	if strings.HasSuffix(s, ">") {
		name, address, ok := strings.Cut(strings.TrimSuffix(s, ">"), "<")
		return ok && !strings.ContainsAny(name, "<>@") && isAddress(address)
	}
	return isAddress(s)
}

var schemes = pattern.Lazy(`^[a-zA-Z][a-zA-Z0-9+.-]*$`)

// isURL accepts a URL with one of the given schemes, or with any scheme if there are none. limit is
// the largest length; 0 means no limit.
func isURL(s string, limit int, of ...string) bool {
	s = strings.TrimSpace(s)
	if limit > 0 && len(s) > limit {
		return false
	}
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || !schemes().MatchString(scheme) {
		return false
	}
	scheme = strings.ToLower(scheme)
	if len(of) > 0 && !slices.Contains(of, scheme) {
		return false
	}
	special := slices.Contains([]string{"http", "https", "ftp", "ws", "wss"}, scheme)
	if special {
		rest = "//" + strings.TrimLeft(rest, `/\`)
	}
	if !strings.HasPrefix(rest, "//") {
		return rest != "" || !special
	}
	authority := rest[2:]
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	return isAuthority(authority, special)
}

func isAuthority(s string, needed bool) bool {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = s[i+1:]
	}
	u := url.URL{Host: s}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n > 65535 {
			return false
		}
	}
	host := u.Hostname()
	if strings.HasPrefix(s, "[") {
		a, err := netip.ParseAddr(host)
		return err == nil && a.Is6()
	}
	if strings.Contains(host, ":") || strings.ContainsAny(host, " <>^|%\\\t\n") {
		return false
	}
	return host != "" || !needed
}
