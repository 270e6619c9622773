package schema

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"southbound/shared/resource"
)

// hintFor suggests a replacement for v, if one can be guessed. Most invalid values in YAML are
// valid ones in the wrong notation.
func hintFor(d *DataType, v any, from origin, show bool) string {
	switch d.kind {
	case kindOptional:
		return hintFor(d.of[0], v, from, show)
	case kindSensitive:
		if _, file := v.(resource.File); from == authored && !file && v != nil {
			return `write {secret: "env:NAME"} or another source, so that the value itself is stored nowhere`
		}
		return hintFor(d.of[0], v, from, show)
	case kindVariant:
		for _, o := range d.of {
			if h := hintFor(o, v, from, show); h != "" {
				return h
			}
		}
		return ""
	}
	switch v := v.(type) {
	case string:
		return hintText(d, v, show)
	case bool:
		return hintBool(d, v)
	case int64, *big.Int, float64:
		return hintNumber(d, v, show)
	case nil:
		return "write a value, or leave it out to get the default"
	}
	return ""
}

// wantsText reports whether the type accepts ordinary texts, rather than only those of a time or a
// duration.
func wantsText(d *DataType) bool {
	return d.kind == kindString || d.kind == kindPattern || d.kind == kindEnum
}

func hintText(d *DataType, s string, show bool) string {
	switch d.kind {
	case kindEnum:
		if near := Nearest(s, d.words); near != "" && show {
			return fmt.Sprintf("did you mean %q?", near)
		}
	case kindInteger, kindNumeric, kindFloat:
		v, ok := numberIn(s)
		if ok && d.accepts(v, observed) {
			return "write it without quotes" + hidden(show, ": "+s, "")
		}
	case kindBoolean:
		if word, ok := boolIn(s); ok && d.accepts(word, observed) {
			return "write it as a Boolean, without quotes" +
				hidden(show, ": "+strconv.FormatBool(word), "")
		}
	case kindArray:
		if d.accepts([]any{s}, observed) {
			return "write it as a list" +
				hidden(show && len(s) <= 40, ": ["+quote(s)+"]", ", in [ ]")
		}
	}
	return ""
}

// numberIn parses a text that contains a number.
func numberIn(s string) (any, bool) {
	if n, ok := new(big.Int).SetString(s, 10); ok {
		if n.IsInt64() {
			return n.Int64(), true
		}
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// boolIn parses the words that YAML 1.1 and people use for booleans.
func boolIn(s string) (word, ok bool) {
	switch strings.ToLower(s) {
	case "true", "yes", "on", "y", "1":
		return true, true
	case "false", "no", "off", "n", "0":
		return false, true
	}
	return false, false
}

func hintBool(d *DataType, v bool) string {
	switch {
	case wantsText(d):
		return `write it in quotes, such as "yes" or "true", so that it is text`
	case d.kind == kindArray && d.accepts([]any{v}, observed):
		return "write it as a list, in [ ]"
	}
	return ""
}

func hintNumber(d *DataType, v any, show bool) string {
	if wantsText(d) {
		example := `"0644"`
		if _, fraction := v.(float64); fraction {
			example = `"1.10"`
		}
		return "write it in quotes, such as " + example + ", so that it is text"
	}
	switch n := v.(type) {
	case int64:
		switch {
		case d.kind == kindFloat && d.accepts(float64(n), observed):
			return "write it with a fraction" + hidden(show, fmt.Sprintf(": %d.0", n), "")
		case d.kind == kindBoolean && (n == 0 || n == 1) && d.accepts(n == 1, observed):
			return "write it as a Boolean" + hidden(show, fmt.Sprintf(": %t", n == 1), "")
		}
	case float64:
		if d.kind == kindInteger && n == math.Trunc(n) && math.Abs(n) < 1<<53 &&
			d.accepts(int64(n), observed) {
			return "write it without a fraction" + hidden(show, fmt.Sprintf(": %d", int64(n)), "")
		}
	}
	if d.kind == kindArray && d.accepts([]any{v}, observed) {
		return "write it as a list, in [ ]"
	}
	return ""
}
