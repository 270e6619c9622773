package wire

// The authentication schemes.
const (
	AuthBearer = "bearer"
	AuthSigV4  = "sigv4"
	AuthNone   = "none"
)

// Discovery is the public description of a server.
type Discovery struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	API     string `json:"api"`
	Auth    string `json:"auth" enum:"bearer,sigv4,none"`
	Region  string `json:"region,omitempty" doc:"region of the SigV4 signature"`
	// ExportURL is the address of uploads, exports and plans; "": this server.
	ExportURL string `json:"export_url,omitempty"`
	OpenAPI   string `json:"openapi"`
	Jobs      bool   `json:"jobs,omitempty" doc:"the server offers comparisons as jobs"`
	Home      string `json:"home,omitempty" doc:"identifies the home of the environments"`
}
