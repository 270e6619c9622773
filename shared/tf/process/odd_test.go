package process_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// TestMain runs this program as an odd provider if a pool starts it, and as a program with a pool
// if TestKilledProgram starts it.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("ODD") != "":
		serve()
		return
	case os.Getenv("ODD_PARENT") != "":
		parent()
		return
	}
	os.Exit(m.Run())
}

// odd is a provider that behaves as the type of a request to read a resource demands. Other calls
// get an empty answer, which is a valid one.
type odd struct {
	server *grpc.Server

	mu      sync.Mutex
	stop    chan struct{} // closed by Stop
	facts   facts
	ballast []byte
}

// facts are what the provider knows of itself. It sends them as private bytes.
type facts struct {
	PID         int
	Environment []string
	Dir         string
	Stops       int // that it received
	Running     int // calls that run
	Cut         int // calls that ran during a Stop
}

func serve() {
	socket := filepath.Join(os.Getenv("TMPDIR"), "odd")
	l, err := net.Listen("unix", socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	dir, _ := os.Getwd()
	o := &odd{stop: make(chan struct{}), facts: facts{PID: os.Getpid(), Environment: os.Environ(),
		Dir: dir}}
	o.server = grpc.NewServer(grpc.UnknownServiceHandler(o.handle), grpc.ForceServerCodecV2(raw{}))
	fmt.Printf("1|6|unix|%s|grpc|\n", socket)
	_ = o.server.Serve(l)
}

func (o *odd) handle(_ any, s grpc.ServerStream) error {
	var q, a []byte
	if err := s.RecvMsg(&q); err != nil {
		return err
	}
	method, _ := grpc.MethodFromServerStream(s)
	switch method[strings.LastIndex(method, "/")+1:] {
	case "Shutdown":
		os.Exit(0)
	case "StopProvider":
		o.mu.Lock()
		o.facts.Stops++
		o.facts.Cut += o.facts.Running
		close(o.stop)
		o.stop = make(chan struct{})
		o.mu.Unlock()
	case "ReadResource":
		o.mu.Lock()
		o.facts.Running++
		stop := o.stop
		o.mu.Unlock()
		err := o.read(kind(q), stop, &a)
		o.mu.Lock()
		o.facts.Running--
		o.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return s.SendMsg(&a)
}

// kind returns the type of a request.
func kind(q []byte) string {
	_, _, n := protowire.ConsumeTag(q)
	name, _ := protowire.ConsumeString(q[n:])
	return name
}

func (o *odd) read(kind string, stop chan struct{}, a *[]byte) error {
	name, arg, _ := strings.Cut(kind, " ")
	switch name {
	case "crash":
		fmt.Fprintln(os.Stderr, arg)
		os.Exit(3)
	case "long": // until it is stopped
		_ = os.WriteFile(arg, nil, 0o600)
		<-stop
	case "deaf":
		_ = os.WriteFile(arg, nil, 0o600)
		select {}
	case "wait": // until a file is removed
		_ = os.WriteFile(arg, nil, 0o600)
		for there(arg) {
			time.Sleep(2 * time.Millisecond)
		}
	case "large":
		*a = make([]byte, 1<<30)
		return nil
	case "nonsense":
		*a = []byte{0x0a, 0x7f}
		return nil
	case "status":
		return status.Error(codes.Internal, arg)
	case "none":
		return status.Error(codes.Unimplemented, "unknown method")
	case "heavy":
		o.ballast = make([]byte, 200<<20)
		for i := range o.ballast {
			o.ballast[i] = 1
		}
	case "log":
		fmt.Fprintln(os.Stderr, arg)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	b, _ := json.Marshal(o.facts)
	*a = protowire.AppendBytes(protowire.AppendTag(nil, 3, protowire.BytesType), b)
	return nil
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// raw passes messages as bytes.
type raw struct{}

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func (raw) Name() string { return "proto" }
