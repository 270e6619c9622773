package std

import (
	"math"
	"math/big"
	"strings"

	"southbound/shared/lang/types"
)

const (
	bits4, bits6 = 32, 128
	day          = 86400
	// longAgo and farAhead are the start of the year 1 and the end of the year 9999, as Unix times.
	longAgo, farAhead = -62135596800, 253402300799
	// milliseconds is the bound above which pydantic reads a number as milliseconds.
	milliseconds = 20_000_000_000
)

// numbered are the types of std::validate_type that accept a number instead of a text.
var numbered = map[string]check{
	"datetime.date": func(v types.Value) bool {
		s, ok := moment(v)
		return ok && math.Mod(s, day) == 0
	},
	"datetime.datetime": func(v types.Value) bool { _, ok := moment(v); return ok },
	"datetime.time": func(v types.Value) bool {
		s, ok := seconds(v)
		return ok && s >= 0 && s < day
	},
	"ipaddress.IPv4Address":    numberOf(bits4),
	"ipaddress.IPv4Interface":  numberOf(bits4),
	"ipaddress.IPv4Network":    numberOf(bits4),
	"ipaddress.IPv6Address":    numberOf(bits6),
	"ipaddress.IPv6Interface":  numberOf(bits6),
	"ipaddress.IPv6Network":    numberOf(bits6),
	"pydantic.IPvAnyAddress":   numberOf(bits6),
	"pydantic.IPvAnyInterface": numberOf(bits6),
	"pydantic.IPvAnyNetwork":   numberOf(bits6),
}

// numberOf accepts an integer that is an address with this many bits.
func numberOf(size int) check {
	return func(v types.Value) bool {
		n, ok := v.(*big.Int)
		switch v := v.(type) {
		case int64:
			n, ok = big.NewInt(v), true
		case bool:
			return true
		}
		return ok && n.Sign() >= 0 && n.BitLen() <= size
	}
}

// seconds returns a number as a float; a bool is not a number here.
func seconds(v types.Value) (float64, bool) {
	switch v.(type) {
	case int64, float64, *big.Int:
		return toFloat(v)
	}
	return 0, false
}

// moment returns the Unix time of a number of seconds or milliseconds. It returns false if the year
// is not between 1 and 9999.
func moment(v types.Value) (float64, bool) {
	s, ok := seconds(v)
	if math.Abs(s) > milliseconds {
		s /= 1000
	}
	return s, ok && s >= longAgo && s < farAhead+1
}

// isCount reports whether a value is a valid length.
func isCount(v types.Value) bool {
	if n, ok := v.(int64); ok {
		return n >= 0
	}
	_, ok := v.(bool) // a bool counts as 0 or 1
	return ok
}

func isFlag(v types.Value) bool { _, ok := v.(bool); return ok }

func isText(v types.Value) bool { _, ok := v.(string); return ok }

// parameters are the parameters of string types, with the check and the description of their
// values.
var parameters = []struct {
	names string
	is    check
	want  string
}{
	{"min_length max_length", isCount, "a whole number from 0"},
	{"strict strip_whitespace to_upper to_lower", isFlag, "a bool"},
	{"pattern", isText, "a string"},
}

// wantOf returns the description of the valid values of a parameter if v is not one; otherwise "".
func wantOf(name string, v types.Value) string {
	for _, p := range parameters {
		if strings.Contains(" "+p.names+" ", " "+name+" ") && !p.is(v) {
			return p.want
		}
	}
	return ""
}
