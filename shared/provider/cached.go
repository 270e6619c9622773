package provider

// Existing returns the things that the lister of a type finds. It is for handlers that need the
// whole set, to choose a free number, or to find the thing with the same address. The result is
// cached, since it is the same for all resources of a batch. It is shared, so callers must not
// change it.
func Existing(ctx *Context, l Lister, keep Keep) ([]Found, error) {
	return Cached(ctx, Key{Name: "existing"}, keep, func(ctx *Context) ([]Found, error) {
		var all []Found
		err := l.List(ctx, func(f Found) error {
			all = append(all, f)
			return ctx.Err()
		})
		return all, err
	})
}
