package files

// maxUploads is how many files one request may ask for.
const maxUploads = 1000

// MaxSize is the largest permitted file.
const MaxSize = 5 << 30

// FileSize is a file to upload.
type FileSize struct {
	Hash string `json:"hash" pattern:"^[0-9a-f]{64}$" patternDescription:"a SHA-256: 64 hexadecimal digits in lower case"`
	Size int64  `json:"size" minimum:"0" maximum:"5368709120"`
}

// Sent is the progress of an upload.
type Sent struct {
	Files, OfFiles int
	Bytes, OfBytes int64
}

type uploadsAsked struct {
	Files []FileSize `json:"files" maxItems:"1000"`
}

type uploadsDone struct {
	Uploads []Upload `json:"uploads"`
}

// Upload is a request that stores one file: it must be sent with exactly these headers. A URL
// without a host is relative to the API.
type Upload struct {
	Hash   string            `json:"hash"`
	Method string            `json:"method"`
	URL    string            `json:"url"`
	Header map[string]string `json:"header"`
}
