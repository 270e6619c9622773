package local

import (
	"fmt"
	"hash/crc32"
	"strings"

	"southbound/shared/fault"
)

// A record that is stored as JSON is followed by a seal on a line of its own. The seal is a
// checksum of the JSON and of the keys of the record. SQLite has no checksums, so a flipped bit in
// the address of an agent or in the value of a parameter would be deployed. See
// docs/design/embedded.md.

// sealed returns the stored form of a record in a table under these keys.
func sealed(v any, table string, keys ...string) string {
	text := toJSON(v)
	return text + sealOf(text, table, keys)
}

// sealOf returns the line of a seal, including the preceding line break.
func sealOf(text, table string, keys []string) string {
	sum := crc32.Checksum([]byte(table), castagnoli)
	for _, s := range append(keys, text) {
		sum = crc32.Update(sum, castagnoli, []byte{0})
		sum = crc32.Update(sum, castagnoli, []byte(s))
	}
	return fmt.Sprintf("\n%08x", sum)
}

// unseal decodes a record that sealed has encoded. It returns Damaged if the record has changed.
func unseal(stored string, v any, table string, keys ...string) error {
	text, err := intact(stored, table, keys)
	if err != nil {
		return err
	}
	return fromJSON(text, v)
}

// intact returns the JSON of a record without its seal, or Damaged if the JSON, the table or the
// keys differ from the sealed ones.
func intact(stored, table string, keys []string) (string, error) {
	text, _, _ := strings.Cut(stored, "\n") // JSON has no line breaks
	if stored != text+sealOf(text, table, keys) {
		return "", fault.New(fault.Damaged, "read state",
			"the record %q in table %s of %s is not as it was written", keys, table, dbName).
			WithHint("the disk, or something else, has changed the database; %s", damagedHint)
	}
	return text, nil
}
