package wire

import (
	"context"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"southbound/shared/fault"
)

// MaxMessage bounds a message in either direction. The schemas of the largest providers take tens
// of megabytes.
const MaxMessage = 256 << 20

// maxHeaders bounds the headers of an answer.
const maxHeaders = 64 << 10

// Client calls a provider that runs. Calls may run concurrently. An error of a call is a *fault.Error
// whose kind is Unavailable if the provider ended, Canceled or Timeout if the context ended, and
// Unsupported if the same call would fail again. Errors of the provider itself come as diagnostics.
//
// Large: it has one method for each call of the protocol.
type Client struct {
	protocol Protocol
	conn     *grpc.ClientConn
}

// Dial returns a client of the provider that has printed h. It connects with the first call. The
// caller calls Close.
func Dial(h Handshake) (*Client, error) {
	conn, err := grpc.NewClient("passthrough:///provider",
		grpc.WithTransportCredentials(insecure.NewCredentials()), // a socket in a private folder
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", h.Socket)
		}),
		grpc.WithNoProxy(), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0), grpc.WithMaxHeaderListSize(maxHeaders),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}),
			grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "connect to the provider", err)
	}
	return &Client{h.Protocol, conn}, nil
}

// Protocol returns the version that the provider speaks.
func (c *Client) Protocol() Protocol { return c.protocol }

// Close closes the connection. The provider goes on running.
func (c *Client) Close() error { return c.conn.Close() }

// ErrLost is in the chain of the error of a call whose connection was lost. The effect of the call
// is not known.
var ErrLost = errors.New("connection lost")

// codec passes messages that are encoded already.
type codec struct{}

// Marshal implements encoding.CodecV2.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.(message))}, nil
}

// Unmarshal implements encoding.CodecV2.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*message) = data.Materialize()
	return nil
}

// Name implements encoding.CodecV2.
func (codec) Name() string { return "proto" }

// call sends a request, and reads the answer by read. The method has one name in each version.
func (c *Client) call(
	ctx context.Context, v5, v6 string, request message, read func(answer field),
) error {
	method := "/tfplugin6.Provider/" + v6
	if c.protocol == Protocol5 {
		method = "/tfplugin5.Provider/" + v5
	}
	if request == nil {
		request = message{}
	}
	var answer message
	if err := c.conn.Invoke(ctx, method, request, &answer); err != nil {
		return callFault(ctx, v6, err)
	}
	r := &reader{protocol: c.protocol}
	read(field{r: r, kind: protowire.BytesType, data: answer})
	if r.err != nil {
		return (&fault.Error{Kind: fault.Unsupported, Op: v6,
			Message: "the answer of the provider is not readable", Err: r.err}).
			WithHint("install another version of the provider")
	}
	return nil
}

// callFault returns the error of a call for an error of gRPC.
func callFault(ctx context.Context, method string, err error) error {
	s := status.Convert(err)
	out := &fault.Error{Op: method, Err: errors.New(s.Message())}
	switch s.Code() {
	case codes.Canceled, codes.DeadlineExceeded:
		if ended := fault.Ended(ctx); ended != nil {
			return fault.Wrap(fault.KindOf(ctx.Err()), method, ended)
		}
		out.Kind, out.Message = fault.Unavailable, "the provider has canceled the call"
		out.Err = fmt.Errorf("%w: %s", ErrLost, s.Message())
	case codes.Unavailable:
		out.Kind, out.Message = fault.Unavailable, "the provider ended during the call"
		out.Err = fmt.Errorf("%w: %s", ErrLost, s.Message())
	case codes.Unimplemented:
		out.Kind, out.Message = fault.Unsupported, "the provider does not implement this call"
		out.Hint = "install a newer version of the provider"
	case codes.ResourceExhausted:
		out.Kind = fault.Unsupported
		out.Message = fmt.Sprintf("a message exceeds the limit of %d MiB", MaxMessage>>20)
		out.Hint = "split the resource into smaller ones, or install another version of the provider"
	default:
		out.Kind, out.Message = fault.Internal, "the provider failed"
		out.Hint = "report this error to the authors of the provider"
	}
	return out
}
