package cron

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// field is one of the five of a schedule.
type field struct {
	name   string
	lo, hi int
	words  []string // the names of lo and the values after it
}

func fields() []field {
	return []field{
		{"minute", 0, 59, nil}, {"hour", 0, 23, nil}, {"day of the month", 1, 31, nil},
		{"month", 1, 12, strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
		{"day of the week", 0, 7, strings.Fields("sun mon tue wed thu fri sat")},
	}
}

func shorthands() []string {
	return strings.Fields("@reboot @yearly @annually @monthly @weekly @daily @midnight @hourly")
}

// canonical checks a schedule and writes it with single spaces.
func canonical(schedule string) (string, error) {
	words := strings.Fields(schedule)
	if len(words) == 1 && strings.HasPrefix(words[0], "@") {
		if !slices.Contains(shorthands(), words[0]) {
			return "", fmt.Errorf("%s is not one of %s", words[0], strings.Join(shorthands(), " "))
		}
		return words[0], nil
	}
	all := fields()
	if len(words) != len(all) {
		return "",
			fmt.Errorf("a schedule has five fields (minute, hour, day of the month, month, day "+
				"of the week), this one has %d", len(words))
	}
	var values [5][]int
	for i, f := range all {
		var err error
		if values[i], err = f.parse(words[i]); err != nil {
			return "", fmt.Errorf("%s %q: %w", f.name, words[i], err)
		}
	}
	if strings.HasPrefix(words[4], "*") && !happens(values[2], values[3]) {
		return "", fmt.Errorf("no month of %q has a day of %q", words[3], words[2])
	}
	return strings.Join(words, " "), nil
}

// happens reports whether one of the days exists in one of the months.
func happens(days, months []int) bool {
	for _, m := range months {
		longest := 31
		switch m {
		case 2:
			longest = 29
		case 4, 6, 9, 11:
			longest = 30
		}
		if slices.Min(days) <= longest {
			return true
		}
	}
	return false
}

// parse returns the values of a field.
func (f field) parse(s string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		body, stepText, stepped := strings.Cut(part, "/")
		lo, hi := f.lo, f.hi
		if body != "*" {
			from, to, isRange := strings.Cut(body, "-")
			var err error
			if lo, err = f.value(from); err != nil {
				return nil, err
			}
			hi = lo
			if isRange {
				if hi, err = f.value(to); err != nil {
					return nil, err
				}
			}
			switch {
			case lo > hi:
				return nil,
					fmt.Errorf("the range %s is empty: %d is above %d; write it as two ranges",
						body, lo, hi)
			case stepped && !isRange:
				return nil, fmt.Errorf("a step needs a range or *, as in %s-%d/%s", body, f.hi,
					stepText)
			}
		}
		step := 1
		if stepped {
			var err error
			if step, err = number(stepText); err != nil || step < 1 || step > hi-lo && hi > lo {
				return nil, fmt.Errorf("the step %q is not within 1 and %d", stepText,
					max(hi-lo, 1))
			}
		}
		for v := lo; v <= hi; v += step {
			out = append(out, v)
		}
	}
	return out, nil
}

// value reads a number or a name.
func (f field) value(s string) (int, error) {
	if i := slices.Index(f.words, strings.ToLower(s)); i >= 0 {
		return f.lo + i, nil
	}
	n, err := number(s)
	if err != nil || n < f.lo || n > f.hi {
		hint := ""
		if f.words != nil {
			hint = " or one of " + strings.Join(f.words, " ")
		}
		return 0, fmt.Errorf("%q is not within %d and %d%s", s, f.lo, f.hi, hint)
	}
	return n, nil
}

// number parses digits only.
func number(s string) (int, error) {
	if s == "" || strings.Trim(s, "0123456789") != "" || len(s) > 4 {
		return 0, strconv.ErrSyntax
	}
	return strconv.Atoi(s)
}
