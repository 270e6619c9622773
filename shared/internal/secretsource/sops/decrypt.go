package sops

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"southbound/shared/fault"
)

const (
	metadataKey    = "sops"
	metadataPrefix = "sops_" // in files of variables
)

// metadata is what sops notes in a file.
type metadata struct {
	age       []recipient
	others    []string // kinds of keys of which this package opens none
	groups    bool     // the data key is divided among groups
	modified  string
	mac       string
	encrypted func(path []string) bool
	onlyMAC   bool // the MAC covers only encrypted values
}

// decrypt returns the values of a file, all documents of it in one.
func decrypt(f format, text string, keys identities) (branch, error) {
	documents, err := parse(f, text)
	if err != nil {
		return nil, err
	}
	m, err := takeMetadata(f, documents)
	if err != nil {
		return nil, err
	}
	key, err := keys.dataKey(m.age)
	if err != nil {
		return nil, err
	}
	w, err := newWalk(key, m)
	if err != nil {
		return nil, err
	}
	var all branch
	for _, document := range documents {
		if err := w.branch(document, nil); err != nil {
			return nil, err
		}
		all = append(all, document...)
	}
	if err := w.verify(); err != nil {
		return nil, err
	}
	return all, nil
}

// takeMetadata removes the metadata from the documents and returns it.
func takeMetadata(f format, documents []branch) (metadata, error) {
	var found map[string]any
	for i, document := range documents {
		kept := branch{}
		for _, one := range document {
			name, flat := strings.CutPrefix(one.key, metadataPrefix)
			switch {
			case f == formatENV && flat:
				if found == nil {
					found = map[string]any{}
				}
				found[name] = one.value
			case f != formatENV && one.key == metadataKey:
				if b, ok := one.value.(branch); ok && i == 0 {
					found = mapOf(b)
				}
			default:
				kept = append(kept, one)
			}
		}
		documents[i] = kept
	}
	if found == nil {
		return metadata{}, fault.New(fault.Invalid, "", "it is not encrypted by sops").
			WithHint("encrypt it with sops encrypt --in-place FILE, or read it with file:")
	}
	return metadataOf(found)
}

func mapOf(b branch) map[string]any {
	out := map[string]any{}
	for _, one := range b {
		out[one.key] = one.value
	}
	return out
}

func metadataOf(m map[string]any) (metadata, error) {
	text := func(name string) string {
		if t, ok := m[name].(time.Time); ok {
			return t.Format(time.RFC3339)
		}
		s, _ := m[name].(string)
		return s
	}
	out := metadata{modified: text("lastmodified"), mac: text("mac"),
		onlyMAC: m["mac_only_encrypted"] == true || m["mac_only_encrypted"] == "true"}
	list, _ := m["age"].([]any)
	for _, one := range list {
		if b, ok := one.(branch); ok {
			of := mapOf(b)
			out.age = append(out.age, recipient{fmt.Sprint(of["recipient"]), fmt.Sprint(of["enc"])})
		}
	}
	out.flat(m)
	for _, kind := range []string{"pgp", "kms", "gcp_kms", "azure_kv", "hc_vault", "hckms"} {
		if l, _ := m[kind].([]any); len(l) > 0 || m[kind+"__list_0__map_enc"] != nil {
			out.others = append(out.others, kind)
		}
	}
	groups, _ := m["key_groups"].([]any)
	out.groups = len(groups) > 0
	if t, err := time.Parse(time.RFC3339, out.modified); err == nil {
		out.modified = t.Format(time.RFC3339)
	}
	switch {
	case out.groups:
		return out, fault.New(fault.Unsupported, "", "its key is divided among groups (key_groups)").
			WithHint("encrypt it for age recipients without groups")
	case len(out.age) == 0 && len(out.others) > 0:
		return out, fault.New(fault.Invalid, "", "it is encrypted for %s and for no age key",
			strings.Join(out.others, ", ")).
			WithHint("add an age key: sops rotate --in-place --add-age RECIPIENT FILE")
	case len(out.age) == 0, out.mac == "":
		return out, changed("the metadata of sops")
	}
	var err error
	out.encrypted, err = ruleOf(text)
	return out, err
}

// flat takes the recipients of a file of variables.
func (m *metadata) flat(from map[string]any) {
	name := regexp.MustCompile(`^age__list_(\d+)__map_(recipient|enc)$`)
	byNumber := map[int]recipient{}
	for key, v := range from {
		part := name.FindStringSubmatch(key)
		if part == nil {
			continue
		}
		i, _ := strconv.Atoi(part[1])
		r := byNumber[i]
		if part[2] == "enc" {
			r.sealed = fmt.Sprint(v)
		} else {
			r.name = fmt.Sprint(v)
		}
		byNumber[i] = r
	}
	for i := range len(byNumber) {
		if r, ok := byNumber[i]; ok {
			m.age = append(m.age, r)
		}
	}
}

// ruleOf returns the rule that tells which values are encrypted.
func ruleOf(text func(name string) string) (func(path []string) bool, error) {
	for _, name := range []string{"encrypted_comment_regex", "unencrypted_comment_regex"} {
		if text(name) != "" {
			return nil, fault.New(fault.Unsupported, "", "%s is not supported", name).
				WithHint("choose encrypted values by encrypted_regex or by a suffix")
		}
	}
	for _, on := range []bool{true, false} {
		prefix := map[bool]string{true: "encrypted_", false: "unencrypted_"}[on]
		if expr := text(prefix + "regex"); expr != "" {
			re, err := regexp.Compile(expr)
			if err != nil {
				return nil, fault.New(fault.Invalid, "", "%sregex is not a regular expression", prefix).
					WithHint("correct it in the settings of sops (.sops.yaml), and encrypt again")
			}
			return func(path []string) bool { return slices.ContainsFunc(path, re.MatchString) == on }, nil
		}
		if suffix := text(prefix + "suffix"); suffix != "" {
			return func(path []string) bool { return ends(path, suffix) == on }, nil
		}
	}
	return func(path []string) bool { return !ends(path, "_unencrypted") }, nil
}

func ends(path []string, suffix string) bool {
	return slices.ContainsFunc(path, func(key string) bool { return strings.HasSuffix(key, suffix) })
}

// walk decrypts values in their order.
type walk struct {
	metadata
	block cipher.Block
	sum   hash.Hash
}

func newWalk(key []byte, m metadata) (*walk, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	w := &walk{metadata: m, block: block, sum: sha512.New()}
	if m.onlyMAC {
		first := sha256.Sum256([]byte(metadataKey))
		w.sum.Write(first[:])
	}
	return w, nil
}

func (w *walk) branch(b branch, path []string) error {
	for i := range b {
		v, err := w.value(b[i].value, append(slices.Clip(path), b[i].key))
		if err != nil {
			return err
		}
		b[i].value = v
	}
	return nil
}

// value returns a decrypted value. The items of a list have the path of the list.
func (w *walk) value(v any, path []string) (any, error) {
	switch v := v.(type) {
	case branch:
		return v, w.branch(v, path)
	case []any:
		out := []any{}
		for _, one := range v {
			one, err := w.value(one, path)
			if err != nil {
				return nil, err
			}
			if _, is := one.(comment); !is {
				out = append(out, one)
			}
		}
		return out, nil
	case nil:
		return nil, nil
	}
	encrypted := w.encrypted(path)
	if encrypted {
		text, ok := v.(string)
		if !ok {
			return nil, changed("the value at %s, which is not encrypted,", strings.Join(path, "/"))
		}
		var err error
		if v, err = w.open(text, strings.Join(path, ":")+":"); err != nil {
			return nil, changed("the value at %s", strings.Join(path, "/"))
		}
	}
	if _, is := v.(comment); !is && (encrypted || !w.onlyMAC) {
		w.sum.Write(plain(v))
	}
	return v, nil
}

var errFormat = errors.New("not the format of sops")

// open decrypts a text of the form ENC[AES256_GCM,data:...,iv:...,tag:...,type:...].
func (w *walk) open(text, place string) (any, error) {
	if text == "" {
		return "", nil
	}
	rest, ok := strings.CutPrefix(text, "ENC[AES256_GCM,")
	rest, ends := strings.CutSuffix(rest, "]")
	parts := strings.Split(rest, ",")
	if !ok || !ends || len(parts) != 4 {
		return nil, errFormat
	}
	var raw [3][]byte
	for i, name := range []string{"data:", "iv:", "tag:"} {
		encoded, ok := strings.CutPrefix(parts[i], name)
		b, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil {
			return nil, errFormat
		}
		raw[i] = b
	}
	kind, ok := strings.CutPrefix(parts[3], "type:")
	if !ok || len(raw[1]) == 0 || len(raw[2]) != 16 {
		return nil, errFormat
	}
	gcm, err := cipher.NewGCMWithNonceSize(w.block, len(raw[1]))
	if err != nil {
		return nil, err
	}
	b, err := gcm.Open(nil, raw[1], append(raw[0], raw[2]...), []byte(place))
	if err != nil {
		return nil, err
	}
	return typed(kind, string(b))
}

// typed returns a decrypted text as a value of its type.
func typed(kind, text string) (any, error) {
	switch kind {
	case "str", "bytes":
		return text, nil
	case "int":
		return strconv.Atoi(text)
	case "float":
		return strconv.ParseFloat(text, 64)
	case "bool":
		return strconv.ParseBool(text)
	case "time":
		var t time.Time
		err := t.UnmarshalText([]byte(text))
		return t, err
	case "comment":
		return comment{}, nil
	}
	return nil, errFormat
}

// verify compares the MAC of the file with the one of its values.
func (w *walk) verify() error {
	want, err := w.open(w.mac, w.modified)
	text, _ := want.(string)
	got := fmt.Sprintf("%X", w.sum.Sum(nil))
	if err != nil || subtle.ConstantTimeCompare([]byte(text), []byte(got)) != 1 {
		return changed("the code over all values (mac) does not fit: the file")
	}
	return nil
}
