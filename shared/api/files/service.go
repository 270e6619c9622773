package files

import (
	"context"
	"errors"
	"io"

	"southbound/shared/api/wire"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Uploads returns an upload request for each of these files that is not stored.
func (s *Service) Uploads(ctx context.Context, files []FileSize) ([]Upload, error) {
	sizes := make(map[string]int64, len(files))
	hashes := make([]string, 0, len(files))
	for _, f := range files {
		if !wire.ValidHash(f.Hash) || f.Size < 0 || f.Size > MaxSize {
			return nil, fault.New(fault.Invalid, "ask for uploads",
				"%.80q is not a SHA-256, or its size is not from 0 to %d bytes", f.Hash,
				int64(MaxSize))
		}
		if _, again := sizes[f.Hash]; !again {
			hashes = append(hashes, f.Hash)
		}
		sizes[f.Hash] = f.Size
	}
	missing, err := s.Files.Missing(ctx, hashes)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "find files", err)
	}
	out := make([]Upload, len(missing))
	for i, h := range missing {
		if s.Sign == nil {
			out[i] = Upload{Hash: h, Method: "PUT", URL: "/v1/files/" + h,
				Header: map[string]string{}}
		} else if out[i], err = s.Sign(ctx, h, sizes[h]); err != nil {
			return nil, fault.Wrap(fault.Unknown, "sign upload", err)
		}
	}
	return out, nil
}

// bounded is a body with a limited length.
type bounded struct {
	r      io.Reader
	left   int64
	failed error // the error that ended reading
}

var errTooLong = errors.New("the body is longer than a file may be")

type Service struct {
	Files state.Files
	// Sign, if not nil, returns requests that upload files directly to their store, so that
	// their bytes do not pass through the API.
	Sign func(ctx context.Context, hash string, size int64) (Upload, error)
}
