//go:build unix

package claudemembertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

// serveNotes is a tool server of the user, by standard input and output: its tool mark leaves a line
// in a file of the working directory, and says of itself that it only reads; its tool pick asks the user
// for a branch. It starts slowly when slowly says so.
func serveNotes() int {
	if d, err := time.ParseDuration(os.Getenv(slowly)); err == nil {
		time.Sleep(d) // real clock: a server that takes so long
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "mark", Description: "marks", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in struct {
			Name string `json:"name"`
		}) (*mcp.CallToolResult, any, error) {
			f, err := os.OpenFile(in.Name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, nil, err
			}
			_, err = f.WriteString("ran\n")
			return &mcp.CallToolResult{}, nil, errors.Join(err, f.Close())
		})
	mcp.AddTool(s, &mcp.Tool{Name: "pick", Description: "picks"}, func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		if len(r.Params.InputResponses) == 0 {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"branch": &mcp.ElicitParams{Message: "Which branch?", RequestedSchema: json.RawMessage(
				`{"type":"object","properties":{"branch":{"type":"string"}},"required":["branch"]}`)}}}, nil, nil
		}
		got, ok := r.Params.InputResponses["branch"].(*mcp.ElicitResult)
		if !ok {
			return nil, nil, errors.New("the client answers something else")
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("%s %v", got.Action, got.Content["branch"])}}}, nil, nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "notes:", err)
		return 1
	}
	return 0
}

// slowly is the variable with the time that the server notes takes to start.
const slowly = "NOTES_STARTS_AFTER"

// serves gives the user's client the tool server notes, which takes so long to start and whose tools the
// user's settings allow.
func (w *world) serves(after time.Duration) {
	w.T.Helper()
	program := filepath.Join(w.H.Bin, "notes")
	data, err := os.ReadFile(w.Bin)
	testenv.Must(w.T, err)
	w.H.WriteFile(program, string(data), 0o755)
	w.H.Known(func(file map[string]any) {
		file["mcpServers"] = map[string]any{"notes": map[string]any{"type": "stdio", "command": program, "args": []string{}, "env": map[string]string{slowly: after.String()}}}
	})
	house := openHouse()
	permissions := house["permissions"].(map[string]any)
	permissions["allow"] = append(permissions["allow"].([]string), "mcp__notes", "mcp__notes__mark", "mcp__notes__*")
	w.settings(house)
}

// tool is a call of the tool of the user's server.
func tool(name string) claudetest.Turn {
	return claudetest.Call("mcp__notes__mark", map[string]string{"name": name})
}

// The tools of the user's own servers need a permission like others, whatever the user's settings
// allow and whatever a server says of its tools. The first turn has them also where the server starts
// more slowly than the client.
func TestServersTools(t *testing.T) {
	for name, one := range map[string]struct {
		each func(*testing.T, func(*testing.T, string))
		make maker
	}{"headless": {claudetest.Each, newWorld}, "pane": {eachInPane, newPane}} {
		t.Run(name, func(t *testing.T) {
			one.each(t, func(t *testing.T, version string) {
				w := one.make(t, version, claudetest.Script(tool("one"), tool("two"), claudetest.Say("done")), "")
				w.serves(3 * time.Second)
				w.works("mark", "mark it")
				first := w.pending(`"one"`)
				w.Ran("one", 0)
				w.OK("approve", first, "--team", "crew")
				second := w.pending(`"two"`)
				w.Ran("one", 1)
				w.OK("deny", second, "--team", "crew", "-m", "not that one")
				if r := w.Result(1); !r.IsError {
					t.Errorf("the model reads %+v", r)
				}
				w.completed()
				w.Ran("two", 0)
			})
		})
	}
}

// A question of a user's tool server goes to the person, and the server gets the person's answer.
func TestServersQuestion(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) { serversQuestion(t, version, newWorld) })
}

// The same of a client in a pane, whose own dialog does not come.
func TestPaneServersQuestion(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) { serversQuestion(t, version, newPane) })
}

func serversQuestion(t *testing.T, version string, make maker) {
	w := make(t, version, claudetest.Script(claudetest.Call("mcp__notes__pick", map[string]string{}), claudetest.Say("done")), "")
	w.serves(0)
	w.works("pick", "pick it")
	w.OK("approve", w.pending("mcp__notes__pick"), "--team", "crew")
	w.OK("answer", w.pending("Which branch?"), "main", "--team", "crew")
	if r := w.Result(0); r.IsError || !strings.Contains(r.Text, "accept main") {
		t.Errorf("the model reads %+v", r)
	}
	w.completed()
}
