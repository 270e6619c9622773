package fs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
	"southbound/shared/resource"
)

// A kept plan is rejected if a thing that it would remove has changed. The bytes themselves are not
// read for that, as there may be very many. The mark of a file consists of metadata that its file
// system changes whenever the bytes change.

// markOf returns a text that changes with the bytes of a file, its owner or its mode.
func markOf(st *unix.Stat_t) string {
	return fmt.Sprintf("%d %d %d.%09d %d.%09d", st.Ino, st.Size, st.Mtim.Sec, st.Mtim.Nsec,
		st.Ctim.Sec, st.Ctim.Nsec)
}

// identifiesBytes reports whether a content that was read identifies the bytes, and may be compared: the
// content of a secret is never shown. On another machine it is unknown whether the content is
// secret.
func identifiesBytes(ctx *provider.Context, content any) bool {
	stored := ctx.Stored()
	if content == nil || stored == nil {
		return false
	}
	f, isFile := content.(resource.File)
	secret := provider.HasSecret(map[string]any{"content": stored.Attributes["content"]})
	return !secret && (!isFile || f.Hash != "")
}

// markOfTree returns a text that changes with anything that is removed with a directory. For a
// purged directory this is all of its content, else the entries that recurse_purge removes.
func markOfTree(ctx context.Context, dir int, r provider.Resource) (string, error) {
	sum := sha256.New()
	k := keeperOf(r)
	if r.Purged {
		k = keeperOf(provider.Resource{})
	}
	err := k.each(dir, "", func(dir int, name, path string) error {
		return markTree(ctx, sum, dir, name, path)
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

// markTree adds the thing at a name, and everything below it. It does not follow links.
func markTree(
	ctx context.Context, sum hash.Hash, dir int, name, path string,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return disk.UnlessGone(err)
	}
	if _, err := fmt.Fprintf(sum, "%q %o %s\n", path, st.Mode, markOf(&st)); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	fd, err := disk.OpenAt(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	switch {
	case errors.Is(err, unix.EACCES): // its own mark changes with its entries
		return nil
	case err != nil:
		return disk.UnlessGone(err)
	}
	defer unix.Close(fd)
	return keeperOf(provider.Resource{}).each(fd, path+"/", func(dir int, name, path string) error {
		return markTree(ctx, sum, dir, name, path)
	})
}
