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

// API is the part of DynamoDB's API that Store uses. *dynamodb.Client implements it.
type API interface {
	Query(
		ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.QueryOutput, error)
	BatchWriteItem(
		ctx context.Context, in *dynamodb.BatchWriteItemInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.BatchWriteItemOutput, error)
}

// Objects stores values that are too large for items.
type Objects interface {
	Put(ctx context.Context, name string, data []byte) error
	// Get and GetPart return a fault.NotFound if the object does not exist.
	Get(ctx context.Context, name string) ([]byte, error)
	GetPart(ctx context.Context, name string, offset, size int) ([]byte, error)
	// Delete removes objects. An absent object is not an error.
	Delete(ctx context.Context, names ...string) error
	// ListPrefix calls f for every object whose name has a prefix, in order of name, until f
	// returns an error.
	ListPrefix(ctx context.Context, begin string, f func(name string, stored time.Time) error) error
}

// Config defines where the log is stored.
type Config struct {
	API     API
	Table   string // the state's table; its TTL is on ExpiryAttribute
	Objects Objects
	// Now returns the time. If it is nil, the system clock is used.
	Now func() time.Time
}

// ExpiryAttribute is the attribute of items with the time when they expire, in seconds since 1970.
const ExpiryAttribute = "x"

// Store holds the log. Any number of goroutines and processes may use it.
type Store struct {
	Config
	limits limits
	packer *pack.Packer
}

var _ dynamo.Log = (*Store)(nil)

// limits define how the log is divided into blocks and items. Tests use small limits.
type limits struct {
	block int // actions in a block
	bytes int // of a block, as JSON
	few   int // resources of a block that have an item each
	part  int // actions in one item of a resource
	// Compressed bytes of a block that is stored in its items. Above that, a PUT of an object is
	// cheaper.
	inline int
}

// New returns the log in a table. The table has to exist.
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

// dictionary contains text that most actions contain. It is part of the format.
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

// markOf returns a mark of two bytes that distinguishes most texts. It uses other bits of the hash
// than groupOf.
func markOf(s string) uint16 { return uint16(hash32(s) >> 16) } // the upper half

func hash32(s string) uint32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	sum := h.Sum64()
	return uint32(sum>>32) ^ uint32(sum)
}

// objectFolder returns the folder of the objects of an environment. In it they are sorted by the
// day on which they expire.
func objectFolder(env string) string {
	sum := sha256.Sum256([]byte(env))
	return hex.EncodeToString(sum[:10]) + "/"
}

const dayFormat = "20060102"

// sorted returns the sort key of an item: the largest id or the latest time in the item, and the
// name of its block.
func sorted(last, name string) string { return last + "/" + name }

// span is the longest time between the creation of the oldest and the newest id in a block.
const span = 15 * time.Minute

// idTime returns the creation time of an id. Ids with a time begin with twelve hexadecimal digits:
// milliseconds since 1970. For other ids idTime returns false.
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
