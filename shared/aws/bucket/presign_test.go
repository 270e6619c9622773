//go:build servers

package bucket_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"southbound/localstack/server"
	"southbound/shared/aws/bucket"
	"southbound/shared/internal/simtest/deploytest"
)

// send makes an upload with data, changed by change.
func send(
	ctx context.Context, t *testing.T, u bucket.Upload, data []byte, change func(*http.Request),
) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, u.Method, u.URL, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range u.Header {
		req.Header.Set(name, value)
	}
	if change != nil {
		change(req)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(text)
}

// TestUpload pins what a presigned upload lets through, on the server that checks signatures.
func TestUpload(t *testing.T) {
	t.Parallel()
	api, name := client(t, server.LocalStack, nil)
	signer := &bucket.Signer{URL: server.URL(server.LocalStack) + "/" + name, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""), Now: time.Now}
	for _, c := range []struct {
		reason  string
		data    string // what is sent
		signed  string // what was signed for; empty: the same
		age     time.Duration
		change  func(*http.Request)
		refused bool
	}{
		{reason: "the bytes that were signed for", data: "right"},
		{reason: "no bytes", data: ""},
		{reason: "other bytes of the same length", data: "wrong", signed: "exact", refused: true},
		{reason: "the checksum left out", data: "left out", refused: true,
			change: func(r *http.Request) { r.Header.Del("X-Amz-Checksum-Sha256") }},
		{reason: "another checksum, that of the bytes sent", data: "smuggled", signed: "innocent",
			refused: true, change: func(r *http.Request) {
				sum := sha256.Sum256([]byte("smuggled"))
				r.Header.Set("X-Amz-Checksum-Sha256", base64.StdEncoding.EncodeToString(sum[:]))
			}},
		{reason: "the condition left out", data: "no condition", refused: true,
			change: func(r *http.Request) { r.Header.Del("If-None-Match") }},
		{reason: "another file's name", data: "renamed", refused: true,
			change: func(r *http.Request) { r.URL.Path += "0" }},
		{reason: "too late", data: "late", age: time.Hour, refused: true},
	} {
		sign := c.signed
		if sign == "" {
			sign = c.data
		}
		hash := deploytest.HashOf([]byte(sign))
		signer.Now = func() time.Time { return time.Now().Add(-c.age) }
		u, err := signer.Upload(t.Context(), hash, int64(len(c.data)), 10*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		status, text := send(t.Context(), t, u, []byte(c.data), c.change)
		missing, err := bucket.NewFiles(api, name).Missing(t.Context(), []string{hash})
		if err != nil {
			t.Fatal(err)
		}
		if ok := status == http.StatusOK; ok == c.refused || (len(missing) == 0) == c.refused {
			t.Errorf("%s: status %d, missing %v: %s", c.reason, status, missing, text)
		}
	}
	signer.Now = time.Now
	u, err := signer.Upload(t.Context(), deploytest.HashOf([]byte("right")), 5, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if status, text := send(t.Context(), t, u, []byte("right"),
		nil); status != http.StatusPreconditionFailed {
		t.Errorf("a file that is there: status %d: %s", status, text)
	}
}

// TestUploadSignsTheHeaders pins the request itself, for servers that check less.
func TestUploadSignsTheHeaders(t *testing.T) {
	t.Parallel()
	signer := &bucket.Signer{URL: "https://b.s3.eu-west-1.amazonaws.com", Region: "eu-west-1",
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "token"),
		Now:         func() time.Time { return time.Unix(0, 0) }}
	hash := deploytest.HashOf(nil)
	u, err := signer.Upload(t.Context(), hash, 0, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := url.Parse(u.URL)
	if err != nil {
		t.Fatal(err)
	}
	q := parsed.Query()
	signed := strings.Split(q.Get("X-Amz-SignedHeaders"), ";")
	for _, name := range []string{"x-amz-checksum-sha256", "if-none-match", "host"} {
		if !strings.Contains(";"+strings.Join(signed, ";")+";", ";"+name+";") {
			t.Errorf("%s is not among the signed headers %v", name, signed)
		}
	}
	for name := range q {
		if strings.Contains(strings.ToLower(name), "checksum") {
			t.Errorf("%s stands in the query, where S3 ignores it", name)
		}
	}
	if q.Get("X-Amz-Expires") != "60" ||
		u.Header["X-Amz-Checksum-Sha256"] != "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=" ||
		parsed.Path != "/files/e3/"+hash {
		t.Errorf("unexpected upload %+v", u)
	}
	if _, err := signer.Upload(t.Context(), "../x", 0, time.Minute); err == nil {
		t.Error("what is not a hash was signed for")
	}
}
