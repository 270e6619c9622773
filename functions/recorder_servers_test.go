//go:build servers

package functions_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	neturl "net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recorder is on the way to the server, and notes which rights requests take. Who sends one is told
// by the access key that it is signed with.
type recorder struct {
	t        *testing.T
	next     *httputil.ReverseProxy
	function func(name, payload string) answer // what an invoke of a function does

	mu       sync.Mutex
	asked    []asked
	tags     map[string]map[string]string // of queues, by name
	mappings map[string]string            // the function of each, by UUID
	unseen   string                       // a queue that SQS does not know yet, for one request
	later    []string                     // events of the export function, for itself
	jobs     sync.WaitGroup               // that the handler function works on
	sent     map[string]int               // requests, by who sent them
	// first, when not nil, is called before a request is passed on; false: it is not answered.
	first func(who, target string) bool
}

func newRecorder(t *testing.T, to string) *recorder {
	t.Helper()
	u, err := neturl.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{t: t, tags: map[string]map[string]string{}, mappings: map[string]string{}}
	r.sent = map[string]int{}
	r.next = &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(u) }}
	return r
}

var credential = regexp.MustCompile(`Credential=([a-z]+)/\d+/[a-z0-9-]+/([a-z0-9]+)/`)

// ServeHTTP implements http.Handler.
func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil { // who sent it was stopped in the middle: it has asked for nothing
		return
	}
	signed := req.Header.Get("Authorization")
	// the server knows no credential but its own, and checks these
	if q := req.URL.Query(); q.Has("X-Amz-Credential") {
		signed = "Credential=" + q.Get("X-Amz-Credential")
		maps.DeleteFunc(
			q,
			func(name string, _ []string) bool { return strings.HasPrefix(name, "X-Amz-") },
		)
		req.URL.RawQuery = q.Encode()
	}
	m := credential.FindStringSubmatch(signed)
	if m == nil {
		http.Error(w, "nobody signed it: "+signed, http.StatusForbidden)
		return
	}
	who, service := m[1], m[2]
	r.mu.Lock()
	r.sent[who]++
	first := r.first
	r.mu.Unlock()
	if first != nil && !first(who, req.Header.Get("X-Amz-Target")) {
		http.Error(w, "nobody is there", http.StatusForbidden)
		return
	}
	if strings.HasSuffix(req.URL.Path, "/invocations") {
		r.invoke(who, w, req, string(body))
		return
	}
	if service == "sqs" && r.doesNotSee(w, body) {
		r.sqs(who, req, body)
		return
	}
	if service == "lambda" { // a mapping that polls would take what the test hands to functions
		body = bytes.Replace(body, []byte(`"Enabled":true`), []byte(`"Enabled":false`), 1)
	}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answered := &answered{ResponseWriter: w}
	r.next.ServeHTTP(answered, req)
	switch service {
	case "dynamodb":
		r.dynamoDB(who, req, body)
	case "sqs":
		r.sqs(who, req, body)
	case "s3":
		r.s3(who, req, body, answered.status)
	case "lambda":
		r.lambda(who, req, body, answered.body.Bytes())
	default:
		r.note(who, service+":"+req.Header.Get("X-Amz-Target"), "*", nil)
	}
}

// invoke invokes a function. What is not waited for is kept, but for jobs: who asks for one waits.
func (r *recorder) invoke(who string, w http.ResponseWriter, req *http.Request, payload string) {
	name := path.Base(path.Dir(req.URL.Path))
	r.note(who, "lambda:InvokeFunction", arn("lambda", "function:"+name), nil)
	if req.Header.Get("X-Amz-Invocation-Type") == "Event" {
		if strings.HasSuffix(name, "-handler") {
			r.jobs.Go(func() { r.function(name, payload) })
			w.WriteHeader(http.StatusAccepted)
			return
		}
		r.mu.Lock()
		r.later = append(r.later, payload)
		r.mu.Unlock()
		w.WriteHeader(http.StatusAccepted)
		return
	}
	a := r.function(name, payload)
	if strings.HasSuffix(a.path, "/error") {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
	}
	_, _ = io.WriteString(w, a.body)
}

// doesNotSee answers a request about the queue that is not seen yet.
func (r *recorder) doesNotSee(w http.ResponseWriter, body []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unseen == "" || !bytes.Contains(body, []byte("/"+r.unseen+`"`)) {
		return false
	}
	r.unseen = ""
	w.Header().Set("X-Amzn-Query-Error", "AWS.SimpleQueueService.NonExistentQueue;Sender")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, `{"__type":"com.amazonaws.sqs#QueueDoesNotExist"}`)
	return true
}

// answered keeps what was answered.
type answered struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (a *answered) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answered) Write(p []byte) (int, error) {
	a.body.Write(p)
	return a.ResponseWriter.Write(p)
}

func (r *recorder) note(who, action, resource string, keys map[string][]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, asked{who, action, resource, keys})
}

// saw reports whether somebody has asked for something.
func (r *recorder) saw(who, action string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(
		r.asked,
		func(a asked) bool { return a.who == who && a.action == action },
	)
}

// notified reports whether somebody has sent a message to a queue.
func (r *recorder) notified(who, queue string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.asked, func(a asked) bool {
		return a.who == who && a.action == "sqs:SendMessage" && a.resource == arn("sqs", queue)
	})
}

// item is a key of the table, or an item with one.
type item struct{ K struct{ S string } }

// part is a part of a batch or a transaction.
type part struct {
	TableName                 string
	Key, Item                 item
	PutRequest, DeleteRequest *part
	Put, Delete, Update       *part
	ConditionCheck            *part
}

// dynamoDB notes a request to DynamoDB. Transactions take the rights of their parts, batches one of
// their own.
func (r *recorder) dynamoDB(who string, req *http.Request, body []byte) {
	_, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	var in struct {
		part
		RequestItems  map[string]json.RawMessage
		TransactItems []part
	}
	if err := json.Unmarshal(body, &in); err != nil {
		r.t.Errorf("%s: %v", operation, err)
		return
	}
	one := func(action string, p *part) {
		if p != nil {
			r.note(who, "dynamodb:"+action, arn("dynamodb", "table/"+p.TableName), leading(p))
		}
	}
	switch {
	case in.TransactItems != nil:
		for _, p := range in.TransactItems {
			one("PutItem", p.Put)
			one("DeleteItem", p.Delete)
			one("UpdateItem", p.Update)
			one("ConditionCheckItem", p.ConditionCheck)
		}
	case in.RequestItems != nil:
		for table, raw := range in.RequestItems {
			var writes []part
			_ = json.Unmarshal(raw, &writes) // reads have no list: their keys bind nobody
			keys := map[string][]string{}
			for _, w := range writes {
				for _, p := range []*part{w.PutRequest, w.DeleteRequest} {
					if p != nil {
						keys[leadingKeys] = append(keys[leadingKeys], leading(p)[leadingKeys]...)
					}
				}
			}
			r.note(who, "dynamodb:"+operation, arn("dynamodb", "table/"+table), keys)
		}
	default:
		one(operation, &in.part)
	}
}

const leadingKeys = "dynamodb:LeadingKeys"

func leading(p *part) map[string][]string {
	out := map[string][]string{}
	for _, i := range []item{p.Key, p.Item} {
		if i.K.S != "" {
			out[leadingKeys] = append(out[leadingKeys], i.K.S)
		}
	}
	return out
}

// sqs notes a request to SQS. A batch takes the right of one message; to make a queue with tags
// takes the right to tag it.
func (r *recorder) sqs(who string, req *http.Request, body []byte) {
	_, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	var in struct {
		QueueURL, QueueName string
		Tags                map[string]string `json:"tags"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		r.t.Errorf("%s: %v", operation, err)
		return
	}
	name := in.QueueName + in.QueueURL[strings.LastIndexByte(in.QueueURL, '/')+1:]
	keys := tagKeys(in.Tags)
	r.mu.Lock()
	if operation == "CreateQueue" {
		r.tags[name] = in.Tags
	}
	for tag, v := range r.tags[name] {
		keys["aws:ResourceTag/"+tag] = []string{v}
	}
	r.mu.Unlock()
	if operation == "CreateQueue" && len(in.Tags) > 0 {
		r.note(who, "sqs:TagQueue", arn("sqs", name), keys)
	}
	r.note(who, "sqs:"+strings.TrimSuffix(operation, "Batch"), arn("sqs", name), keys)
}

func tagKeys(tags map[string]string) map[string][]string {
	out := map[string][]string{}
	for tag, v := range tags {
		out["aws:TagKeys"] = append(out["aws:TagKeys"], tag)
		out["aws:RequestTag/"+tag] = []string{v}
	}
	return out
}

// s3 notes a request to S3. That something is missing is only told to who may list.
func (r *recorder) s3(who string, req *http.Request, body []byte, status int) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	all := "arn:aws:s3:::" + bucket
	action := map[string]string{http.MethodGet: "GetObject", http.MethodHead: "GetObject",
		http.MethodPut:    "PutObject",
		http.MethodDelete: "DeleteObject"}[req.Method]
	switch {
	case key == "" && req.URL.Query().Has("delete"):
		var in struct {
			Object []struct{ Key string }
		}
		if err := xml.Unmarshal(body, &in); err != nil {
			r.t.Error(err)
		}
		for _, o := range in.Object {
			r.note(who, "s3:DeleteObject", all+"/"+o.Key, nil)
		}
	case key == "" && (req.Method == http.MethodGet || req.Method == http.MethodHead):
		r.note(who, "s3:ListBucket", all, nil)
	case action == "GetObject" && status == http.StatusNotFound:
		r.note(who, "s3:ListBucket", all, nil)
		fallthrough
	default:
		r.note(who, "s3:"+action, all+"/"+key, nil)
	}
}

// lambda notes a request about a mapping. To make one with tags takes the right to tag it.
func (r *recorder) lambda(who string, req *http.Request, body, got []byte) {
	var in struct {
		FunctionName string
		Tags         map[string]string
	}
	var out struct{ UUID string }
	_ = json.Unmarshal(body, &in) // most have none
	_ = json.Unmarshal(got, &out)
	uuid := path.Base(req.URL.Path)
	action := map[string]string{http.MethodGet: "Get", http.MethodPut: "Update",
		http.MethodDelete: "Delete"}[req.Method]
	r.mu.Lock()
	if req.Method == http.MethodPost {
		r.mappings[out.UUID] = arn("lambda", "function:"+in.FunctionName)
		uuid, action = out.UUID, "Create"
	}
	keys := map[string][]string{"lambda:FunctionArn": {r.mappings[uuid]}}
	r.mu.Unlock()
	resource := arn("lambda", "event-source-mapping:"+uuid)
	if action == "Create" {
		r.note(who, "lambda:CreateEventSourceMapping", "*", keys)
		r.note(who, "lambda:TagResource", resource, tagKeys(in.Tags))
		return
	}
	r.note(who, "lambda:"+action+"EventSourceMapping", resource, keys)
}
