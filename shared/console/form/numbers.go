package form

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// numberForm is the form of numbers in JSON.
var numberForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// numberText returns a number with all of its digits; false for another value.
func numberText(v any) (string, bool) {
	switch v.(type) {
	case json.Number, int, int64, float64:
	default:
		return "", false
	}
	b, err := json.Marshal(definition.Written(v))
	return string(b), err == nil
}

// number reads a number. It keeps all digits.
func number(text string) (json.Number, bool) {
	text = strings.TrimSpace(text)
	return json.Number(text), numberForm.MatchString(text)
}

// choiceText returns a value of an enum as the value of a control; false if the enum lacks it.
func choiceText(a *definition.Attribute, v any) (string, bool) {
	for _, one := range choices(a) {
		if inventory.Equal(one, v) {
			return choice(one), true
		}
	}
	return "", false
}

// choice returns a value of an enum as the value of a control, which is never "".
func choice(v any) string {
	if s, is := v.(string); is && s != "" && !strings.HasPrefix(s, `"`) && plain(s) {
		return s
	}
	b, err := json.Marshal(definition.Written(v))
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// chosen returns the value of an enum for the value of a control.
func chosen(a *definition.Attribute, text string) (any, bool) {
	for _, one := range choices(a) {
		if choice(one) == text {
			return one, true
		}
	}
	return nil, false
}
