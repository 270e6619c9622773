package orders

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"southbound/shared/fault"
	"southbound/shared/pattern"
)

// limit is a limit of a number.
type limit struct {
	op string // ge, gt, le, lt, or "" for equality
	at int64
}

// limitsOf parses limits such as ge:4, or plain values.
func limitsOf(texts []string, value func(string) (int64, bool)) ([]limit, error) {
	var out []limit
	for _, text := range texts {
		op, rest, found := strings.Cut(text, ":")
		switch op {
		case "ge", "gt", "le", "lt":
		default:
			op, rest, found = "", text, true
		}
		at, ok := value(rest)
		if !found || !ok {
			return nil, fault.New(fault.Invalid, "", "%.40q is not a limit", text).
				WithHint("write a value, or ge:, gt:, le: or lt: in front of one")
		}
		out = append(out, limit{op, at})
	}
	return out, nil
}

// holds reports whether a number satisfies the limit.
func (l limit) holds(n int64) bool {
	switch l.op {
	case "ge":
		return n >= l.at
	case "gt":
		return n > l.at
	case "le":
		return n <= l.at
	case "lt":
		return n < l.at
	}
	return n == l.at
}

// withinLimits reports whether a number satisfies all limits.
func withinLimits(all []limit, n int64) bool {
	return !slices.ContainsFunc(all, func(l limit) bool { return !l.holds(n) })
}

func numberOf(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// instants matches RFC 3339 times. A plus sign or a space may replace the T. The time of day and
// the zone are optional.
var instants = pattern.Lazy(`^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])` +
	`(?:[T+ ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))?)?$`)

// instantOf parses a time into microseconds. The default zone is UTC. Days beyond the end of a
// month continue into the next month: February 30 is March 1 or 2.
func instantOf(text string) (int64, bool) {
	m := instants().FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n := func(i int) int {
		v, _ := strconv.Atoi(m[i]) // digits or nothing
		return v
	}
	nanos, _ := strconv.Atoi((m[7] + "000000000")[:9])
	zone := n(9)*3600 + n(10)*60
	if m[8] == "-" {
		zone = -zone
	}
	return time.Date(n(1), time.Month(n(2)), n(3), n(4), n(5), n(6), nanos,
		time.FixedZone("", zone)).UnixMicro(), true
}

// TimesWithin returns a function that reports whether a time satisfies limits such as
// ge:2026-05-01+12:00:00.
func TimesWithin(texts []string) (func(time.Time) bool, error) {
	all, err := limitsOf(texts, instantOf)
	return func(t time.Time) bool { return withinLimits(all, t.UnixMicro()) }, err
}
