package std

import (
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
	"southbound/shared/pattern"
)

// check reports whether a value is valid for a type.
type check func(types.Value) bool

// validated returns the types without parameters that std::validate_type supports. They accept the
// values that pydantic accepts in its lax mode.
func validated() map[string]check {
	return map[string]check{
		"datetime.date":           asText1(isDate),
		"datetime.time":           asText1(isTime),
		"datetime.datetime":       asText1(isDatetime),
		"ipaddress.IPv4Address":   asText1(address4),
		"ipaddress.IPv4Interface": asText1(func(s string) bool { return isPrefix(s, false, 4) }),
		"ipaddress.IPv4Network":   asText1(func(s string) bool { return isPrefix(s, true, 4) }),
		"ipaddress.IPv6Address":   asText1(address6),
		"ipaddress.IPv6Interface": asText1(func(s string) bool { return isPrefix(s, false, 6) }),
		"ipaddress.IPv6Network":   asText1(func(s string) bool { return isPrefix(s, true, 6) }),
		"pydantic.IPvAnyAddress": asText1(
			func(s string) bool { return address4(s) || address6(s) },
		),
		"pydantic.IPvAnyInterface": asText1(func(s string) bool { return isPrefix(s, false, 0) }),
		"pydantic.IPvAnyNetwork":   asText1(func(s string) bool { return isPrefix(s, true, 0) }),
		"uuid.UUID":                asText1(isUUID),
		"pydantic.EmailStr":        asText1(isEmail),
		"pydantic.NameEmail":       asText1(isNameEmail),
		"pydantic.AnyUrl":          asText1(func(s string) bool { return isURL(s, 0) }),
		"pydantic.AnyHttpUrl": asText1(func(s string) bool {
			return isURL(s, 0, "http", "https")
		}),
		"pydantic.HttpUrl": asText1(func(s string) bool {
			return isURL(s, 2083, "http", "https")
		}),
		"pydantic.FileUrl": asText1(func(s string) bool { return isURL(s, 0, "file") }),
		"pydantic.PostgresDsn": asText1(
			func(s string) bool { return isURL(s, 0, "postgres", "postgresql") },
		),
		"pydantic.RedisDsn": asText1(func(s string) bool {
			return isURL(s, 0, "redis", "rediss")
		}),
		"pydantic.NegativeFloat":    floatThat(func(f float64) bool { return f < 0 }),
		"pydantic.PositiveFloat":    floatThat(func(f float64) bool { return f > 0 }),
		"pydantic.NonNegativeFloat": floatThat(func(f float64) bool { return f >= 0 }),
		"pydantic.NonPositiveFloat": floatThat(func(f float64) bool { return f <= 0 }),
		"pydantic.FiniteFloat": floatThat(
			func(f float64) bool { return !math.IsInf(f, 0) && !math.IsNaN(f) },
		),
		"pydantic.NegativeInt":    intThat(func(sign int) bool { return sign < 0 }),
		"pydantic.PositiveInt":    intThat(func(sign int) bool { return sign > 0 }),
		"pydantic.NonNegativeInt": intThat(func(sign int) bool { return sign >= 0 }),
		"pydantic.NonPositiveInt": intThat(func(sign int) bool { return sign <= 0 }),
		"pydantic.StrictStr":      func(v types.Value) bool { _, ok := v.(string); return ok },
		"pydantic.StrictBool":     func(v types.Value) bool { _, ok := v.(bool); return ok },
		"pydantic.StrictFloat":    func(v types.Value) bool { _, ok := seconds(v); return ok },
		"pydantic.StrictInt":      isInt,
		"pydantic.Base64Str":      asText1(func(s string) bool { return isBase64(s) }),
		"pydantic.Json":           asText1(isJSON),
	}
}

func asText1(f func(string) bool) check {
	return func(v types.Value) bool { s, ok := v.(string); return ok && f(s) }
}

func isInt(v types.Value) bool {
	switch v.(type) {
	case int64, *big.Int:
		return true
	}
	return false
}

// floatThat accepts values that convert to a float: numbers, bools and strings.
func floatThat(f func(float64) bool) check {
	return func(v types.Value) bool { x, ok := toFloat(v); return ok && f(x) }
}

// intThat accepts values that convert to an integer whose sign satisfies f.
func intThat(f func(sign int) bool) check {
	return func(v types.Value) bool {
		n, ok := toInt(v)
		sign := 0
		switch {
		case less(n, int64(0)):
			sign = -1
		case less(int64(0), n):
			sign = 1
		}
		return ok && f(sign)
	}
}

// validateType implements std::validate_type.
func validateType(_ *eval.Context, a eval.Args) (types.Value, error) {
	name, v := a.Text(0), a.Values[1]
	if _, ok := v.(types.Object); ok {
		return false, nil
	}
	params := a.Dict(2)
	if f, ok := constrained[name]; ok {
		return f(v, params)
	}
	module, _, ok := strings.Cut(name, ".")
	if !ok || !strings.Contains(" pydantic datetime ipaddress uuid ", " "+module+" ") {
		return false, nil
	}
	f, ok := validated()[name]
	if !ok {
		return nil, fmt.Errorf("there is no type %s to validate", name)
	}
	if of := numbered[name]; of != nil && params.Len() == 0 && of(v) {
		return true, nil
	}
	return params.Len() == 0 && f(v), nil
}

func address4(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is4()
}

func address6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6()
}

// isPrefix reports whether s is an address with a prefix length. If network is true, the host bits
// must be zero. version is 4, 6, or 0 for both.
func isPrefix(s string, network bool, version int) bool {
	p, err := prefix(s)
	if err != nil || version == 4 && !p.Addr().Is4() || version == 6 && !p.Addr().Is6() {
		return false
	}
	return !network || p.Masked().Addr() == p.Addr().WithZone("")
}

var (
	uuids = pattern.Lazy(
		`^(?i)(urn:uuid:)?([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)
	bracedUUIDs = pattern.Lazy(`^(?i)\{[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}$`)
)

func isUUID(s string) bool { return uuids().MatchString(s) || bracedUUIDs().MatchString(s) }
