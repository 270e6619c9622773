package logs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/dynamo"
	"southbound/shared/aws/pack"
	"southbound/shared/resource"
)

// API is what Store needs of DynamoDB; *dynamodb.Client has it.
type API interface {
	Query(
		ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.QueryOutput, error)
	BatchWriteItem(
		ctx context.Context, in *dynamodb.BatchWriteItemInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.BatchWriteItemOutput, error)
}

// Objects keeps what is too large for items.
type Objects interface {
	Put(ctx context.Context, name string, data []byte) error
	// Get returns NotFound when there is no such object, and so does GetPart.
	Get(ctx context.Context, name string) ([]byte, error)
	GetPart(ctx context.Context, name string, offset, size int) ([]byte, error)
	// Delete removes objects; absent ones are not an error.
	Delete(ctx context.Context, names ...string) error
	// ListPrefix calls f for every object whose name begins with a text, in the order of their
	// names, until f returns an error.
	ListPrefix(ctx context.Context, begin string, f func(name string, stored time.Time) error) error
}

// Config says where the log is.
type Config struct {
	API     API
	Table   string // that of the state; TTL is on the attribute ExpiryAttribute
	Objects Objects
	// Now tells the time; nil: that of the machine.
	Now func() time.Time
}

// ExpiryAttribute is the attribute of items that says when they expire, in seconds since 1970.
const ExpiryAttribute = "x"

// Store holds what was logged. It may be used by any number of goroutines and processes.
type Store struct {
	Config
	limits limits
	packer *pack.Packer
}

var _ dynamo.Log = (*Store)(nil)

// limits say how what is logged is cut up. Tests make them small.
type limits struct {
	block int // actions of a block
	bytes int // of a block, as JSON
	few   int // resources of a block that get an item each
	part  int // actions of one item of a resource
	// compressed bytes of a block that stands in its items: above, a PUT of an object is the
	// cheaper one
	inline int
}

// New returns the log in a table that exists.
func New(c Config) (*Store, error) {
	p, err := packs()
	if err != nil {
		return nil, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Store{Config: c, limits: limits{block: 2048, bytes: 8 << 20, few: 64, part: 256,
		inline: 4096}, packer: p}, nil
}

const dictID = 2

var packs = pack.Once(dictID, dictionary)

// dictionary holds what stands in most actions. It is part of the format.
const dictionary = `"messages":[{"at":"2026-01-01T00:00:00.000000000Z","level":"DEBUG","msg":"","kwargs":{"":""}},{"at":"2026-01-01T00:00:00.000000000Z","level":"INFO","msg":"` +
	`,{"at":"2026-","level":"WARNING","msg":"","kwargs":{"error":"` +
	`"outcome":"failed","change":"nochange","reason":"` + `"level":"ERROR","msg":"` +
	`{"name":"","of":"fs::File[web1,path=/","value":"","source":"fact","updated":"2026-` +
	`{"name":"","value":"","source":"user","updated":"2026-` +
	`"changes":{"":{"current":"","desired":""},"mode":{"current":null,"desired":"0644"}},"messages":[{"at":"","level":"INFO","msg":""}],"stale":true,"pack":"` +
	`[{"id":"0","resource":"fs::File[web1,path=/srv/","version":1,"action":"repair","outcome":"failed","change":"updated","started":"2026-","finished":"2026-` +
	`[{"id":"0","resource":"std::Null[a,name=","version":1,"action":"deploy","outcome":"deployed","change":"created","started":"2026-` + `","finished":"2026-`

const groupParts = 64

// Keys of partitions.

func timePart(env string) string { return "T/" + env }

func groupPart(env string, n int) string { return fmt.Sprintf("G%02x/%s", n, env) }

func resourcePart(env string, id resource.ID) string {
	sum := sha256.Sum256([]byte(env + "\x00" + string(id)))
	return "I/" + hex.EncodeToString(sum[:10])
}

func parameterPart(env string) string { return "H/" + env }

func groupOf(id resource.ID) int { return int(hash32(string(id)) % groupParts) }

// markOf tells most texts from one another with two bytes, none of them those that groupOf looks
// at.
func markOf(s string) uint16 { return uint16(hash32(s) >> 16) } // the upper half

func hash32(s string) uint32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	sum := h.Sum64()
	return uint32(sum>>32) ^ uint32(sum)
}

// objectFolder is where the objects of an environment stand: they are in the order of the days on
// which they expire.
func objectFolder(env string) string {
	sum := sha256.Sum256([]byte(env))
	return hex.EncodeToString(sum[:10]) + "/"
}

const dayFormat = "20060102"

// sorted is what orders items: the greatest id or the latest time in them, and the name of their
// block.
func sorted(last, name string) string { return last + "/" + name }

// span is how much later than its oldest id the newest id of a block may have been made.
const span = 15 * time.Minute

// idTime returns when an id was made: ids begin with twelve hexadecimal digits of milliseconds
// since 1970. Others have no time.
func idTime(id string) (time.Time, bool) {
	const digits = 12
	if len(id) < digits {
		return time.Time{}, false
	}
	ms, err := strconv.ParseInt(id[:digits], 16, 64)
	if err != nil || ms < 1e12 || ms > 1e13 {
		return time.Time{}, false
	}
	return time.UnixMilli(ms), true
}
