package eval

import (
	"fmt"

	"southbound/shared/internal/pyregexp"
	"southbound/shared/lang/types"
)

// regex is a Python regular expression that matches from the beginning of a text.
type regex struct{ compiled *pyregexp.Regexp }

func pattern(text string) (*regex, error) {
	re, err := pyregexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &regex{re}, nil
}

// matches reports whether a value matches. A value that is not a string is an error.
func (r *regex) matches(v types.Value) (bool, error) {
	s, ok := v.(string)
	if !ok {
		return false, fmt.Errorf(
			"only a string can match a regular expression, and this is %s",
			types.Kind(v),
		)
	}
	return r.compiled.Match(s)
}
