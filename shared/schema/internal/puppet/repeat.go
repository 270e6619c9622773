package puppet

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// repeat writes a repetition of the current element. An element that is already repeated becomes a
// group first.
func (t *translator) repeat(how string, single bool) {
	if t.atom < 0 {
		t.refuse("there is nothing before %s that could be repeated", how)
		return
	}
	if t.repeated {
		t.out = slices.Concat(t.out[:t.atom], []byte("(?:"), t.out[t.atom:], []byte(")"))
	}
	t.write(how)
	t.repeated = true
	switch rest := t.rest(0); {
	case strings.HasPrefix(rest, "?"):
		t.write("?")
		t.i++
	case single && strings.HasPrefix(rest, "+"):
		t.refuse("it has a possessive repetition %s+, which cannot be run fast on every text", how)
	}
}

// The maximum of a single repetition in Go, and the maximum that is composed of several such
// repetitions.
const (
	goRepeats  = 1000
	maxRepeats = 10000
)

// counted translates {n}, {n,}, {,n} and {n,m}. It rejects {n}?, which is not lazy in Ruby.
func (t *translator) counted() {
	rest := t.rest(0)
	end := strings.IndexByte(rest, '}')
	inside := rest[1:max(end, 1)]
	if end < 0 || inside == "" || strings.Trim(inside, "0123456789,") != "" ||
		strings.Count(inside, ",") > 1 || inside == "," {
		t.begin()
		t.write(`\{`)
		t.i++
		return
	}
	if !strings.Contains(inside, ",") && strings.HasPrefix(rest[end+1:], "?") {
		t.refuse("{%s}? means (…{%s})? in Ruby; write that", inside, inside)
		return
	}
	low, high, several := strings.Cut(inside, ",")
	lo, err := strconv.Atoi(cmp.Or(low, "0"))
	hi := lo
	if several && err == nil {
		hi, err = strconv.Atoi(cmp.Or(high, "-1"))
	}
	t.i += end + 1
	switch {
	case err != nil || max(lo, hi) > maxRepeats:
		t.refuse("{%s} repeats more often than %d times, which cannot be run", inside, maxRepeats)
	case hi >= 0 && lo > hi:
		t.refuse("{%s} is empty: %d is above %d", inside, lo, hi)
	case max(lo, hi) <= goRepeats:
		if low == "" {
			inside = "0" + inside
		}
		t.repeat("{"+inside+"}", false)
	default:
		t.repeatOften(lo, hi)
	}
}

// repeatOften writes a repetition as several ones, each within the maximum of Go. If hi is -1, the
// repetition is unbounded.
func (t *translator) repeatOften(lo, hi int) {
	if t.atom < 0 {
		t.refuse("there is nothing that could be repeated")
		return
	}
	atom := "(?:" + string(t.out[t.atom:]) + ")"
	if strings.Contains(atom, "(?<") {
		t.refuse("a group with a name is repeated more often than %d times", goRepeats)
		return
	}
	lazy := ""
	if strings.HasPrefix(t.rest(0), "?") {
		lazy = "?"
		t.i++
	}
	t.out = append(t.out[:t.atom], "(?:"...)
	pieces := func(n int, format string) {
		for ; n > 0; n -= goRepeats {
			t.write(atom + fmt.Sprintf(format, min(n, goRepeats)) + lazy)
		}
	}
	pieces(lo, "{%d}")
	if hi < 0 {
		t.write(atom + "*" + lazy)
	} else {
		pieces(hi-lo, "{0,%d}")
	}
	t.write(")")
	t.repeated = false
}
