// Package services keeps services and their instances in the table of the state.
// docs/design/services.md says how, and why.
//
//	services.go  the store, and the keys of its items
//	table.go     requests that are made again where DynamoDB wants it
//	record.go    items of instances, and what is remembered of them
//	plan.go      what a Write changes, as the items of one transaction
//	lead.go      the same of references, and of what nobody may refer to any more
//	write.go     transactions, and what became of them
//	generation.go what is chosen by looking at what others have
//	read.go      single instances, what refers to them, and their events
//	orders.go    orders of several instances
//	list.go      lists of instances, and of those with tasks
//	defined.go   definitions of services
//	define.go    how they are replaced
//	callbacks.go who is called for what happens to instances
//	pending.go   what they are to be told
//	passwords.go what models have made
//	cache.go     whether anybody is to be told
package services

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/pack"
	"southbound/shared/platform"
	"southbound/shared/service/inventory"
)

// API is what is needed of DynamoDB; *dynamodb.Client has it.
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

// Config says where services are.
type Config struct {
	API   API
	Table string // one that dynamo.Table describes
	// Cache is shared by the stores of a process; nil: this one has its own.
	Cache *CallbackCache
	// Sleep waits d or until ctx is done; nil: as the machine does.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Instances are the instances of services in a table. It implements inventory.Store, and may be
// used by any number of goroutines and processes.
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
	known map[instanceKey]facets // what this process has read or written last; guarded by mu
}

// lists finds instances by what the items of lists say of them.
type lists struct{ *recordItems }

// orderList keeps the orders.
type orderList struct{ *recordItems }

var (
	_ inventory.Store     = (*Instances)(nil)
	_ inventory.Owners    = (*Instances)(nil)
	_ inventory.Followers = (*Instances)(nil)
)

type instanceKey struct{ env, id string }

// New returns the instances in a table that exists.
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

// dictionary holds what stands in most records and events. It is part of the format.
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
	attrBody   = "b" // of a record, and of events
	attrEvents = "e" // how many events an instance has
	attrWas    = "h" // of a record: a hash of what is kept of it as a version
	attrID     = "i" // of the instance that has an identity
	attrState  = "t" // of an instance in a list
	attrVer    = "w" // the version of the service, there
	attrDue    = "d" // microseconds since 1970
	attrGuard  = "v" // changes with each write of a guard
	attrShut   = "c" // of a guard: nobody may refer to the instance
	// of what is to be told: the service of the instance
	attrService = "j"
)

// Keys. Each partition begins with what kind of items it has; names of environments have no slash,
// nor have ids and services.
const (
	recordSort = "."
	eventSort  = "e/"
	guardSort  = "g"
	wasSort    = "V/" // not between guards and those who refer
	wasEnd     = "V0"
	eventsEnd  = "e0"
	leadSort   = "r/"
	leadsEnd   = "r0"
	shards     = 4
)

func instancePart(env, id string) string { return "N/" + env + "/" + id }

func identityPart(env, service, identity string) string {
	sum := sha256.Sum256([]byte(service + "/" + identity))
	return "U/" + env + "/" + hex.EncodeToString(sum[:16])
}

func generationPart(env string) string { return "A/" + env }

func followPart(env string) string { return "F/" + env }

func duePart(env string, shard int) string { return fmt.Sprintf("D%d/%s", shard, env) }

// listPart is where an instance stands in lists; those that are deleted are in others.
func listPart(env string, shard int, deleted bool) string {
	if deleted {
		return fmt.Sprintf("X%d/%s", shard, env)
	}
	return fmt.Sprintf("O%d/%s", shard, env)
}

func shardOf(id string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return int(h.Sum32() % shards)
}

// place is where an instance stands among those of its service: by the time of its order, and id.
func place(created int64, id string) string {
	return fmt.Sprintf("%016x/%s", uint64(created)^1<<63, id) // order is kept
}

func listSort(service, place string) string { return service + "/" + place }

// listed returns what the sort key of an instance in a list says.
func listed(sort string) (service, place, id string) {
	service, place, _ = strings.Cut(sort, "/")
	_, id, _ = strings.Cut(place, "/")
	return service, place, id
}

func eventsSort(last int64) string { return fmt.Sprintf("%s%016x", eventSort, last) }

func versionSort(version int64) string { return fmt.Sprintf("%s%016x", wasSort, version) }

// newToken returns what nobody has had before.
func newToken() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // it never fails
	return hex.EncodeToString(raw[:])
}
