package statekey

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"southbound/shared/fault"
	"southbound/shared/internal/seal"
)

// parameters are one parameter, which reads see only after some reads.
type parameters struct {
	mu     sync.Mutex
	value  string
	hidden int // reads until it is visible
	puts   int
	denied bool
}

func (p *parameters) GetParameter(
	_ context.Context, in *ssm.GetParameterInput, _ ...func(*ssm.Options),
) (*ssm.GetParameterOutput, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.denied || !*in.WithDecryption {
		return nil, &types.InternalServerError{}
	}
	if p.value == "" || p.hidden > 0 {
		p.hidden--
		return nil, &types.ParameterNotFound{}
	}
	return &ssm.GetParameterOutput{Parameter: &types.Parameter{Value: aws.String(p.value)}}, nil
}

func (p *parameters) PutParameter(
	_ context.Context, in *ssm.PutParameterInput, _ ...func(*ssm.Options),
) (*ssm.PutParameterOutput, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.puts++
	if p.value != "" {
		return nil, &types.ParameterAlreadyExists{}
	}
	p.value = *in.Value
	return &ssm.PutParameterOutput{}, nil
}

// TestOneKey pins that all processes of a stack get one key, whoever makes it, and that each reads
// it once.
func TestOneKey(t *testing.T) {
	t.Parallel()
	there := seal.NewKey()
	for name, c := range map[string]struct {
		store *parameters
		puts  int
		want  fault.Kind // Unknown: a key
	}{
		"None":    {&parameters{}, 1, fault.Unknown},
		"There":   {&parameters{value: there.Text()}, 0, fault.Unknown},
		"Late":    {&parameters{value: there.Text(), hidden: 3}, 1, fault.Unknown},
		"Lost":    {&parameters{value: there.Text(), hidden: 100}, 1, fault.Unavailable},
		"Damaged": {&parameters{value: "key"}, 0, fault.Invalid},
		"Refused": {&parameters{denied: true}, 0, fault.Unavailable},
	} {
		k := &Keys{API: c.store, Name: Name("sb-1"),
			Sleep: func(context.Context, time.Duration) error { return nil }}
		keys, err := k.Get(t.Context())
		again, _ := k.Get(t.Context())
		switch {
		case c.want != fault.Unknown:
			if !fault.Is(err, c.want) || keys != nil {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || len(keys) != 1 || keys[0].Text() != c.store.value || keys[0] != again[0] ||
			c.store.puts != c.puts:
			t.Errorf("%s: %v, %v, %d puts", name, keys, err, c.store.puts)
		}
	}
}
