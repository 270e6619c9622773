package provider

import "context"

// ListKeeper is a Host that keeps lists for a run of a lane, and knows which of them are too old
// for the resource of a Context: because that was asked for, has been changed, or something that it
// requires has ended, since the list was begun.
type ListKeeper interface {
	// Listed returns the list of a key, or makes it; when another call is making it, it waits for
	// that until ctx ends. size is about how many bytes it takes.
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
