package local

import (
	"fmt"
	"hash/crc32"
	"strings"

	"southbound/shared/fault"
)

// A record that is stored as JSON has a seal behind it, a line of its own: a checksum of the JSON,
// and of what the record is found by. SQLite has none, and a flipped bit in the address of an agent
// or in the value of a parameter would be deployed. See docs/design/embedded.md.

// sealed returns a record as it is stored in a table under these keys.
func sealed(v any, table string, keys ...string) string {
	text := toJSON(v)
	return text + sealOf(text, table, keys)
}

// sealOf returns the line of a seal, with what is before it.
func sealOf(text, table string, keys []string) string {
	sum := crc32.Checksum([]byte(table), castagnoli)
	for _, s := range append(keys, text) {
		sum = crc32.Update(sum, castagnoli, []byte{0})
		sum = crc32.Update(sum, castagnoli, []byte(s))
	}
	return fmt.Sprintf("\n%08x", sum)
}

// unseal reads what sealed has returned. One that has changed since is Damaged.
func unseal(stored string, v any, table string, keys ...string) error {
	text, err := intact(stored, table, keys)
	if err != nil {
		return err
	}
	return fromJSON(text, v)
}

// intact returns the JSON of a record without its seal; Damaged if it is not what was sealed.
func intact(stored, table string, keys []string) (string, error) {
	text, _, _ := strings.Cut(stored, "\n") // JSON has none
	if stored != text+sealOf(text, table, keys) {
		return "", fault.New(fault.Damaged, "read state",
			"the record %q in table %s of %s is not as it was written", keys, table, dbName).
			WithHint("the disk, or something else, has changed the database; %s", damagedHint)
	}
	return text, nil
}
