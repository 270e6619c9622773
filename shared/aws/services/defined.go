package services

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
)

// Definitions stores the definitions of services in a table. It implements definition.Store. Any
// number of goroutines and processes may use it.
type Definitions struct {
	table

	mu    sync.Mutex
	texts map[string][]byte // by digest; texts never change
	size  int
}

var _ definition.Store = (*Definitions)(nil)

// NewDefinitions returns the definitions in a table. The table has to exist.
func NewDefinitions(c Config) (*Definitions, error) {
	t, err := newTable(c)
	return &Definitions{table: t, texts: map[string][]byte{}}, err
}

const offerPart = "S"

func textPart(env string) string { return "S/" + env }

const (
	textSort    = "t/"
	droppedSort = "o/"
	droppedEnd  = "o0"
)

// droppedKey returns the key of the item which records that offer number seq was the last with a
// definition.
func droppedKey(env, digest string, seq int64) item {
	return key(textPart(env), fmt.Sprintf("%s%s/%016x", droppedSort, digest, seq))
}

// offer is the list of services that the last Put gave an environment.
type offer struct {
	Bundle string `json:"bundle"`
	// Models are the bundles that are retained, the current one first.
	Models   []string  `json:"models,omitempty"`
	Services []offered `json:"services,omitempty"`

	seq int64 // 0: the environment has no offer
}

// offered is a version of a service in an offer.
type offered struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	Default bool   `json:"default,omitempty"`
	Digest  string `json:"digest"`
}

// offer reads the offer of an environment. A process that accepts an order reads the offer first,
// so it also learns whether the environment has callbacks.
func (d *Definitions) offer(ctx context.Context, env string) (*offer, error) {
	items, err := d.getWithCallbacks(ctx, env, []item{key(offerPart, env)})
	if err != nil || len(items) == 0 {
		return &offer{}, err
	}
	return d.offerOf(items[0])
}

func (d *Definitions) offerOf(i item) (*offer, error) {
	o := &offer{seq: attributevalue.NumberOf(i, attrSeq)}
	return o, d.unpack(i, o)
}

// find returns the index of the first service for which f returns true, or -1.
func (o *offer) find(f func(one *offered) bool) int {
	for i := range o.Services {
		if f(&o.Services[i]) {
			return i
		}
	}
	return -1
}

const maxTexts = 32 << 20 // limit of the cache of texts, in bytes

// bodies returns texts by their digests. If a text is missing, it returns an error.
func (d *Definitions) bodies(
	ctx context.Context, env string, digests []string,
) (map[string][]byte, error) {
	out := map[string][]byte{}
	var keys []item
	d.mu.Lock()
	for _, digest := range digests {
		_, asked := out[digest]
		body, ok := d.texts[digest]
		out[digest] = body
		if !ok && !asked {
			keys = append(keys, key(textPart(env), textSort+digest))
		}
	}
	d.mu.Unlock()
	items, err := d.getMany(ctx, keys)
	if err != nil {
		return nil, err
	}
	for _, i := range items {
		digest := strings.TrimPrefix(attributevalue.TextOf(i, attrSort), textSort)
		raw, err := d.packer.Unpack(attributevalue.BytesOf(i, attrBody))
		if err != nil {
			return nil, damagedText(digest)
		}
		out[digest] = raw
		d.keep(digest, raw)
	}
	for digest, body := range out {
		if body == nil {
			return nil, damagedText(digest)
		}
	}
	return out, nil
}

func damagedText(digest string) error {
	return fault.New(fault.Damaged, opRead,
		"the definition %s is missing or does not decode", digest).
		WithHint("the table was changed by something else; export the services again")
}

// keep caches a text. If the cache exceeds maxTexts, keep clears it first.
func (d *Definitions) keep(digest string, body []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.size += len(body); d.size > maxTexts {
		clear(d.texts)
		d.size = len(body)
	}
	d.texts[digest] = body
}

// read returns definitions of an offer.
func (d *Definitions) read(
	ctx context.Context, env string, list []offered,
) ([]definition.Service, error) {
	var digests []string
	for i := range list {
		digests = append(digests, list[i].Digest)
	}
	bodies, err := d.bodies(ctx, env, digests)
	if err != nil {
		return nil, err
	}
	out := make([]definition.Service, len(list))
	for i, one := range list {
		if out[i], err = definition.Parse(bodies[one.Digest]); err != nil {
			return nil, err
		}
		out[i].Name, out[i].Version, out[i].Default = one.Name, one.Version, one.Default
		out[i].Environment = env
	}
	return out, nil
}

// All implements definition.Store.
func (d *Definitions) All(ctx context.Context, env string) ([]definition.Service, error) {
	o, err := d.offer(ctx, env)
	if err != nil {
		return nil, err
	}
	out, err := d.read(ctx, env, o.Services)
	definition.Sort(out)
	return out, err
}

// One implements definition.Store.
func (d *Definitions) One(
	ctx context.Context, env, name string, version int,
) (definition.Service, error) {
	o, err := d.offer(ctx, env)
	if err != nil {
		return definition.Service{}, err
	}
	i := o.find(func(one *offered) bool {
		return one.Name == name && (one.Version == version || version < 0 && one.Default)
	})
	if i < 0 {
		return definition.Service{}, definition.ErrNone(name, version)
	}
	out, err := d.read(ctx, env, o.Services[i:i+1])
	if err != nil {
		return definition.Service{}, err
	}
	return out[0], nil
}

// Of implements definition.Store.
func (d *Definitions) Of(
	ctx context.Context, env, name string, version int, digest string,
) (definition.Kept, error) {
	o, err := d.offer(ctx, env)
	if err != nil {
		return definition.Kept{}, err
	}
	want, bundle := offered{Name: name, Version: version, Digest: digest}, o.Bundle
	i := o.find(func(one *offered) bool {
		return one.Name == name && one.Version == version && (digest == "" || one.Digest == digest)
	})
	switch {
	case i >= 0:
		want = o.Services[i]
	case digest == "":
		return definition.Kept{}, definition.ErrNone(name, version)
	case o.find(func(one *offered) bool { return one.Digest == digest }) < 0:
		if bundle, err = d.dropped(ctx, env, digest); err != nil {
			return definition.Kept{}, err
		}
		if bundle == "" {
			return definition.Kept{}, definition.ErrNone(name, version)
		}
	}
	out, err := d.read(ctx, env, []offered{want})
	if err != nil {
		return definition.Kept{}, err
	}
	return definition.Kept{Service: out[0], Digest: want.Digest, Bundle: bundle}, nil
}

// dropped returns the bundle of a definition that is no longer offered, or "".
func (d *Definitions) dropped(ctx context.Context, env, digest string) (string, error) {
	bundle := ""
	in := &dynamodb.QueryInput{ScanIndexForward: aws.Bool(false), Limit: aws.Int32(1)}
	from := droppedSort + digest
	err := d.query(ctx, in, textPart(env), from+"/", from+"0", func(i item) bool {
		bundle = attributevalue.TextOf(i, attrID)
		return false
	})
	return bundle, err
}

// Bundle implements definition.Store.
func (d *Definitions) Bundle(ctx context.Context, env string) (string, error) {
	o, err := d.offer(ctx, env)
	if err != nil {
		return "", err
	}
	if o.seq == 0 {
		return "", definition.ErrNoBundle()
	}
	return o.Bundle, nil
}

// Models implements definition.Store.
func (d *Definitions) Models(ctx context.Context, env string) ([]string, error) {
	o, err := d.offer(ctx, env)
	if err != nil {
		return nil, err
	}
	return o.Models, nil
}

// Bundles implements definition.Store.
func (d *Definitions) Bundles(ctx context.Context) ([]string, error) {
	offers, damaged := map[string]*offer{}, error(nil)
	err := d.query(ctx, nil, offerPart, "", "", func(i item) bool {
		offers[attributevalue.TextOf(i, attrSort)], damaged = d.offerOf(i)
		return damaged == nil
	})
	if err != nil || damaged != nil {
		return nil, firstOf(err, damaged)
	}
	var out []string
	for env, o := range offers {
		last := map[string]string{} // by digest; notes come in order of number
		err := d.query(ctx, nil, textPart(env), droppedSort, droppedEnd, func(i item) bool {
			digest, _, _ := strings.Cut(
				strings.TrimPrefix(attributevalue.TextOf(i, attrSort), droppedSort),
				"/",
			)
			last[digest] = attributevalue.TextOf(i, attrID)
			return true
		})
		if err != nil {
			return nil, err
		}
		for i := range o.Services {
			delete(last, o.Services[i].Digest)
		}
		for _, bundle := range last {
			out = append(out, bundle)
		}
		out = append(out, o.Models...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
