package dynamo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// The partitions of the state. Other packages use other letters in the same table.
const (
	headPart   = "env"
	headPrefix = "."
	planSort   = "agents"
)

func leasePart(env string) string     { return "L/" + env }
func rowPart(env string) string       { return "R/" + env }
func indexPart(env string) string     { return "a/" + env }
func checkedPart(env string) string   { return "C/" + env }
func outboxPart(env string) string    { return "E/" + env }
func parameterPart(env string) string { return "P/" + env }
func actionPart(env string) string    { return "Z/" + env }
func versionPart(env string) string   { return "V/" + env }
func agentPart(env string) string     { return "M/" + env }
func keptPart(env string) string      { return "K/" + env }

func headKey(env string) key           { return key{headPart, headPrefix + env} }
func leaseKeyOf(env, lease string) key { return key{leasePart(env), lease} }
func agentsKey(env string) key         { return key{agentPart(env), planSort} }
func versionKey(env string, n int) key { return key{versionPart(env), fmt.Sprintf("%010d", n)} }

// numbered returns the key of an item that a commit adds under its guard. No other commit has the
// number of the guard's lease.
func numbered(part, guard string, n int64) key {
	return key{part, fmt.Sprintf("%s/%016x", guard, n)}
}

func rowKey(env string, id resource.ID) key { return key{rowPart(env), short(string(id))} }

func rowKeys(env string, ids []resource.ID) []key {
	out := make([]key, len(ids))
	for i, id := range ids {
		out[i] = rowKey(env, id)
	}
	return out
}

// outboxKey returns the key of an entry of the outbox.
func outboxKey(env, id string) key { return key{outboxPart(env), short("e" + id)} }

// Parameters sort before facts, and facts by their resources.
const (
	parameterPrefix = "."
	factPrefix      = "f"
)

func parameterKey(env string, k state.ParameterKey) key {
	if k.Of == "" {
		return key{parameterPart(env), short(parameterPrefix + k.Name)}
	}
	return key{parameterPart(env), short(factPrefix + string(k.Of) + "\x00" + k.Name)}
}

// keptKey returns the key of the kept state of a resource.
func keptKey(env string, id resource.ID) key { return key{keptPart(env), short(string(id))} }

// short returns a text that fits in a sort key, which has at most 1,024 bytes: of a longer text, the
// beginning and a hash.
func short(text string) string {
	const limit, begin = 1024, 900
	if len(text) <= limit {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return strings.ToValidUTF8(text[:begin], "") + hex.EncodeToString(sum[:])
}
