package bucket

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"southbound/shared/aws/awserr"
)

// Upload is a request that stores one file. The client that sends it needs no credentials, and must
// send exactly these headers.
type Upload struct {
	Hash   string            `json:"hash"`
	Method string            `json:"method"`
	URL    string            `json:"url"`
	Header map[string]string `json:"header"`
}

// Signer signs uploads.
type Signer struct {
	// URL is the URL of the bucket, to which "/files/..." is appended.
	URL         string
	Region      string
	Credentials aws.CredentialsProvider
	// Now returns the time of signing.
	Now func() time.Time
}

const (
	headerChecksum  = "X-Amz-Checksum-Sha256"
	headerNoneMatch = "If-None-Match"
	unsignedPayload = "UNSIGNED-PAYLOAD"
)

// Upload returns a request that stores a file of size bytes, and that is valid for a time. The
// checksum and the condition are signed headers. So S3 rejects other bytes, and does not replace an
// existing file: it responds 412, which means that the file is stored. The SDK's own presigning
// would move the checksum into the query, where S3 ignores it.
func (s *Signer) Upload(
	ctx context.Context, hash string, size int64, valid time.Duration,
) (Upload, error) {
	if err := checkHash("sign upload", hash); err != nil {
		return Upload{}, err
	}
	creds, err := s.Credentials.Retrieve(ctx)
	if err != nil {
		return Upload{}, awserr.Fault("sign upload", err)
	}
	sum, _ := hex.DecodeString(hash)
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, s.URL+"/"+key(hash), nil)
	if err != nil {
		return Upload{}, awserr.Fault("sign upload", err)
	}
	req.ContentLength = size
	req.Header.Set(headerChecksum, base64.StdEncoding.EncodeToString(sum))
	req.Header.Set(headerNoneMatch, "*")
	q := req.URL.Query()
	q.Set("X-Amz-Expires", strconv.Itoa(int(valid.Seconds())))
	req.URL.RawQuery = q.Encode()
	signer := v4.NewSigner(func(o *v4.SignerOptions) {
		o.DisableHeaderHoisting = true
		o.DisableURIPathEscaping = true
	})
	url, header, err := signer.PresignHTTP(ctx, creds, req, unsignedPayload, "s3", s.Region,
		s.Now())
	if err != nil {
		return Upload{}, awserr.Fault("sign upload", err)
	}
	out := Upload{Hash: hash, Method: http.MethodPut, URL: url, Header: map[string]string{}}
	for name, values := range header {
		if name != "Host" && len(values) > 0 {
			out.Header[name] = values[0]
		}
	}
	return out, nil
}
