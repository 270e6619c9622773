package packages

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/google/go-cmp/cmp"

	"southbound/shared/fault"
)

// server answers with the texts of paths. Another path does not exist.
func server(t *testing.T, pages map[string]string) *httptest.Server {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		to, redirect := strings.CutPrefix(page, "-> ")
		switch {
		case !ok:
			http.NotFound(w, r)
		case redirect:
			http.Redirect(w, r, to, http.StatusFound)
		default:
			_, _ = w.Write([]byte(page)) // the client sees a failure
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// author is the key of an author of a provider.
type author struct {
	*openpgp.Entity
	armored string
}

func newAuthor(t *testing.T) author {
	t.Helper()
	e, err := openpgp.NewEntity("author", "", "author@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := armor.Encode(&out, openpgp.PublicKeyType, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Serialize(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return author{e, out.String()}
}

func (a author) sign(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	if err := openpgp.DetachSign(&out, a.Entity, strings.NewReader(text), nil); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	zip := packed(t, program, "binary")
	other := strings.Repeat("ab", 32)
	me, stranger := newAuthor(t), newAuthor(t)
	name := "terraform-provider-random_3.6.0_linux_amd64.zip"
	sums := sum(zip) + "  " + name + "\n" + other +
		"  terraform-provider-random_3.6.0_plan9_386.zip\n" + other + "  manifest.json\n"
	document := func(armored string) string {
		return fmt.Sprintf(`{"filename":%q,"download_url":"/files/p.zip","shasum":%q,
			"shasums_url":"/files/sums","shasums_signature_url":"/files/sig",
			"signing_keys":{"gpg_public_keys":[{"key_id":"X","ascii_armor":%q}]}}`, name, sum(zip), armored)
	}
	good := map[string]string{
		"/.well-known/terraform.json":                               `{"providers.v1":"/v1/providers/"}`,
		"/v1/providers/hashicorp/random/versions":                   `{"versions":[{"version":"3.5.0"},{"version":"3.6.0"}]}`,
		"/v1/providers/hashicorp/random/3.6.0/download/linux/amd64": document(me.armored),
		"/files/p.zip": string(zip), "/files/sums": sums, "/files/sig": me.sign(t, sums),
	}
	find := func(pages map[string]string) (*Package, *Store, error) {
		s := server(t, pages)
		a := Address{strings.TrimPrefix(s.URL, "https://"), "hashicorp", "random"}
		source, err := Open("", s.Client())
		if err != nil {
			t.Fatal(err)
		}
		if versions, err := source.Versions(ctx, a); err != nil || len(versions) != 2 {
			t.Fatal(versions, err)
		}
		p, err := source.Find(ctx, a, "3.6.0", "linux_amd64")
		return p, &Store{Dir: t.TempDir(), Client: s.Client()}, err
	}
	p, store, err := find(good)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"zh:" + sum(zip), "zh:" + other}, p.AllHashes); d != "" ||
		p.Signer != me.PrimaryKey.KeyIdString() {
		t.Error(d, p.Signer)
	}
	if i, err := store.Install(ctx, p, nil); err != nil || i.Hashes[1] != p.Hashes[0] {
		t.Error(i, err)
	}
	for name, x := range map[string]struct {
		path, text string
		kind       fault.Kind
		install    bool // the failure is that of the installation
	}{
		"signed by a stranger":  {"/files/sig", stranger.sign(t, sums), fault.Refused, false},
		"not a signature":       {"/files/sig", "x", fault.Refused, false},
		"other hashes":          {"/files/sums", strings.Replace(sums, "  t", "   t", 1), fault.Refused, false},
		"another file":          {"/files/p.zip", string(packed(t, program, "evil")), fault.Refused, true},
		"a redirect to http":    {"/files/p.zip", "-> http://127.0.0.1:1/x", fault.Unavailable, true},
		"no JSON":               {"/v1/providers/hashicorp/random/3.6.0/download/linux/amd64", "x", fault.Unavailable, false},
		"a key that is no key":  {"/v1/providers/hashicorp/random/3.6.0/download/linux/amd64", document("x"), fault.Refused, false},
		"a file on another way": {"/v1/providers/hashicorp/random/3.6.0/download/linux/amd64", strings.Replace(document(me.armored), "/files/p.zip", "file:///etc/passwd", 1), fault.Refused, false},
	} {
		pages := map[string]string{}
		for path, text := range good {
			pages[path] = text
		}
		pages[x.path] = x.text
		p, store, err := find(pages)
		if x.install && err == nil {
			_, err = store.Install(ctx, p, nil)
		} else if x.install {
			t.Errorf("%s: %v", name, err)
		}
		if !fault.Is(err, x.kind) {
			t.Errorf("%s: got %v, want %s", name, err, x.kind)
		}
	}
	delete(good, "/v1/providers/hashicorp/random/3.6.0/download/linux/amd64")
	if _, _, err := find(good); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

func TestMirror(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	zip := packed(t, program, "binary")
	s := server(t, map[string]string{
		"/m/" + random.String() + "/index.json": `{"versions":{"3.6.0":{}}}`,
		"/m/" + random.String() + "/3.6.0.json": `{"archives":{
			"linux_amd64":{"url":"../p.zip","hashes":["zh:` + sum(zip) + `","zz:later"]},
			"plan9_386":{"url":"q.zip"}}}`,
		"/m/" + DefaultHost + "/hashicorp/p.zip": string(zip),
	})
	m, err := Open(s.URL+"/m", s.Client())
	if err != nil {
		t.Fatal(err)
	}
	if versions, err := m.Versions(ctx, random); err != nil || len(versions) != 1 {
		t.Error(versions, err)
	}
	p, err := m.Find(ctx, random, "3.6.0", "linux_amd64")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"zh:" + sum(zip)}, p.AllHashes); d != "" || p.Signer != "" {
		t.Error(d, p.Signer)
	}
	store := &Store{Dir: t.TempDir(), Client: s.Client()}
	if _, err := store.Install(ctx, p, nil); err != nil {
		t.Error(err)
	}
	if _, err := m.Find(ctx, random, "3.6.0", "linux_arm"); !fault.Is(err, fault.NotFound) ||
		!strings.Contains(fault.HintOf(err), "plan9_386") {
		t.Error(err)
	}
	if _, err := m.Versions(ctx, Address{"a.b", "c", "d"}); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}
