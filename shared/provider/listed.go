package provider

import "context"

// ListKeeper is a Host that caches lists for a run of a lane. It rebuilds a list that is too old
// for the resource of a Context. That is so if, since the build began, the resource was requested
// or changed, or one of its requirements has ended.
type ListKeeper interface {
	// Listed returns the list of a key, or builds it. If another call is building it, Listed waits
	// for that until ctx ends. size is its approximate number of bytes.
	Listed(
		ctx context.Context, key string, build func() (value any, size int, err error),
	) (any, error)
}

// Listed returns the list that build makes, for handlers that read many things from one list. The
// list is built once in a run of a lane; concurrent callers wait for it. It is built again if it
// may be out of date for the resource of ctx. The value is shared, so callers must not change it.
// Errors and very large lists are not cached. Without a host that caches lists, every call of
// Listed calls build.
func Listed[T any](
	ctx *Context, key Key, build func(ctx *Context) (list T, size int, err error),
) (T, error) {
	var none T
	keeper, ok := ctx.host.(ListKeeper)
	if !ok {
		list, _, err := build(ctx)
		return list, err
	}
	text, err := keyText[T](ctx, key)
	if err != nil {
		return none, err
	}
	v, err := keeper.Listed(ctx.Context, "listed\x00"+text, func() (any, int, error) {
		return build(ctx)
	})
	if err != nil {
		return none, err
	}
	list, _ := v.(T) // the type is part of the key
	return list, nil
}
