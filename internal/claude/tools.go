package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"waggle/agent"
	"waggle/internal/json/jsonobj"
	"waggle/spawn"
)

// ownTools is the tool server of the agent behind the lead: `waggle mcp`, which calls the member's worker.
// The client reaches it by its standard streams, like its host, so that also a client in a sandbox has it,
// and no process but this one has the member's token.
type ownTools struct {
	name string // of the server, which no other server has
	in   *io.PipeWriter
	stop context.CancelFunc
	done chan struct{}
	err  error // before done is closed

	beginning sync.Mutex // held while the session begins
	began     json.RawMessage

	mu      sync.Mutex
	sent    int
	waiting map[string]chan rpc
	ids     map[string]string // of open calls: ours by the client's
}

// rpc is a message of JSON-RPC.
type rpc struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// toolsOf starts the tool server of a client whose private directory is dir; nil: it has none.
func toolsOf(p agent.Place, h agent.Host, program, dir string) *ownTools {
	if !p.Leads || len(h.Caller()) == 0 {
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	in, out := io.Pipe()
	s := &ownTools{name: "waggle-" + strings.TrimPrefix(filepath.Base(dir), "wcl"), in: out, stop: stop, done: make(chan struct{}),
		waiting: map[string]chan rpc{}, ids: map[string]string{}}
	go func() {
		defer close(s.done)
		_, s.err = direct{}.Run(ctx, spawn.Command{Argv: []string{program, "mcp"}, Env: slices.Concat(h.Environ(), h.Caller()),
			Stdin: in, Output: &lines{each: s.take}, Reap: true})
		_ = in.CloseWithError(errToolsEnded)
	}()
	return s
}

var errToolsEnded = errors.New("the tool server of this member has ended")

// Name is the name of the server; "" without one.
func (s *ownTools) Name() string {
	if s == nil {
		return ""
	}
	return s.name
}

// has reports whether a tool of the client is one of this server.
func (s *ownTools) has(tool string) bool {
	return s != nil && strings.HasPrefix(tool, "mcp__"+s.name+"__")
}

// close ends the server.
func (s *ownTools) close() error {
	if s == nil {
		return nil
	}
	_ = s.in.Close()
	s.stop()
	<-s.done
	if errors.Is(s.err, context.Canceled) {
		return nil
	}
	return s.err
}

// take handles one line of the server. It asks nothing of its client.
func (s *ownTools) take(line []byte) {
	var m rpc
	if err := json.Unmarshal(line, &m); err != nil || m.Method != "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := s.waiting[string(m.ID)]; got != nil {
		delete(s.waiting, string(m.ID))
		got <- m
	}
}

// nothing answers a notification.
const nothing = `{"jsonrpc":"2.0","result":{},"id":0}`

// Serve passes a message of the client on and returns the answer. A client may begin more than one
// session at once (2.1.150), with the same ids: the server sees one.
func (s *ownTools) Serve(ctx context.Context, raw []byte) ([]byte, error) {
	var m rpc
	if err := json.Unmarshal(raw, &m); err != nil || m.Method == "" {
		return nil, errors.New("the message is no request of the Model Context Protocol")
	}
	switch {
	case m.Method == "initialize":
		return s.begin(ctx, m)
	case m.Method == "notifications/cancelled":
		return []byte(nothing), s.cancel(m)
	case m.ID == nil: // begin has said that the session has begun
		return []byte(nothing), nil
	}
	answer, err := s.ask(ctx, m)
	if err != nil {
		return nil, err
	}
	answer.ID = m.ID
	return jsonobj.Marshal(answer)
}

// begin answers the beginning of a session.
func (s *ownTools) begin(ctx context.Context, m rpc) ([]byte, error) {
	s.beginning.Lock()
	defer s.beginning.Unlock()
	if s.began == nil {
		answer, err := s.ask(ctx, m)
		if err != nil {
			return nil, err
		}
		if answer.Error != nil {
			return nil, fmt.Errorf("the tool server of this member: %s", answer.Error)
		}
		if err := send(s.in, rpc{Version: m.Version, Method: "notifications/initialized"}); err != nil {
			return nil, err
		}
		s.began = answer.Result
	}
	return jsonobj.Marshal(rpc{Version: m.Version, ID: m.ID, Result: s.began})
}

// ask sends a request under an id of its own and waits for the answer.
func (s *ownTools) ask(ctx context.Context, m rpc) (rpc, error) {
	theirs, got := string(m.ID), make(chan rpc, 1)
	s.mu.Lock()
	s.sent++
	ours := strconv.Itoa(s.sent)
	s.waiting[ours], s.ids[theirs] = got, ours
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, ours)
		if s.ids[theirs] == ours {
			delete(s.ids, theirs)
		}
	}()
	defer context.AfterFunc(ctx, s.stop)() // a server that reads no more keeps nobody waiting
	m.ID = json.RawMessage(ours)
	if err := send(s.in, m); err != nil {
		return rpc{}, err
	}
	select {
	case answer := <-got:
		return answer, nil
	case <-s.done:
		return rpc{}, errToolsEnded
	case <-ctx.Done():
		return rpc{}, ctx.Err()
	}
}

// cancel passes on that the client gives up a call.
func (s *ownTools) cancel(m rpc) error {
	var of struct {
		ID json.RawMessage `json:"requestId"`
	}
	if err := json.Unmarshal(m.Params, &of); err != nil {
		return err
	}
	s.mu.Lock()
	ours, open := s.ids[string(of.ID)]
	s.mu.Unlock()
	if !open {
		return nil
	}
	return send(s.in, rpc{Version: m.Version, Method: m.Method, Params: json.RawMessage(`{"requestId":` + ours + `}`)})
}
