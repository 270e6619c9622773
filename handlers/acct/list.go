package acct

import (
	"context"
	"strconv"

	"southbound/shared/provider"
)

// readTogether answers a batch with single reads.
func readTogether(
	ctx context.Context, items []provider.BatchRead, read func(*provider.Context,
		provider.ReadRequest) (provider.Observation, error),
) []provider.Reading {
	out := make([]provider.Reading, len(items))
	for i, item := range items {
		if err := ctx.Err(); err != nil {
			out[i].Err = provider.Errorf(provider.Retryable, "read users and groups: %w", err)
			continue
		}
		out[i].Observation, out[i].Err = read(item.Context.With(ctx), item.ReadRequest)
	}
	return out
}

// ReadBatch implements provider.BatchReader: the files are read once.
func (h group) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	return readTogether(ctx, items, group{h.host.together()}.Read)
}

// ReadBatch implements provider.BatchReader: the files are read once.
func (h user) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	return readTogether(ctx, items, user{h.host.together()}.Read)
}

// List implements provider.Lister: all groups in /etc/group. Their members are listed with the
// users.
func (h group) List(ctx *provider.Context, found func(provider.Found) error) error {
	rows, err := h.host.rows("group", groupFields)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := ctx.Err(); err != nil {
			return provider.Errorf(provider.Retryable, "list groups: %w", err)
		}
		attrs := map[string]any{"name": row[0]}
		if gid, err := strconv.ParseInt(row[groupGID], 10, 64); err == nil {
			attrs["gid"] = gid
		}
		if err := found(provider.Found{Attributes: attrs}); err != nil {
			return err
		}
	}
	return nil
}

// List implements provider.Lister: all users in /etc/passwd, without their secrets.
func (h user) List(ctx *provider.Context, found func(provider.Found) error) error {
	rows, err := h.host.rows("passwd", passwdFields)
	if err != nil {
		return err
	}
	groups, err := h.host.rows("group", groupFields)
	if err != nil {
		return err
	}
	named, in := map[string]string{}, map[string][]string{}
	for _, g := range groups {
		if _, known := named[g[groupGID]]; !known {
			named[g[groupGID]] = g[0]
		}
		for _, m := range members(g) {
			in[m] = append(in[m], g[0])
		}
	}
	for _, row := range rows {
		if err := ctx.Err(); err != nil {
			return provider.Errorf(provider.Retryable, "list users: %w", err)
		}
		attrs := map[string]any{"name": row[0]}
		if uid, err := strconv.ParseInt(row[passwdUID], 10, 64); err == nil {
			attrs["uid"] = uid
		}
		if name := named[row[passwdGID]]; name != "" {
			attrs["group"] = name
		} else if gid, err := strconv.ParseInt(row[passwdGID], 10, 64); err == nil {
			attrs["group"] = gid
		}
		if own := in[row[0]]; own != nil {
			attrs["groups"] = sameSet(nil, own)
		}
		for name, field := range map[string]int{"comment": passwdComment, "home": passwdHome,
			"shell": passwdShell} {
			if row[field] != "" {
				attrs[name] = row[field]
			}
		}
		if err := found(provider.Found{Attributes: attrs}); err != nil {
			return err
		}
	}
	return nil
}
