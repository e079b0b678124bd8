package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// KindMCP is the kind of a member whose agent is a client that connects to waggle: New makes
// none, and nothing is started for it.
const KindMCP = "mcp"

// kinds are the agents by their names in a team file.
var kinds = struct {
	mu   sync.Mutex
	open map[string]func(spec json.RawMessage) (Agent, error)
}{open: map[string]func(json.RawMessage) (Agent, error){
	"exec":   newExec,
	"script": newScript,
}}

// Register makes a kind of agent known to New in this program, under a name for team files. open
// gets the settings of a member, which may be empty; it is called where the file is checked too,
// and must start nothing. A program that runs such members registers the kind before anything else;
// a name that is taken panics.
func Register(kind string, open func(spec json.RawMessage) (Agent, error)) {
	kinds.mu.Lock()
	defer kinds.mu.Unlock()
	if kinds.open[kind] != nil || kind == "" || open == nil {
		panic(fmt.Sprintf("agent: kind %q is there already, or is none", kind))
	}
	kinds.open[kind] = open
}

// New makes an agent of a kind from the settings that the team file gave it.
func New(kind string, spec json.RawMessage) (Agent, error) {
	kinds.mu.Lock()
	open := kinds.open[kind]
	kinds.mu.Unlock()
	if open == nil {
		return nil, fmt.Errorf("agent %q is not one of %v", kind, Kinds())
	}
	return open(spec)
}

// Kinds lists the agents that New can make.
func Kinds() []string {
	kinds.mu.Lock()
	defer kinds.mu.Unlock()
	return slices.Sorted(maps.Keys(kinds.open))
}
