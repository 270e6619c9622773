package packages

import (
	"bufio"
	"bytes"
	"context"
	"net/url"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"

	"southbound/shared/fault"
)

// registry is the registry that an address names.
type registry struct{ client *web }

// service returns the URL of the provider service of a host, which ends with a slash.
func (r *registry) service(ctx context.Context, host string) (string, error) {
	var services struct {
		Providers string `json:"providers.v1"`
	}
	at := "https://" + host + "/.well-known/terraform.json"
	if err := r.client.decode(ctx, at, &services); err != nil {
		return "", err
	}
	if services.Providers == "" {
		return "", fault.New(fault.NotFound, "find registry", "%s offers no providers", host)
	}
	u, err := resolve(at, services.Providers)
	return strings.TrimSuffix(u, "/") + "/", err
}

// Versions implements Source.
func (r *registry) Versions(ctx context.Context, a Address) ([]string, error) {
	base, err := r.service(ctx, a.Host)
	if err != nil {
		return nil, err
	}
	var index struct {
		Versions []struct {
			Version string `json:"version"`
		} `json:"versions"`
	}
	if err := r.client.decode(ctx, base+a.Namespace+"/"+a.Type+"/versions", &index); err != nil {
		if fault.Is(err, fault.NotFound) {
			return nil, notOffered(a, a.Host)
		}
		return nil, err
	}
	out := make([]string, len(index.Versions))
	for i, v := range index.Versions {
		out[i] = v.Version
	}
	return out, nil
}

// download is the answer of a registry about one package.
type download struct {
	Filename     string `json:"filename"`
	DownloadURL  string `json:"download_url"`
	Sum          string `json:"shasum"`
	SumsURL      string `json:"shasums_url"`
	SignatureURL string `json:"shasums_signature_url"`
	Keys         struct {
		GPG []struct {
			ID    string `json:"key_id"`
			Armor string `json:"ascii_armor"`
		} `json:"gpg_public_keys"`
	} `json:"signing_keys"`
}

// Find implements Source. The registry states the hashes of all platforms in one file. If the
// registry knows keys of the author, the file must be signed by one of them.
func (r *registry) Find(ctx context.Context, a Address, version, platform string) (*Package, error) {
	base, err := r.service(ctx, a.Host)
	if err != nil {
		return nil, err
	}
	system, machine, _ := strings.Cut(platform, "_")
	if !validVersion(version) || !platformForm().MatchString(platform) {
		return nil, notOffered(a, a.Host)
	}
	at := base + a.Namespace + "/" + a.Type + "/" + url.PathEscape(version) + "/download/" + system + "/" +
		machine
	var d download
	if err := r.client.decode(ctx, at, &d); err != nil {
		if fault.Is(err, fault.NotFound) {
			return nil, fault.New(fault.NotFound, "find provider", "%s does not have %s %s for %s", a.Host,
				a, version, platform).WithHint("choose another version")
		}
		return nil, err
	}
	p := &Package{Address: a, Version: version, Platform: platform,
		Hashes: known([]string{SchemeArchive + strings.ToLower(d.Sum)})}
	if p.URL, err = resolve(at, d.DownloadURL); err != nil {
		return nil, err
	}
	if len(p.Hashes) == 0 {
		return nil, fault.New(fault.Refused, "find provider", "%s states no hash of %s %s", a.Host, a,
			version)
	}
	return p, r.signed(ctx, at, &d, p)
}

// signed checks the hashes of all platforms, and completes the package with them.
func (r *registry) signed(ctx context.Context, at string, d *download, p *Package) error {
	if d.SumsURL == "" {
		p.AllHashes = p.Hashes
		return nil
	}
	where, err := resolve(at, d.SumsURL)
	if err != nil {
		return err
	}
	sums, err := r.client.document(ctx, where)
	if err != nil {
		return err
	}
	if len(d.Keys.GPG) > 0 {
		if where, err = resolve(at, d.SignatureURL); err != nil {
			return err
		}
		signature, err := r.client.document(ctx, where)
		if err != nil {
			return err
		}
		if p.Signer = signer(d, sums, signature); p.Signer == "" {
			return fault.New(fault.Refused, "check signature",
				"the hashes of %s %s are not signed by a key of its author", p.Address, p.Version).
				WithHint("use another version, and report this to the author of the provider")
		}
	}
	own := ""
	p.AllHashes, own = parseSums(sums, d.Filename)
	if own != p.Hashes[0] {
		return fault.New(fault.Refused, "check hashes", "%s states two hashes of %s", p.Address.Host,
			d.Filename).WithHint("use another version, and report this to the author of the provider")
	}
	return nil
}

// signer returns the id of the key that signed the hashes, or "".
func signer(d *download, sums, signature []byte) string {
	for _, k := range d.Keys.GPG {
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(k.Armor))
		if err != nil {
			continue
		}
		by, err := openpgp.CheckDetachedSignature(ring, bytes.NewReader(sums), bytes.NewReader(signature),
			nil)
		if err == nil && by != nil {
			return by.PrimaryKey.KeyIdString()
		}
	}
	return ""
}

// parseSums reads lines with a hash and the name of a file. It returns the hashes of all zip files,
// and that of one.
func parseSums(text []byte, name string) (all []string, one string) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 2 || !strings.HasSuffix(fields[1], ".zip") {
			continue
		}
		h := SchemeArchive + strings.ToLower(fields[0])
		if !ValidHash(h) {
			continue
		}
		all = append(all, h)
		if strings.TrimPrefix(fields[1], "*") == name {
			one = h
		}
	}
	return all, one
}
