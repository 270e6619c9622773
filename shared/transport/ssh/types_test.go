package ssh_test

import (
	"context"
	"io"
	"os"
	"strconv"
	"time"

	"southbound/handlers/exec"
	"southbound/handlers/fs"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// definitions are the types that the program of the tests serves.
func definitions() []provider.Definition {
	return []provider.Definition{fs.File(), fs.Directory(), fs.Symlink(), fs.Line(), exec.Run(),
		slow(), whole()}
}

// slow is a type whose changes take until they are given up: a file says that they run, and in
// which process.
func slow() provider.Definition {
	return provider.Definition{Handler: slowHandler{},
		Type: schema.Type{Name: "test::Slow", Description: "Something slow.", Machine: true,
			Attributes: []schema.Attribute{
				{Name: "path", Type: "String[1]", Behaviour: schema.Namevar,
					Description: "the file that says that a change runs"},
				{Name: "file", Type: "Optional[String]", Behaviour: schema.Parameter,
					Description: "a file to read to its end"},
				{Name: "pid", Type: "Optional[String]", Behaviour: schema.ReadOnly,
					Description: "the process it was read in"},
			}}}
}

type slowHandler struct{}

func (slowHandler) Read(
	_ *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	path, _ := req.Resource.Attributes["path"].(string)
	if _, err := os.Stat(path); err != nil {
		return provider.Observation{}, nil // it is not there
	}
	return provider.Observation{Exists: true,
		Attributes: map[string]any{"pid": strconv.Itoa(os.Getpid())}}, nil
}

func (slowHandler) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	path, _ := req.Resource.Attributes["path"].(string)
	ctx.Info("it begins", "pid", os.Getpid(), "error", os.ErrClosed)
	ctx.Fact("pid", strconv.Itoa(os.Getpid()))
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return provider.Result{}, err
	}
	if hash, _ := req.Resource.Attributes["file"].(string); hash != "" {
		r, err := ctx.Files().Open(ctx, hash)
		if err != nil {
			return provider.Result{}, err
		}
		defer r.Close()
		n, err := io.Copy(io.Discard, r)
		ctx.Changed("bytes", nil, n)
		return provider.Result{Again: &provider.Again{After: time.Second,
			State: []byte(strconv.FormatInt(n, 10))}}, err
	}
	<-ctx.Done()
	return provider.Result{}, os.Remove(path)
}

func (slowHandler) Update(*provider.Context, provider.UpdateRequest) (provider.Result, error) {
	return provider.Result{}, nil
}

func (slowHandler) Delete(*provider.Context, provider.DeleteRequest) (provider.Result, error) {
	return provider.Result{}, nil
}

// ApplyBatch implements provider.BatchApplier.
func (h slowHandler) ApplyBatch(
	_ context.Context, items []provider.BatchChange,
) []provider.Applied {
	out := make([]provider.Applied, len(items))
	done := make(chan struct{})
	for i := range items {
		go func() {
			out[i].Result, out[i].Err = provider.Apply(h, items[i])
			done <- struct{}{}
		}()
	}
	for range items {
		<-done
	}
	return out
}
