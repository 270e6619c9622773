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
	User      string `json:"user,omitempty" doc:"name of the caller, as the audit records it; absent without credentials"`
	// ReadOnly is that of the caller.
	ReadOnly bool `json:"read_only,omitempty" doc:"the caller may only read"`
	// Python describes the function that runs handlers in Python; nil: the home has none.
	Python *PythonFunction `json:"python,omitempty" doc:"the function that runs handlers in Python"`
}

// PythonFunction describes the platform of the function that runs handlers in Python.
type PythonFunction struct {
	Architecture string `json:"architecture" enum:"arm64,x86_64"`
	Python       string `json:"python" doc:"version of Python, such as 3.13"`
	Room         int64  `json:"room" doc:"bytes that the packages of a version may take unpacked"`
}
