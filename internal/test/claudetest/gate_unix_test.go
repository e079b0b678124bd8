//go:build unix

package claudetest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Gate is a hook's command that keeps the input of the client and answers when the test does.
type Gate struct {
	// Command goes into the settings.
	Command string

	h   *Home
	dir string
}

// NewGate writes the gate's script. Calls are numbered from 0, in their order.
func (h *Home) NewGate(name string) *Gate {
	h.t.Helper()
	g := &Gate{h: h, dir: filepath.Join(h.Root, "gate-"+name)}
	h.mkdir(g.dir)
	// mkdir takes a number from several gates at once; mv shows whole files only.
	g.Command = h.Script("gate-"+name, `cd '`+g.dir+`' || exit 1
n=0
while ! mkdir "call.$n" 2>/dev/null; do n=$((n + 1)); done
cat >"call.$n/given.new"
mv "call.$n/given.new" "call.$n/given"
while [ ! -e "call.$n/answer" ]; do sleep 0.05; done
cat "call.$n/answer"
read -r code <"call.$n/code"
echo "$code" >"call.$n/ended"
exit "$code"
`)
	return g
}

func (g *Gate) path(call int, file string) string {
	return filepath.Join(g.dir, "call."+strconv.Itoa(call), file)
}

// Given waits for a call and returns the input that the client wrote to the hook.
func (g *Gate) Given(call int) string {
	g.h.t.Helper()
	return g.h.WaitFile(g.path(call, "given"))
}

// Answer lets a call print its answer and exit with the code.
func (g *Gate) Answer(call int, answer string, code int) {
	g.h.t.Helper()
	g.Given(call)
	g.h.WriteFile(g.path(call, "code"), fmt.Sprintln(code), 0o600)
	g.h.WriteFile(g.path(call, "answer"), answer, 0o600)
}

// PeerToken reads the token of a session's messaging socket, "" without one.
func (h *Home) PeerToken(pid int) string {
	h.t.Helper()
	found, _ := filepath.Glob(filepath.Join(h.Config, "sessions", fmt.Sprintf("%d.*.key", pid)))
	if len(found) != 1 {
		return ""
	}
	var key struct {
		Token string `json:"peerToken"`
	}
	if data, err := os.ReadFile(found[0]); err == nil {
		_ = json.Unmarshal(data, &key)
	}
	return key.Token
}
