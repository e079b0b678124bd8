// Agent runs a team with an agent of its own, which asks before it runs a task and obeys.
//
//	go run ./agent DIR
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"waggle/agent"
	"waggle/operator"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/poll"
	"waggle/spawn"
)

const file = `team: careful
decide: {tool: rules}
policy: {allow: ["Bash(echo:*)"]}
members: [{name: ann, agent: careful, backend: in-process}]
tasks:
  - {subject: "Say hello", owner: ann, instructions: "echo hello"}
  - {subject: "Tidy up", owner: ann, instructions: "rm -rf build"}
`

type careful struct{}

func (careful) Turn(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
	argv := strings.Fields(w.Task.Instructions)
	input, _ := json.Marshal(map[string]string{"command": w.Task.Instructions})
	call := agent.Call{Tool: "Bash", Input: input, Cwd: w.Task.Cwd, Argv: argv}
	out, err := h.Tool(ctx, call, func(ctx context.Context, _ json.RawMessage) agent.Ran {
		_, err := h.Run(ctx, spawn.Command{Argv: argv, Dir: w.Task.Cwd, Env: h.Environ(), Output: os.Stdout})
		return agent.Ran{Failed: err != nil}
	})
	if err == nil && !out.Allowed {
		fmt.Printf("ann obeys and does not %s: %s\n", w.Task.Instructions, out.Reason)
	}
	return agent.Result{Failed: !out.Allowed, Denied: !out.Allowed, Reason: out.Reason}, err
}

func main() {
	agent.Register("careful", func(json.RawMessage) (agent.Agent, error) { return careful{}, nil })
	dir := os.Args[1]
	op := operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "state"), poll.Minter{Now: time.Now, Rand: rand.Reader})
	op.Environ = os.Environ()
	f, err := teamfile.ParseFile(filepath.Join(dir, "waggle.yaml"), []byte(file))
	if err != nil {
		log.Fatal(err)
	}
	report, err := supervise.Of(op).Run(context.Background(), f, supervise.RunOptions{Headless: true, Note: func(operator.Note) {}})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range report.Tasks {
		fmt.Println(t.Subject+":", t.Status)
	}
}
