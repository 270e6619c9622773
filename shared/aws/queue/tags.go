package queue

import (
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The tags that name the agent of a queue.
const (
	TagEnvironment = "southbound:environment"
	TagAgent       = "southbound:agent"
)

const (
	maxTag   = 256 // characters of the value of a tag
	maxParts = 8   // tags that one name may take; a longer name is cut
)

// AgentTags returns tags with the full names of an environment and an agent. Characters that a
// tag's value may not contain are written as hexadecimal bytes, each after an equals sign. A name
// that is too long for one value continues in tags whose keys end with .2, .3 and so on.
func AgentTags(env, agent string) map[string]string {
	out := map[string]string{}
	split(out, TagEnvironment, env)
	split(out, TagAgent, agent)
	return out
}

// OwnerOf returns environment and agent from the tags of a queue. If the tags lack them, it returns
// false.
func OwnerOf(tags map[string]string) (env, agent string, ok bool) {
	env, one := join(tags, TagEnvironment)
	agent, two := join(tags, TagAgent)
	return env, agent, one && two
}

func split(out map[string]string, key, name string) {
	var value strings.Builder
	n, part := 0, 1
	flush := func() {
		out[partKey(key, part)] = value.String()
		value.Reset()
		n = 0
		part++
	}
	for _, piece := range pieces(name) {
		length := utf8.RuneCountInString(piece)
		if n+length > maxTag {
			flush()
			if part > maxParts {
				return
			}
		}
		value.WriteString(piece)
		n += length
	}
	flush()
}

func partKey(key string, part int) string {
	if part == 1 {
		return key
	}
	return key + "." + strconv.Itoa(part)
}

// pieces returns the encoding of each character of a name in a tag. It also encodes spaces, because
// SQS drops a space at the end of a value.
func pieces(name string) []string {
	var out []string
	for len(name) > 0 {
		r, size := utf8.DecodeRuneInString(name)
		piece := name[:size]
		if (r == utf8.RuneError && size == 1) ||
			!(unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_.:/+-@", r)) {
			piece = ""
			for _, b := range []byte(name[:size]) {
				piece += "=" + strings.ToUpper(hex.EncodeToString([]byte{b}))
			}
		}
		out = append(out, piece)
		name = name[size:]
	}
	return out
}

func join(tags map[string]string, key string) (string, bool) {
	var all strings.Builder
	for part := 1; part <= maxParts; part++ {
		value, ok := tags[partKey(key, part)]
		if !ok {
			return decode(all.String(), part > 1)
		}
		all.WriteString(value)
	}
	return decode(all.String(), true)
}

func decode(text string, ok bool) (string, bool) {
	var out []byte
	for i := 0; ok && i < len(text); i++ {
		if text[i] != '=' {
			out = append(out, text[i])
			continue
		}
		if i+3 > len(text) {
			return "", false
		}
		b, err := hex.DecodeString(text[i+1 : i+3])
		if err != nil {
			return "", false
		}
		out = append(out, b...)
		i += 2
	}
	return string(out), ok
}
