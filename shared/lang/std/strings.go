package std

import (
	"crypto/md5" // for names of files, not for security
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"unicode/utf8"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/jinja"
	"southbound/shared/lang/types"
)

// text returns a plugin that converts a string.
func text(name, doc string, f func(string) string) eval.Plugin {
	return eval.Plugin{
		Name: "std::" + name, Doc: doc, Result: "string",
		Params: []eval.Param{{Name: "string", Type: "string"}},
		Call: func(_ *eval.Context, a eval.Args) (types.Value, error) {
			return f(a.Text(0)), nil
		},
	}
}

func stringPlugins() []eval.Plugin {
	return []eval.Plugin{
		text("upper", "Returns string in capitals.", jinja.Upper),
		text("lower", "Returns string in small letters.", jinja.Lower),
		text("capitalize", "Returns string with a capital first and small letters behind it.",
			jinja.Capitalized),
		{
			Name: "std::replace", Doc: "Returns string with every old replaced by new.",
			Result: "string", Call: replace,
			Params: []eval.Param{
				{Name: "string", Type: "string"},
				{Name: "old", Type: "string"},
				{Name: "new", Type: "string"},
			},
		},
		{
			Name: "std::limit", Doc: "Returns the first length characters of string.",
			Result: "string", Call: limit,
			Params: []eval.Param{{Name: "string", Type: "string"}, {Name: "length", Type: "int"}},
		},
		{
			Name: "std::length", Doc: "Returns the number of characters of value.", Result: "int",
			Params: []eval.Param{{Name: "value", Type: "string"}},
			Call: func(_ *eval.Context, a eval.Args) (types.Value, error) {
				return int64(len([]rune(a.Text(0)))), nil
			},
		},
		{
			Name: "std::split", Doc: "Returns the parts of string_list between delim.",
			Result: "list", Call: split,
			Params: []eval.Param{
				{Name: "string_list", Type: "string"},
				{Name: "delim", Type: "string"},
			},
		},
		{
			Name: "std::hostname", Doc: "Returns the part of fqdn before the first dot.",
			Result: "string", Params: []eval.Param{{Name: "fqdn", Type: "string"}},
			Call: func(_ *eval.Context, a eval.Args) (types.Value, error) {
				name, _, _ := strings.Cut(a.Text(0), ".")
				return name, nil
			},
		},
		{
			Name: "std::is_base64_encoded", Doc: "Reports whether s is base64.", Result: "bool",
			Params: []eval.Param{{Name: "s", Type: "string"}},
			Call: func(_ *eval.Context, a eval.Args) (types.Value, error) {
				s := a.Text(0)
				_, err := base64.StdEncoding.DecodeString(s)
				return err == nil && !strings.ContainsAny(s, "\r\n"), nil
			},
		},
		{
			Name: "std::unique_file", Result: "string", Call: uniqueFile,
			Doc: "Returns the name of a file: prefix, the MD5 sum of seed in hexadecimal, suffix.",
			Params: []eval.Param{
				{Name: "prefix", Type: "string"},
				{Name: "seed", Type: "string"},
				{Name: "suffix", Type: "string"},
				{Name: "length", Type: "int", Default: int64(20)},
			},
		},
		{
			Name: "std::format", Result: "string", Call: format,
			Doc: "Returns __string with its fields filled in, as str.format of Python does: " +
				"{} and {0} are the values that follow, {name} those with a name, " +
				"{name[key]} an entry of a dict, {:>5} a form.",
			Params: []eval.Param{{Name: "__string", Type: "string"}},
			Rest:   &eval.Param{Name: "args", Type: "any"},
			Named:  &eval.Param{Name: "kwargs", Type: "any"},
		},
		{
			Name: "std::json_loads", Doc: "Returns the value that s is the JSON of.",
			Result: "any", Call: jsonLoads, Params: []eval.Param{{Name: "s", Type: "string"}},
		},
		{
			Name: "std::json_dumps", Doc: "Returns obj as JSON.", Result: "string", Call: jsonDumps,
			Params: []eval.Param{{Name: "obj", Type: "any"}},
		},
	}
}

// maxText is the largest size of a string in bytes.
const maxText = 64 << 20

func replace(_ *eval.Context, a eval.Args) (types.Value, error) {
	s, before, after := a.Text(0), a.Text(1), a.Text(2)
	if len(s)+strings.Count(s, before)*(len(after)-len(before)) > maxText {
		return nil, errTooLong
	}
	return strings.ReplaceAll(s, before, after), nil
}

var errTooLong = errors.New("the string becomes longer than 64 MiB")

func limit(_ *eval.Context, a eval.Args) (types.Value, error) {
	text, n := a.Text(0), a.Int(1)
	if n < 0 {
		n = max(0, int64(utf8.RuneCountInString(text))+n)
	}
	return types.First(text, int(min(n, int64(len(text))))), nil
}

func split(c *eval.Context, a eval.Args) (types.Value, error) {
	if a.Text(1) == "" {
		return nil, errors.New("delim is empty")
	}
	parts := strings.Count(a.Text(0), a.Text(1)) + 1
	if err := c.Fits(parts, 0); err != nil {
		return nil, err
	}
	out := &types.List{Items: make([]types.Value, 0, parts)}
	for part := range strings.SplitSeq(a.Text(0), a.Text(1)) {
		out.Items = append(out.Items, part)
	}
	return out, nil
}

func uniqueFile(_ *eval.Context, a eval.Args) (types.Value, error) {
	sum := md5.Sum([]byte(a.Text(1)))
	return a.Text(0) + hex.EncodeToString(sum[:]) + a.Text(2), nil
}

func format(c *eval.Context, a eval.Args) (types.Value, error) {
	return asText(jinja.Format(a.Text(0), a.Rest, a.Named, host{c: c}))
}

func jsonDumps(_ *eval.Context, a eval.Args) (types.Value, error) {
	text, err := jinja.JSON(a.Values[0])
	if errors.Is(err, jinja.ErrUnknown) {
		return nil, eval.ErrUnknown
	}
	return asText(text, err)
}

// asText returns s as a value, or the error.
func asText(s string, err error) (types.Value, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
