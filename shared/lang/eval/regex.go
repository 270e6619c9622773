package eval

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dlclark/regexp2"

	"southbound/shared/lang/types"
)

// matchTimeout bounds how long a regular expression may look at one text.
const matchTimeout = time.Second / 2

// regex is a regular expression of Python, which matches from the beginning of a text.
type regex struct {
	text     string
	compiled *regexp2.Regexp
}

// pattern compiles a regular expression. The library has the syntax of .NET, which is nearly that
// of Python.
func pattern(text string) (*regex, error) {
	re, err := regexp2.Compile(`\A(?:`+pythonic(text)+`)`, regexp2.None)
	if err != nil {
		if _, alone := regexp2.Compile(pythonic(text), regexp2.None); alone != nil {
			err = alone // which shows what was written, without what stands around it here
		}
		return nil, errors.New(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	re.MatchTimeout = matchTimeout
	return &regex{text, re}, nil
}

// pythonic writes what Python writes in its own way as .NET does.
func pythonic(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch rest := text[i:]; {
		case strings.HasPrefix(rest, `\Z`):
			b.WriteString(`\z`)
			i++
		case rest[0] == '\\' && len(rest) > 1:
			b.WriteString(rest[:2])
			i++
		case strings.HasPrefix(rest, "(?P<"):
			b.WriteString("(?<")
			i += len("(?P<") - 1
		case strings.HasPrefix(rest, "(?P=") && strings.Contains(rest, ")"):
			end := strings.IndexByte(rest, ')')
			b.WriteString(`\k<` + rest[len("(?P="):end] + ">")
			i += end
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// matches reports whether a value, which has to be a string, matches.
func (r *regex) matches(v types.Value) (bool, error) {
	s, ok := v.(string)
	if !ok {
		return false, fmt.Errorf(
			"only a string can match a regular expression, and this is %s",
			types.Kind(v),
		)
	}
	ok, err := r.compiled.MatchString(s)
	if err != nil {
		return false, fmt.Errorf("the regular expression /%s/ takes too long for this text", r.text)
	}
	return ok, nil
}
