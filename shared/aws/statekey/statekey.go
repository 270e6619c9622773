// Package statekey keeps the key that seals the states of handlers in a parameter of the Parameter
// Store, encrypted by KMS. See docs/design/kept.md.
package statekey

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
	"southbound/shared/internal/seal"
)

// API is the part of the client of the Parameter Store that Keys uses.
type API interface {
	GetParameter(
		ctx context.Context, in *ssm.GetParameterInput, opts ...func(*ssm.Options),
	) (*ssm.GetParameterOutput, error)
	PutParameter(
		ctx context.Context, in *ssm.PutParameterInput, opts ...func(*ssm.Options),
	) (*ssm.PutParameterOutput, error)
}

// Name returns the name of the parameter of a stack.
func Name(prefix string) string { return "/southbound/" + prefix + "/state-key" }

// Keys reads the key of a stack once in a process, and makes it if there is none.
type Keys struct {
	API  API
	Name string
	// KMSKey is the key by which the Parameter Store encrypts the parameter; "": the account's own.
	KMSKey string
	Sleep  func(ctx context.Context, d time.Duration) error

	mu   sync.Mutex
	keys []seal.Key
}

const (
	reads     = 6 // of a parameter that exists and is not visible yet
	readPause = 200 * time.Millisecond
)

// Get returns the key.
func (k *Keys) Get(ctx context.Context) ([]seal.Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.keys) > 0 {
		return k.keys, nil
	}
	key, err := k.read(ctx)
	if awserr.Is(err, "ParameterNotFound") {
		key, err = k.make(ctx)
	}
	if err != nil {
		return nil, awserr.Fault("read the key of kept states, "+k.Name, err)
	}
	k.keys = []seal.Key{key}
	return k.keys, nil
}

func (k *Keys) read(ctx context.Context) (seal.Key, error) {
	out, err := k.API.GetParameter(ctx,
		&ssm.GetParameterInput{Name: &k.Name, WithDecryption: aws.Bool(true)})
	if err != nil {
		return seal.Key{}, err
	}
	return seal.ParseKey(aws.ToString(out.Parameter.Value))
}

// make writes a new key. If another process has written one since, its key counts, and is read.
func (k *Keys) make(ctx context.Context) (seal.Key, error) {
	key := seal.NewKey()
	in := &ssm.PutParameterInput{Name: &k.Name, Value: aws.String(key.Text()),
		Type: types.ParameterTypeSecureString, Overwrite: aws.Bool(false),
		Description: aws.String("Seals the states that handlers keep. Without it they are lost.")}
	if k.KMSKey != "" {
		in.KeyId = &k.KMSKey
	}
	_, err := k.API.PutParameter(ctx, in)
	if !awserr.Is(err, "ParameterAlreadyExists") {
		return key, err
	}
	for range reads {
		if key, err = k.read(ctx); !awserr.Is(err, "ParameterNotFound") {
			return key, err
		}
		if err := k.Sleep(ctx, readPause); err != nil {
			return key, err
		}
	}
	return key, fault.New(fault.Unavailable, "", "it was written by another process, and is not visible yet")
}
