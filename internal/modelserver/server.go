// Package modelserver is a model server on loopback that speaks the Messages API and answers as a
// script says: an agent with a real client works without a key and without a network.
//
//	s, err := modelserver.Start(func(modelserver.Request) modelserver.Turn { return modelserver.Say("done") }, nil)
//	defer s.Close()
//	env = append(env, "ANTHROPIC_BASE_URL="+s.URL())
package modelserver

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"waggle/internal/json/jsonobj"
)

// Next decides one assistant turn. It must depend on the request alone: the client repeats a
// request when it sees fit, and several sessions ask at once.
type Next func(Request) Turn

// Server answers clients until it is closed.
type Server struct {
	next   Next
	report func(error)
	l      net.Listener
	http   *http.Server
	served sync.WaitGroup

	mu       sync.Mutex
	requests []Request
	arrived  chan struct{} // closed and replaced at every request
}

// Start serves on a free port of loopback. report gets what a client says that is not of the API;
// nil: it is dropped.
func Start(next Next, report func(error)) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if report == nil {
		report = func(error) {}
	}
	s := &Server{next: next, report: report, l: l, arrived: make(chan struct{})}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	s.served.Go(func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.report(err)
		}
	})
	return s, nil
}

// Close ends the server and every connection: a turn that is held too.
func (s *Server) Close() error {
	err := s.http.Close()
	s.served.Wait()
	return err
}

// URL is what goes into ANTHROPIC_BASE_URL.
func (s *Server) URL() string { return "http://" + s.l.Addr().String() }

// Requests returns what the sessions have asked so far, in order, without the client's own
// questions (Request.Background).
func (s *Server) Requests() []Request {
	return slices.DeleteFunc(s.All(), func(r Request) bool { return r.Background })
}

// All returns every request to the Messages API.
func (s *Server) All() []Request {
	all, _ := s.Arrived()
	return slices.Clone(all)
}

// Arrived returns every request so far, and a channel that is closed at the next one.
func (s *Server) Arrived() ([]Request, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.requests), s.arrived
}

// ServeHTTP answers the client.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" {
		serveOther(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	req, err := parseRequest(body)
	if err != nil {
		s.report(fmt.Errorf("the client's request is not of the Messages API: %w\n%s", err, body))
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	req.N = len(s.requests)
	s.requests = append(s.requests, req)
	close(s.arrived)
	s.arrived = make(chan struct{})
	s.mu.Unlock()

	turn := background(req)
	if !req.Background {
		turn = s.next(req)
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
		fmt.Fprint(w, `{"type":"error","error":{"type":"api_error","message":"the test says so"}}`)
		return
	}
	reply := newReply(req, turn)
	if req.Stream {
		reply.stream(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if data, err := jsonobj.Marshal(reply.message(reply.blocks, reply.stop)); err == nil {
		_, _ = w.Write(append(data, '\n'))
	}
}

// serveOther answers what a client asks beside: is the server there, how many tokens.
func serveOther(w http.ResponseWriter, r *http.Request) {
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
