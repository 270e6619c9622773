package services

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/service/inventory"
)

// An entry of an instance in a list has what filters and orders need. Its state and the version of
// its service are attributes of the item. The rest is one attribute: flags and sets, the time of the
// last change, the identity with its length, and a hash of each term, sorted by term. So an entry
// has at most one write unit.
const (
	flagNoIdentity = 1 << 6 // the identity is longer than maxListed
	flagNoTerms    = 1 << 7 // the instance has too many terms

	maxListed  = 128
	listedHead = 1 + 8 + 1
	termSize   = 6
)

// listing is the content of an entry.
type listing struct {
	state   string
	version int // of the service
	rest    string
}

func listingOf(r *inventory.Record) listing {
	return listing{state: r.State, version: r.ServiceVersion, rest: restOf(r)}
}

// restOf returns the attribute attrListed of an instance.
func restOf(r *inventory.Record) string {
	flags, identity := byte(inventory.SetsOf(r)), r.Identity
	if len(identity) > maxListed {
		flags, identity = flags|flagNoIdentity, ""
	}
	terms, all := inventory.Terms(r)
	if !all {
		flags |= flagNoTerms
	}
	out := []byte{flags}
	out = binary.BigEndian.AppendUint64(out, uint64(r.Updated.UnixMicro()))
	out = append(append(out, byte(len(identity))), identity...)
	for _, term := range terms {
		out = append(out, hashOf(term)...)
	}
	return string(out)
}

func hashOf(term string) string {
	sum := sha256.Sum256([]byte(term))
	return string(sum[:termSize])
}

// entryOf returns the entry of an item.
func entryOf(i item) entry {
	service, at, id := listed(attributevalue.TextOf(i, attrSort))
	e := entry{
		Position: inventory.Position{
			ID: id, Service: service, State: attributevalue.TextOf(i, attrState),
			Created: createdAt(at),
			Deleted: strings.HasPrefix(attributevalue.TextOf(i, attrPart), deletedLists),
		},
		place: at, version: int(attributevalue.NumberOf(i, attrVer)),
	}
	b := attributevalue.BytesOf(i, attrListed)
	if len(b) < listedHead || len(b) < listedHead+int(b[listedHead-1]) {
		e.noIdentity, e.noTerms = true, true // the record decides
		return e
	}
	e.Sets = inventory.Sets(b[0] &^ (flagNoIdentity | flagNoTerms))
	e.noIdentity, e.noTerms = b[0]&flagNoIdentity != 0, b[0]&flagNoTerms != 0
	e.Updated = int64(binary.BigEndian.Uint64(b[1:]))
	rest := b[listedHead:]
	n := int(b[listedHead-1])
	e.Identity, e.terms = string(rest[:n]), string(rest[n:])
	return e
}

// soughtBy returns the hashes of the terms of a query: of each list, an instance has at least one.
func soughtBy(q *inventory.Query) [][]string {
	var out [][]string
	for name, text := range q.Attributes {
		var hashes []string
		for _, term := range inventory.Sought(name, text) {
			hashes = append(hashes, hashOf(term))
		}
		out = append(out, hashes)
	}
	return out
}

// decides reports whether the entry shows that the instance matches a query, if it is a candidate,
// and what its place in the order is.
func (e *entry) decides(q *inventory.Query) bool {
	named := q.Identity != "" || q.Name != "" || q.Sort == inventory.ByIdentity
	return !(e.noIdentity && named || e.noTerms && len(q.Attributes) > 0)
}

// candidate reports whether the instance of the entry may match a query.
func (e *entry) candidate(q *inventory.Query, sought [][]string) bool {
	if e.noIdentity {
		without := *q
		without.Identity, without.Name = "", ""
		q = &without
	}
	if !q.Selects(&e.Position) {
		return false
	}
	for _, of := range sought {
		if !e.noTerms && !e.hasOne(of) {
			return false
		}
	}
	return true
}

// hasOne reports whether the entry has one of some hashes.
func (e *entry) hasOne(hashes []string) bool {
	for at := 0; at+termSize <= len(e.terms); at += termSize {
		for _, h := range hashes {
			if e.terms[at:at+termSize] == h {
				return true
			}
		}
	}
	return false
}
