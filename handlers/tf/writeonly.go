package tf

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/resource"
)

// withVersions adds the versions of write-only attributes. A provider compares x_wo_version only, and
// ignores a new value of x_wo alone. A version that the document omits becomes a hash of the
// attribute in the document: for a secret, of its name and version, never of its value.
func (s *session) withVersions(attributes map[string]any) map[string]any {
	stored := s.ctx.Stored()
	if stored == nil {
		return attributes
	}
	for name, v := range s.meta.configured(stored.Attributes) {
		version := name + "_version"
		if v == nil || attributes[name] == nil || attributes[version] != nil ||
			!s.ty.IsWriteOnly(name) {
			continue
		}
		n, err := versionOf(v)
		if err != nil || !s.ty.Cty().HasAttribute(version) {
			continue
		}
		switch s.ty.Cty().AttributeType(version) {
		case cty.Number:
			attributes[version] = n
		case cty.String:
			attributes[version] = strconv.FormatInt(n, 10)
		}
	}
	return attributes
}

// versionOf returns a hash of a stored value as a positive number of 31 bits, which fits the integers of all SDKs.
func versionOf(stored any) (int64, error) {
	text, err := resource.CanonicalValue(stored)
	if err != nil {
		return 0, err
	}
	sum := sha256.Sum256(text)
	return int64(binary.BigEndian.Uint32(sum[:4])&0x7fffffff) | 1, nil
}
