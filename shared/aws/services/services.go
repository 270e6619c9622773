// Package services stores services and their instances in the table of the state.
// docs/design/services.md explains the design.
//
//	services.go  the store, and the keys of its items
//	table.go     requests to DynamoDB, with retries
//	record.go    items of instances, and the cache of their facets
//	plan.go      the changes of a Write, as the items of one transaction
//	lead.go      references between instances, and the guards that forbid them
//	write.go     transactions and their results
//	generation.go generations, which guard values that depend on other instances
//	read.go      single instances, the instances that refer to them, and their versions
//	events.go    events of instances, and the texts of their compiles
//	orders.go    orders of several instances
//	list.go      lists of instances, and of instances with tasks
//	entry.go     entries of instances in lists: what filters and orders need
//	defined.go   definitions of services
//	define.go    replacement of definitions
//	follow.go    instances that follow resources
//	callbacks.go callbacks for events of instances
//	pending.go   events to deliver to callbacks
//	passwords.go generated passwords
//	mark.go      marks, by which the state reports changes
//	cache.go     which environments have callbacks
package services

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/pack"
	"southbound/shared/platform"
	"southbound/shared/service/inventory"
)

// API is the part of DynamoDB's API that this package uses. *dynamodb.Client implements it.
type API interface {
	BatchWriteItem(
		ctx context.Context, in *dynamodb.BatchWriteItemInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.BatchWriteItemOutput, error)
	BatchGetItem(
		ctx context.Context, in *dynamodb.BatchGetItemInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.BatchGetItemOutput, error)
	GetItem(
		ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.GetItemOutput, error)
	Query(
		ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.QueryOutput, error)
	TransactWriteItems(
		ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.TransactWriteItemsOutput, error)
}

// Config configures the stores of services.
type Config struct {
	API   API
	Table string // one that dynamo.Table describes
	// Cache is shared by the stores of a process. If it is nil, the store uses its own.
	Cache *CallbackCache
	// Mark makes the store replace a mark of an environment with each write of instances, orders or
	// definitions, so that dynamo.State reports the change.
	Mark bool
	// Sleep waits for d or until ctx is done. If it is nil, the store uses the system clock.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Instances stores the instances of services in a table. It implements inventory.Store. Any number
// of goroutines and processes may use it.
type Instances struct {
	table
	*recordItems
	*lists
	*orderList
}

// recordItems reads and writes the items of instances.
type recordItems struct {
	table

	mu    sync.Mutex
	known map[instanceKey]facets // facets that this process read or wrote last; guarded by mu
}

// lists finds instances by the items of lists.
type lists struct{ *recordItems }

// orderList stores the orders.
type orderList struct{ *recordItems }

var (
	_ inventory.Store  = (*Instances)(nil)
	_ inventory.Owners = (*Instances)(nil)

	_ inventory.Followers = (*Instances)(nil)
)

type instanceKey struct{ env, id string }

// New returns the instances in a table. The table has to exist.
func New(c Config) (*Instances, error) {
	t, err := newTable(c)
	r := &recordItems{table: t, known: map[instanceKey]facets{}}
	return &Instances{table: t, recordItems: r, lists: &lists{r}, orderList: &orderList{r}}, err
}

func newTable(c Config) (table, error) {
	p, err := packs()
	if c.Cache == nil {
		c.Cache = &CallbackCache{}
	}
	if c.Sleep == nil {
		c.Sleep = platform.Clock{}.Sleep
	}
	return table{c, p}, err
}

const dictID = 3

var packs = pack.Once(dictID, dictionary)

// dictionary contains text that most records and events contain. It is part of the format.
const dictionary = `[{"seq":1,"timestamp":"2026-01-01T00:00:00.000000000Z",` +
	`"service_instance_version":1,"event_type":"auto","source":"start","destination":"creating",` +
	`"is_error_transition":true,"message":"","more":{"` + `"on_update""on_delete""resource_based"` +
	`"validate_error""rejected""acknowledged""inprogress""rollback""failed""terminated"` +
	`{"id":"00000000-0000-0000-0000-000000000000","service_entity":"","service_entity_version":1,` +
	`"state":"up","version":1,"desired_state_version":1,"candidate_attributes":null,` +
	`"active_attributes":{"name":"","":null},"rollback_attributes":null,"config":null,` +
	`"deleted":false,"outcome":"deployed","validating":"","trigger":"auto",` +
	`"service_identity_attribute_value":"","references":["00000000-"],"closed":true,` +
	`"callback":"https://","metadata":{"":""},"created_at":"2026-01-01T00:00:00.000000000Z",` +
	`"last_updated":"2026-01-01T00:00:00.000000000Z","tasks":[{"kind":"validate","number":1,` +
	`"set":"candidate"},{"kind":"export","number":1,"present":true,"purge":true},` +
	`{"kind":"continue"}],"due":"2026-`

// The attributes of items.
const (
	attrPart   = "k" // partition key
	attrSort   = "s" // sort key
	attrSeq    = "n" // revision of a record
	attrBody   = "b" // body of a record, or of events
	attrEvents = "e" // number of events of an instance
	attrWas    = "h" // of a record: hash of the content that its version retains
	attrID     = "i" // id of the instance that has an identity
	attrState  = "t" // state of an instance in a list
	attrVer    = "w" // version of the service, in a list
	attrListed = "x" // of an instance in a list: the rest that filters and orders need
	attrDue    = "d" // microseconds since 1970
	// of texts: seconds since 1970, after which DynamoDB removes the item. It is the attribute of
	// the table, and counts only if it is a number
	attrExpires = "x"
	attrGuard   = "v" // changes with each write of a guard
	attrShut    = "c" // of a guard: no instance may refer to this one
	// of pending events: the service of the instance
	attrService = "j"
)

// Keys. Each partition key begins with the kind of its items. Names of environments contain no
// slash, nor do ids and names of services.
const (
	recordSort = "."
	eventSort  = "e/"
	guardSort  = "g"
	wasSort    = "V/" // not between the guard and the references, which one query reads
	wasEnd     = "V0"
	eventsEnd  = "e0"
	leadSort   = "r/"
	leadsEnd   = "r0"
	shards     = 4

	deletedLists = "X" // begins the partitions of deleted instances
)

func instancePart(env, id string) string { return "N/" + env + "/" + id }

func identityPart(env, service, identity string) string {
	sum := sha256.Sum256([]byte(service + "/" + identity))
	return "U/" + env + "/" + hex.EncodeToString(sum[:16])
}

func generationPart(env string) string { return "A/" + env }

func followPart(env string) string { return "F/" + env }

func duePart(env string, shard int) string { return fmt.Sprintf("D%d/%s", shard, env) }

// listPart returns the partition with the list entry of an instance. Deleted instances have
// partitions of their own.
func listPart(env string, shard int, deleted bool) string {
	if deleted {
		return fmt.Sprintf(deletedLists+"%d/%s", shard, env)
	}
	return fmt.Sprintf("O%d/%s", shard, env)
}

func shardOf(id string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return int(h.Sum32() % shards)
}

// place returns the position of an instance among the instances of its service: by creation time,
// then by id.
func place(created int64, id string) string {
	return fmt.Sprintf("%016x/%s", uint64(created)^1<<63, id) // flip the sign bit: keeps the order
}

// createdAt returns the creation time in a place.
func createdAt(place string) int64 {
	text, _, _ := strings.Cut(place, "/")
	at, _ := strconv.ParseUint(text, 16, 64) // only place writes places
	return int64(at ^ 1<<63)
}

func listSort(service, place string) string { return service + "/" + place }

// listed parses the sort key of an instance in a list.
func listed(sort string) (service, place, id string) {
	service, place, _ = strings.Cut(sort, "/")
	_, id, _ = strings.Cut(place, "/")
	return service, place, id
}

func eventsSort(last int64) string { return fmt.Sprintf("%s%016x", eventSort, last) }

func versionSort(version int64) string { return fmt.Sprintf("%s%016x", wasSort, version) }

// newToken returns a random token that was never used before.
func newToken() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // it never fails
	return hex.EncodeToString(raw[:])
}
