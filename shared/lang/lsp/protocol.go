package lsp

import (
	"encoding/json"

	"southbound/shared/lang/lsp/text"
)

// The messages of the protocol that this package uses. Numbers are those of the protocol.

// Error codes.
const (
	codeNotInitialized = -32002
	codeInvalidRequest = -32600
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeCancelled      = -32800
	codeRequestFailed  = -32803
)

type initializeParams struct {
	RootURI          *string      `json:"rootUri"`
	WorkspaceFolders []folder     `json:"workspaceFolders"`
	Capabilities     capabilities `json:"capabilities"`
}

type folder struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

// capabilities are the client capabilities that this package uses.
type capabilities struct {
	General struct {
		PositionEncodings []string `json:"positionEncodings"`
	} `json:"general"`
	TextDocument struct {
		Hover struct {
			ContentFormat []string `json:"contentFormat"`
		} `json:"hover"`
		DocumentSymbol struct {
			Hierarchical bool `json:"hierarchicalDocumentSymbolSupport"`
		} `json:"documentSymbol"`
		Rename struct {
			Prepare bool `json:"prepareSupport"`
		} `json:"rename"`
	} `json:"textDocument"`
	Workspace struct {
		WorkspaceEdit struct {
			DocumentChanges bool `json:"documentChanges"`
		} `json:"workspaceEdit"`
		DidChangeWatchedFiles struct {
			Dynamic bool `json:"dynamicRegistration"`
		} `json:"didChangeWatchedFiles"`
	} `json:"workspace"`
}

type initializeResult struct {
	Capabilities map[string]any    `json:"capabilities"`
	ServerInfo   map[string]string `json:"serverInfo"`
}

type identifier struct {
	URI string `json:"uri"`
}

type versioned struct {
	URI     string `json:"uri"`
	Version *int32 `json:"version"`
}

type openParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int32  `json:"version"`
		Text    string `json:"text"`
	} `json:"textDocument"`
}

type changeParams struct {
	TextDocument   versioned `json:"textDocument"`
	ContentChanges []struct {
		Range *text.Range `json:"range"`
		Text  string      `json:"text"`
	} `json:"contentChanges"`
}

type documentParams struct {
	TextDocument identifier `json:"textDocument"`
}

type positionParams struct {
	TextDocument identifier    `json:"textDocument"`
	Position     text.Position `json:"position"`
}

type referenceParams struct {
	positionParams
	Context struct {
		IncludeDeclaration bool `json:"includeDeclaration"`
	} `json:"context"`
}

type renameParams struct {
	positionParams
	NewName string `json:"newName"`
}

type queryParams struct {
	Query string `json:"query"`
}

type cancelParams struct {
	ID json.RawMessage `json:"id"`
}

type foldersParams struct {
	Event struct {
		Added   []folder `json:"added"`
		Removed []folder `json:"removed"`
	} `json:"event"`
}

type location struct {
	URI   string     `json:"uri"`
	Range text.Range `json:"range"`
}

type diagnostic struct {
	Range    text.Range `json:"range"`
	Severity int        `json:"severity"`
	Code     string     `json:"code,omitempty"`
	Source   string     `json:"source"`
	Message  string     `json:"message"`
	Tags     []int      `json:"tags,omitempty"`
	Related  []related  `json:"relatedInformation,omitempty"`
}

// Severities and tags of diagnostics.
const (
	severityError   = 1
	severityWarning = 2
	tagDeprecated   = 2
)

type related struct {
	Location location `json:"location"`
	Message  string   `json:"message"`
}

type publishParams struct {
	URI         string       `json:"uri"`
	Version     *int32       `json:"version,omitempty"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

type hover struct {
	Contents markup     `json:"contents"`
	Range    text.Range `json:"range"`
}

type signatureHelp struct {
	Signatures      []signature `json:"signatures"`
	ActiveSignature int         `json:"activeSignature"`
	ActiveParameter int         `json:"activeParameter"`
}

type signature struct {
	Label         string      `json:"label"`
	Documentation *markup     `json:"documentation,omitempty"`
	Parameters    []parameter `json:"parameters"`
}

type parameter struct {
	Label string `json:"label"`
}

type completionItem struct {
	Label         string    `json:"label"`
	Kind          int       `json:"kind"`
	Detail        string    `json:"detail,omitempty"`
	Documentation *markup   `json:"documentation,omitempty"`
	SortText      string    `json:"sortText,omitempty"`
	FilterText    string    `json:"filterText,omitempty"`
	TextEdit      *textEdit `json:"textEdit,omitempty"`
	Deprecated    bool      `json:"deprecated,omitempty"`
}

type completionList struct {
	IsIncomplete bool             `json:"isIncomplete"`
	Items        []completionItem `json:"items"`
}

type textEdit struct {
	Range   text.Range `json:"range"`
	NewText string     `json:"newText"`
}

type documentEdit struct {
	TextDocument versioned  `json:"textDocument"`
	Edits        []textEdit `json:"edits"`
}

type workspaceEdit struct {
	Changes         map[string][]textEdit `json:"changes,omitempty"`
	DocumentChanges []documentEdit        `json:"documentChanges,omitempty"`
}

type documentSymbol struct {
	Name           string           `json:"name"`
	Detail         string           `json:"detail,omitempty"`
	Kind           int              `json:"kind"`
	Range          text.Range       `json:"range"`
	SelectionRange text.Range       `json:"selectionRange"`
	Children       []documentSymbol `json:"children,omitempty"`
}

type symbolInformation struct {
	Name          string   `json:"name"`
	Kind          int      `json:"kind"`
	Location      location `json:"location"`
	ContainerName string   `json:"containerName,omitempty"`
}
