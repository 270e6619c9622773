package api

import (
	"regexp"
	"strings"
	"testing"

	"southbound/shared/api/wire"
)

// TestHeaderPatterns pins that the described patterns of a message and of a user accept what the
// server accepts.
func TestHeaderPatterns(t *testing.T) {
	t.Parallel()
	message := regexp.MustCompile(strings.TrimSuffix(messageHeader().Schema.Pattern, "{0,1000}$") + "*$")
	user := regexp.MustCompile(userHeader().Schema.Pattern)
	for _, value := range []string{
		"", "plain words", "100%25", "a%0Ab%09c", "%2F%2f%3C", "%7E", "%C3%BC", "%c2%a0", "%E2%82%AC",
		"%ED%9F%BF", "%F0%9F%98%80", "%f4%8f%bf%bf", wire.EncodeMessage("why, ü €, 😀 <b>/?"),
		"%", "%0", "%00", "%07", "%7F", "%0d", "%C2%85", "%C0%80", "%E0%80%80", "%ED%A0%80", "%F0%80%80%80",
		"%F4%90%80%80", strings.Repeat("x", 200), strings.Repeat("x", 201), "%FF", "%C3", "%C3%28", "%80",
	} {
		_, err := wire.DecodeMessage(value)
		if matches := message.MatchString(value); matches != (err == nil) {
			t.Errorf("%s: the pattern of messages says %v, and the server %v", value, matches, err)
		}
		_, err = wire.OnBehalf(wire.Caller{}, value)
		if matches := user.MatchString(value); matches != (err == nil) {
			t.Errorf("%s: the pattern of users says %v, and the server %v", value, matches, err)
		}
	}
}
