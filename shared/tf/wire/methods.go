package wire

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"southbound/shared/fault"
)

// Schemas returns the schemas of the provider, and diagnostics about them.
func (c *Client) Schemas(ctx context.Context) (out Schemas, d []Diagnostic, err error) {
	err = c.call(ctx, "GetSchema", "GetProviderSchema", nil, func(a field) { out, d = a.schemas() })
	return out, d, err
}

// Identities returns the identities of the resource types that have one. Old providers do not
// implement it: fault.Unsupported.
func (c *Client) Identities(
	ctx context.Context,
) (out map[string]IdentitySchema, d []Diagnostic, err error) {
	const method = "GetResourceIdentitySchemas"
	err = c.call(ctx, method, method, nil, func(a field) { out, d = a.identities() })
	return out, d, err
}

// Metadata returns the names of the provider's types. Old providers do not implement it:
// fault.Unsupported.
func (c *Client) Metadata(ctx context.Context) (out Metadata, d []Diagnostic, err error) {
	err = c.call(ctx, "GetMetadata", "GetMetadata", nil, func(a field) { out, d = a.metadata() })
	return out, d, err
}

// PrepareConfig validates the configuration of the provider, and returns the configuration to pass
// to Configure. Providers of version 5 may change it.
func (c *Client) PrepareConfig(
	ctx context.Context, config DynamicValue,
) (out DynamicValue, d []Diagnostic, err error) {
	var q message
	q.value(1, config)
	out = config
	err = c.call(ctx, "PrepareProviderConfig", "ValidateProviderConfig", q, func(a field) {
		prepared, found := a.valueAnswer(1, 2)
		if d = found; c.protocol == Protocol5 && !prepared.Absent() {
			out = prepared
		}
	})
	return out, d, err
}

// Configure configures the provider. It is called once, before all calls but Schemas, Identities,
// Metadata and validations. version is the version of Terraform that this client resembles.
func (c *Client) Configure(
	ctx context.Context, version string, config DynamicValue,
) (d []Diagnostic, err error) {
	var q message
	q.text(1, version)
	q.value(2, config)
	err = c.call(ctx, "Configure", "ConfigureProvider", q,
		func(a field) { _, d = a.valueAnswer(0, 1) })
	return d, err
}

// ValidateResource validates the configuration of a resource.
func (c *Client) ValidateResource(
	ctx context.Context, typeName string, config DynamicValue,
) (d []Diagnostic, err error) {
	var q message
	q.text(1, typeName)
	q.value(2, config)
	q.writeOnly(3)
	err = c.call(ctx, "ValidateResourceTypeConfig", "ValidateResourceConfig", q,
		func(a field) { _, d = a.valueAnswer(0, 1) })
	return d, err
}

// ValidateDataSource validates the configuration of a data source.
func (c *Client) ValidateDataSource(
	ctx context.Context, typeName string, config DynamicValue,
) (d []Diagnostic, err error) {
	var q message
	q.text(1, typeName)
	q.value(2, config)
	err = c.call(ctx, "ValidateDataSourceConfig", "ValidateDataResourceConfig", q,
		func(a field) { _, d = a.valueAnswer(0, 1) })
	return d, err
}

// UpgradeState returns a stored state, JSON of the given version of the schema, as a state of the
// provider's version.
func (c *Client) UpgradeState(
	ctx context.Context, typeName string, version int64, json []byte,
) (DynamicValue, []Diagnostic, error) {
	return c.upgrade(ctx, "UpgradeResourceState", typeName, version, json, field.value)
}

// UpgradeIdentity is UpgradeState of an identity.
func (c *Client) UpgradeIdentity(
	ctx context.Context, typeName string, version int64, json []byte,
) (DynamicValue, []Diagnostic, error) {
	return c.upgrade(ctx, "UpgradeResourceIdentity", typeName, version, json, field.identity)
}

func (c *Client) upgrade(
	ctx context.Context, method, typeName string, version int64, json []byte,
	value func(field) DynamicValue,
) (out DynamicValue, d []Diagnostic, err error) {
	var q message
	q.text(1, typeName)
	q.number(2, version)
	q.rawState(3, json)
	err = c.call(ctx, method, method, q, func(a field) {
		a.each(func(f field) {
			switch f.number {
			case 1:
				out = value(f)
			case 2:
				d = append(d, f.diagnostic())
			}
		})
	})
	return out, d, err
}

// Read returns the present state of a resource.
func (c *Client) Read(ctx context.Context, q Read) (out ReadAnswer, err error) {
	err = c.call(ctx, "ReadResource", "ReadResource", q.encode(),
		func(a field) { out = a.readAnswer() })
	return out, err
}

// Plan returns the effect of a change.
func (c *Client) Plan(ctx context.Context, q Plan) (out PlanAnswer, err error) {
	const method = "PlanResourceChange"
	err = c.call(ctx, method, method, q.encode(), func(a field) { out = a.planAnswer() })
	return out, err
}

// Apply executes a plan. If ctx ends before the answer, its effect is not known.
func (c *Client) Apply(ctx context.Context, q Apply) (out ApplyAnswer, err error) {
	const method = "ApplyResourceChange"
	err = c.call(ctx, method, method, q.encode(), func(a field) { out = a.applyAnswer() })
	return out, err
}

// Import returns the states of an existing resource. It may succeed although the resource does not
// exist; Read decides.
func (c *Client) Import(ctx context.Context, q Import) (out ImportAnswer, err error) {
	const method = "ImportResourceState"
	err = c.call(ctx, method, method, q.encode(), func(a field) { out = a.importAnswer() })
	return out, err
}

// Move returns the state of another type as a state of the requested type.
func (c *Client) Move(ctx context.Context, q Move) (out MoveAnswer, err error) {
	const method = "MoveResourceState"
	err = c.call(ctx, method, method, q.encode(), func(a field) { out = a.moveAnswer() })
	return out, err
}

// List calls found for each object of a type that the provider lists, until found returns an error,
// which it returns.
func (c *Client) List(ctx context.Context, q List, found func(Listed) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream
	const name = "ListResource"
	method := "/tfplugin6.Provider/" + name
	if c.protocol == Protocol5 {
		method = "/tfplugin5.Provider/" + name
	}
	stream, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err == nil {
		if err = stream.SendMsg(q.encode()); err == nil {
			err = stream.CloseSend()
		}
	}
	for err == nil {
		var m message
		if err = stream.RecvMsg(&m); err != nil {
			break
		}
		r := &reader{protocol: c.protocol}
		one := field{r: r, kind: protowire.BytesType, data: m}.listed()
		if r.err != nil {
			return (&fault.Error{Kind: fault.Unsupported, Op: name,
				Message: "the answer of the provider is not readable", Err: r.err}).
				WithHint("install another version of the provider")
		}
		if err := found(one); err != nil {
			return err
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return callFault(ctx, name, err)
}

// ReadDataSource returns the state of a data source.
func (c *Client) ReadDataSource(
	ctx context.Context, typeName string, config, providerMeta DynamicValue,
) (out DynamicValue, d []Diagnostic, err error) {
	var q message
	q.text(1, typeName)
	q.value(2, config)
	q.value(3, providerMeta)
	q.writeOnly(4)
	err = c.call(ctx, "ReadDataSource", "ReadDataSource", q, func(a field) {
		a.each(func(f field) {
			switch f.number {
			case 1:
				out = f.value()
			case 2:
				d = append(d, f.diagnostic())
			case 3:
				f.deferred()
			}
		})
	})
	return out, d, err
}

// Stop cancels all calls that run. The provider answers them, and serves later calls.
func (c *Client) Stop(ctx context.Context) error {
	var text string
	err := c.call(ctx, "Stop", "StopProvider", nil, func(a field) {
		a.each(func(f field) {
			if f.number == 1 {
				text = f.text()
			}
		})
	})
	if err == nil && text != "" {
		err = fault.New(fault.Internal, "StopProvider", "%s", text)
	}
	return err
}

// Output writes the output of the provider to w until the connection is lost. It is called once, soon
// after the start: providers on go-plugin redirect their own output to this stream after the
// handshake, and a provider blocks when more output waits than fits. A provider without this
// stream has no such output.
func (c *Client) Output(w io.Writer) {
	stream, err := c.conn.NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true},
		"/plugin.GRPCStdio/StreamStdio")
	if err != nil || stream.SendMsg(message{}) != nil || stream.CloseSend() != nil {
		return
	}
	for {
		var m message
		if stream.RecvMsg(&m) != nil {
			return
		}
		(&reader{}).each(m, func(f field) {
			if f.number == 2 {
				_, _ = w.Write(f.bytes())
			}
		})
	}
}

// Shutdown requests that the provider ends. A provider ends before it answers, so a lost connection
// is a success.
func (c *Client) Shutdown(ctx context.Context) error {
	var answer message
	err := c.conn.Invoke(ctx, "/plugin.GRPCController/Shutdown", message{}, &answer)
	if err == nil || status.Code(err) == codes.Unavailable && ctx.Err() == nil {
		return nil
	}
	return callFault(ctx, "Shutdown", err)
}
