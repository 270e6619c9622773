package awstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
)

// Mappings is a RoundTripper that adds documented behavior of AWS's event source mappings, which
// the local server lacks. A queue has one mapping to a function, and an attempt to make another
// fails with the UUID of the first. A mapping takes a while to change, and rejects other changes
// during that time. A new queue is not visible immediately. All clients of a test share one
// Mappings, as they would share the service.
type Mappings struct {
	// Slow is the number of requests for a mapping after which a change is finished.
	Slow int
	// Unseen is how many attempts to map a queue fail because Lambda does not see the queue yet.
	Unseen int

	mu     sync.Mutex
	moving map[string]*move
	unseen map[string]int
}

// move is a change in progress.
type move struct {
	state string
	left  int
}

const mappingsPath = "/2015-03-31/event-source-mappings"

// RoundTrip implements http.RoundTripper.
func (m *Mappings) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(req.URL.Path, mappingsPath) {
		return http.DefaultTransport.RoundTrip(req)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.moving == nil {
		m.moving, m.unseen = map[string]*move{}, map[string]int{}
	}
	uuid := path.Base(req.URL.Path)
	switch req.Method {
	case http.MethodPost:
		return m.create(req)
	case http.MethodPut, http.MethodDelete:
		if mv := m.moving[uuid]; mv != nil && mv.left > 0 {
			mv.left--
			return refuse(req, http.StatusBadRequest, "ResourceInUseException",
				"the event source mapping is in the state "+mv.state), nil
		}
		return m.change(req, uuid)
	}
	res, body, err := pass(req)
	if mv := m.moving[uuid]; err == nil && mv != nil && mv.left > 0 &&
		res.StatusCode == http.StatusOK {
		mv.left--
		body["State"] = mv.state
	}
	return repack(res, body), err
}

func (m *Mappings) create(req *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(raw))
	var in struct{ EventSourceArn, FunctionName string }
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	if m.unseen[in.EventSourceArn]++; m.unseen[in.EventSourceArn] <= m.Unseen {
		return refuse(req, http.StatusBadRequest, "InvalidParameterValueException",
			"Error occurred while ReceiveMessage. SQS Error Code: "+
				"AWS.SimpleQueueService.NonExistentQueue."), nil
	}
	have, err := m.have(req, in.EventSourceArn, in.FunctionName)
	if err != nil {
		return nil, err
	}
	if have != "" {
		return refuse(req, http.StatusConflict, "ResourceConflictException",
			fmt.Sprintf(
				"An event source mapping with SQS arn (\" %s \") and function (\" %s \") already "+
					"exists. "+
					"Please update or delete the existing mapping with UUID %s", in.EventSourceArn,
				in.FunctionName, have)), nil
	}
	res, body, err := pass(req)
	if err == nil && res.StatusCode == http.StatusAccepted {
		uuid, _ := body["UUID"].(string)
		m.moving[uuid] = &move{"Creating", m.Slow}
		body["State"] = "Creating"
	}
	return repack(res, body), err
}

// have returns the UUID of the mapping of a queue to a function, or "".
func (m *Mappings) have(req *http.Request, source, function string) (string, error) {
	list, err := http.NewRequestWithContext(req.Context(), http.MethodGet,
		req.URL.Scheme+"://"+req.URL.Host+mappingsPath+"?"+
			url.Values{"EventSourceArn": {source}, "FunctionName": {function}}.Encode(), nil)
	if err != nil {
		return "", err
	}
	list.Header.Set("Authorization", req.Header.Get("Authorization"))
	_, body, err := pass(list)
	if err != nil {
		return "", err
	}
	all, _ := body["EventSourceMappings"].([]any)
	if len(all) == 0 {
		return "", nil
	}
	first, _ := all[0].(map[string]any)
	uuid, _ := first["UUID"].(string)
	return uuid, nil
}

func (m *Mappings) change(req *http.Request, uuid string) (*http.Response, error) {
	res, body, err := pass(req)
	if err != nil || res.StatusCode >= http.StatusBadRequest {
		return repack(res, body), err
	}
	state := map[any]string{"Enabled": "Enabling", "Disabled": "Disabling"}[body["State"]]
	if req.Method == http.MethodDelete {
		state = "Deleting"
	}
	m.moving[uuid] = &move{state, m.Slow}
	body["State"] = state
	return repack(res, body), nil
}

// pass forwards a request, and returns the response with its decoded body.
func pass(req *http.Request) (*http.Response, map[string]any, error) {
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	body := map[string]any{}
	return res, body, json.NewDecoder(res.Body).Decode(&body)
}

func repack(res *http.Response, body map[string]any) *http.Response {
	if res == nil {
		return nil
	}
	raw, _ := json.Marshal(body) // it was JSON
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	res.Header.Del("Content-Length")
	return res
}

func refuse(req *http.Request, status int, code, message string) *http.Response {
	raw, _ := json.Marshal(map[string]string{"Type": "User", "Message": message}) // it never fails
	res := answer(req, status, string(raw))
	res.Header.Set("X-Amzn-Errortype", code)
	return res
}
