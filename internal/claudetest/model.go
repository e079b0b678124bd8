package claudetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Next decides one assistant turn. It must depend on the request alone: the client
// repeats a request when it sees fit, and several sessions ask at once.
type Next func(Request) Turn

// Model is a model server on loopback that speaks the Messages API and answers as
// the test says.
type Model struct {
	t    testing.TB
	next Next
	http *httptest.Server

	mu       sync.Mutex
	requests []Request
	other    []string
	arrived  chan struct{} // closed and replaced at every request
}

// NewModel starts a model server; it ends with the test.
func NewModel(t testing.TB, next Next) *Model {
	t.Helper()
	m := &Model{t: t, next: next, arrived: make(chan struct{})}
	m.http = httptest.NewServer(m)
	t.Cleanup(func() {
		m.http.CloseClientConnections() // a held turn would keep the server
		m.http.Close()
	})
	return m
}

// URL is what goes into ANTHROPIC_BASE_URL.
func (m *Model) URL() string { return m.http.URL }

// Requests returns what the sessions have asked so far, in order, without the
// client's own questions (Request.Background).
func (m *Model) Requests() []Request {
	return m.filter(func(r Request) bool { return !r.Background })
}

// All returns every request to the Messages API.
func (m *Model) All() []Request { return m.filter(func(Request) bool { return true }) }

func (m *Model) filter(keep func(Request) bool) []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []Request
	for _, r := range m.requests {
		if keep(r) {
			list = append(list, r)
		}
	}
	return list
}

// Other returns the method and path of every request that was not to the Messages API.
func (m *Model) Other() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.other)
}

// Await returns the first request, past or to come, for which match holds. The test
// fails at the deadline.
func (m *Model) Await(what string, match func(Request) bool) Request {
	m.t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	seen := 0
	for {
		m.mu.Lock()
		all, arrived := m.requests, m.arrived
		m.mu.Unlock()
		for _, r := range all[seen:] {
			if !r.Background && match(r) {
				return r
			}
		}
		seen = len(all)
		select {
		case <-arrived:
		case <-deadline.C:
			var last string
			if seen > 0 {
				last = all[seen-1].String()
			}
			m.t.Fatalf("no request in %v: %s\nof %d requests the last is\n%s", Patience, what, seen, last)
		}
	}
}

// ServeHTTP answers the client.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" {
		m.serveOther(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	req, err := parseRequest(r.Header, body)
	if err != nil {
		m.t.Errorf("the client's request is not of the Messages API: %v\n%s", err, body)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	req.N = len(m.requests)
	m.requests = append(m.requests, req)
	close(m.arrived)
	m.arrived = make(chan struct{})
	m.mu.Unlock()

	turn := background(req)
	if !req.Background {
		turn = m.next(req)
	}
	if turn.Make != nil {
		turn = turn.Make(req)
	}
	if turn.Hold != nil {
		select {
		case <-turn.Hold:
		case <-r.Context().Done():
			return
		}
	}
	if turn.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(turn.Status)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"api_error","message":"the test says so"}}`)
		return
	}
	reply := newReply(req, turn)
	if req.Stream {
		reply.stream(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply.message(true))
}

// serveOther answers what a client asks beside: is the server there, how many tokens.
func (m *Model) serveOther(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.other = append(m.other, r.Method+" "+r.URL.Path)
	m.mu.Unlock()
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		fmt.Fprint(w, `{"input_tokens":100}`)
	case r.Method == http.MethodHead, r.URL.Path == "/api/hello":
		fmt.Fprint(w, `{"message":"hello"}`)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"type":"error","error":{"type":"not_found_error","message":"not part of this test"}}`)
	}
}

// background answers the questions that the client asks for itself (a session's
// title, whether the topic is new, whether a server is there) with words that fit
// none of their formats badly: the client then goes without.
func background(req Request) Turn {
	if strings.Contains(req.System, "title") {
		return Turn{Blocks: []Block{{Type: "text", Text: `{"title":"a test"}`}}}
	}
	return Say("ok")
}
