package provider

// Existing returns what the lister of a type finds, for handlers that have to see the whole set: to
// choose a free number, or to find what has the same address. It is kept, since it is the same for
// all resources of a batch, and it is a view: nobody changes it.
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
