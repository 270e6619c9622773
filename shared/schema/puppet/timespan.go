package puppet

import (
	"math/big"
	"strconv"
	"strings"
)

// Timespan returns the seconds of a duration. It reads
// [-][days-][[hours:]minutes:]seconds[.fraction]; days are followed by all of hours, minutes and
// seconds.
func Timespan(s string) (float64, bool) {
	sign := 1.0
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		sign, s = -1, rest
	}
	total := 0.0
	if days, rest, ok := strings.Cut(s, "-"); ok {
		n, ok := decimal(days, false)
		if !ok || strings.Count(rest, ":") != 2 {
			return 0, false
		}
		total, s = n*24, rest
	}
	parts := strings.Split(s, ":")
	for i, part := range parts {
		n, ok := decimal(part, i == len(parts)-1)
		if !ok || len(parts) > 3 {
			return 0, false
		}
		if i > 0 {
			total *= 60
		}
		total += n
	}
	return sign * total, true
}

// decimal reads digits, with a fraction where that is allowed.
func decimal(s string, fraction bool) (float64, bool) {
	whole, rest, point := strings.Cut(s, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	if !digits(whole) || point && (!fraction || !digits(rest)) {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil
}

// Unit returns how many seconds a unit of a duration has, as in {days => 1, hours => 12}; false if
// there is no such unit.
func Unit(name string) (seconds float64, known bool) {
	seconds, known = map[string]float64{"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1,
		"milliseconds": 1e-3, "microseconds": 1e-6, "nanoseconds": 1e-9}[name]
	return seconds, known
}

// Items returns what a value holds to be gone through, item by item: a list, the pairs of a map,
// the characters of a text, the first and the last of the numbers below a number. It returns false
// for what holds none. Of a number beyond int64 there are no items, so that it holds none where
// these have to be of a type.
func Items(v any, typed bool) (items []any, can bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case map[string]any:
		for k, e := range v {
			items = append(items, []any{k, e})
		}
		return items, true
	case string:
		for _, r := range v {
			items = append(items, string(r))
		}
		return items, true
	case *big.Int:
		return nil, v != nil && v.Sign() > 0 && !typed
	case int64:
		if v > 0 {
			items = []any{int64(0), v - 1}
		}
		return items, v >= 0
	}
	return nil, false
}
