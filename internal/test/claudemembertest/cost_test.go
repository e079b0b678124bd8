//go:build unix

package claudemembertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

// asksMeasured is how many calls are measured through each adapter.
const asksMeasured = 100

// clock notes the times of the model's requests.
type clock struct {
	mu    sync.Mutex
	times []time.Time
}

// script calls true again and again, and notes the time of each request.
func (c *clock) script(r claudetest.Request) claudetest.Turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times = append(c.times, time.Now()) // real clock: it is measured
	if len(c.times) > asksMeasured {
		return claudetest.Say("done")
	}
	return claudetest.Bash("true")
}

func (c *clock) gaps() (gaps []time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 1; i < len(c.times); i++ {
		gaps = append(gaps, c.times[i].Sub(c.times[i-1]))
	}
	return gaps
}

// memory is the resident memory of all processes of the home whose command line has the words, in MB.
func (w *world) memory(words string) (mb int) {
	for _, pid := range w.H.Processes() {
		line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if !strings.Contains(string(line), words) {
			continue
		}
		status, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
		for _, field := range strings.Split(string(status), "\n") {
			if kb, ok := strings.CutPrefix(field, "VmRSS:"); ok {
				n, _ := strconv.Atoi(strings.Fields(kb)[0])
				mb += n / 1024
			}
		}
	}
	return mb
}

// row prints a row of the table.
func row(t *testing.T, name string, gaps []time.Duration, worker, client int) {
	t.Helper()
	if len(gaps) == 0 {
		t.Fatalf("%s: nothing was measured", name)
	}
	slices.Sort(gaps)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
	testenv.Measured(t, "| %s | %d | %s | %s | %d MB | %d MB |", name, len(gaps), ms(gaps[len(gaps)/2]), ms(gaps[len(gaps)*99/100]), worker, client)
}

// waits returns the time before each started record: from the record before, which is the end of the
// last call or the beginning of the task.
func (w *world) waits() (gaps []time.Duration) {
	var doc struct {
		Records []struct {
			Time time.Time
			Kind string
		}
	}
	testenv.Must(w.T, json.Unmarshal([]byte(w.OK("log", "bob", "--team", "crew", "--json")), &doc))
	var ready time.Time
	for _, r := range doc.Records {
		switch r.Kind {
		case "taken", "finished":
			ready = r.Time
		case "started":
			gaps = append(gaps, r.Time.Sub(ready))
		}
	}
	return gaps
}

// allows writes a team file in which every shell command is allowed, for one member.
func (w *world) allows(member string) {
	w.H.WriteFile(filepath.Join(w.H.Work, "team.yaml"), "team: crew\nsandbox: {mode: off}\npolicy: {allow: [Bash]}\nmembers:\n  - {name: bob, "+member+"}\n", 0o600)
}

// TestAskCost measures the cost of a question through each adapter: calls of true that a rule allows,
// and the same calls of a client that asks nobody.
func TestAskCost(t *testing.T) {
	if !testenv.Soak() {
		t.Skip("it measures for minutes: WAGGLE_TEST=soak runs it")
	}
	versions := claudetest.Versions()
	version := versions[len(versions)-1]
	t.Run("bare", func(t *testing.T) {
		c := &clock{}
		w := newWorld(t, version, c.script, "")
		w.H.Settings(map[string]any{})
		cmd := w.H.Command(w.H.Claude, "-p", "--allowedTools", "Bash", "--setting-sources", "user", "call true")
		testenv.Must(t, cmd.Start())
		w.until("half of it", func() bool { return len(c.gaps()) > asksMeasured/2 })
		client := w.memory("--allowedTools")
		testenv.Must(t, cmd.Wait())
		row(t, "bare `claude -p`, a cycle", c.gaps(), 0, client)
	})
	for name, make := range map[string]maker{"headless": newWorld, "in a pane": newPane} {
		t.Run(name, func(t *testing.T) {
			c := &clock{}
			w := make(t, version, func(r claudetest.Request) claudetest.Turn { return c.script(r) }, "")
			backend := ""
			if name == "in a pane" {
				backend = ", backend: tmux"
			}
			w.allows("agent: claude" + backend)
			w.works("call", "call true")
			for part := range asksMeasured / 10 / 2 { // on a machine that does much else
				w.until("half of it", func() bool { return len(c.gaps()) > 10*part })
			}
			client, worker := w.memory("--permission-mode"), w.memory("--instance")
			for part := range asksMeasured / 10 {
				w.until("all of it", func() bool { return len(c.gaps()) >= 10*(part+1) })
			}
			w.completed()
			row(t, "claude "+name+", a cycle", c.gaps(), worker, client)
		})
	}
	t.Run("script", func(t *testing.T) {
		w := newWorld(t, version, claudetest.Script(), "")
		w.allows("agent: script, steps: [" + strings.Repeat("\n      {tool: {name: Bash, input: {command: \"true\"}}},", asksMeasured) + "\n      {say: done}]")
		w.works("call", "call true")
		w.completed()
		row(t, "script", w.waits(), w.memory("--instance"), 0)
	})
	t.Run("exec", func(t *testing.T) {
		w := newWorld(t, version, claudetest.Script(), "")
		w.allows("agent: exec, command: [\"true\"]")
		w.start()
		for i := range asksMeasured / 4 {
			w.give(fmt.Sprint("call ", i), "call true")
		}
		w.until("all tasks done", func() bool { return len(w.waits()) == asksMeasured/4 })
		row(t, "exec", w.waits(), w.memory("--instance"), 0)
	})
	t.Run("mcp", func(t *testing.T) {
		w := newWorld(t, version, claudetest.Script(), "")
		w.allows("agent: mcp")
		w.raise()
		w.until("the member is there", func() bool { return strings.Contains(w.Run("status", "crew", "--json").Out, `"bob"`) })
		gaps, worker := w.asksByMCP()
		row(t, "mcp, `request_permission`", gaps, worker, 0)
	})
}

// asksByMCP asks as a client of the Model Context Protocol.
func (w *world) asksByMCP() (gaps []time.Duration, worker int) {
	cmd := w.H.Command(w.Bin, "mcp", "--team", "crew", "--as", "bob")
	cmd.Stderr = os.Stderr
	ses, err := mcp.NewClient(&mcp.Implementation{Name: "cost", Version: "1"}, nil).Connect(context.Background(), &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Second}, nil)
	testenv.Must(w.T, err)
	call := func(tool string, in map[string]any) string {
		r, err := ses.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: in})
		if err != nil || r.IsError || len(r.Content) != 1 {
			w.T.Fatalf("%s: %v: %+v", tool, err, r)
		}
		return r.Content[0].(*mcp.TextContent).Text
	}
	w.give("call", "call true")
	w.until("the task", func() bool {
		return strings.Contains(call("check_messages", map[string]any{"wait_seconds": 1}), `"task"`)
	})
	for range asksMeasured {
		began := time.Now() // real clock: it is measured
		said := call("request_permission", map[string]any{"tool": "Bash", "input": map[string]any{"command": "true"}})
		gaps = append(gaps, time.Since(began))
		var doc struct {
			Allowed bool
			Call    string `json:"call_id"`
		}
		if err := json.Unmarshal([]byte(said), &doc); err != nil || !doc.Allowed {
			w.T.Fatalf("%v: %s", err, said)
		}
		call("report_result", map[string]any{"call_id": doc.Call, "output": ""})
	}
	worker = w.memory("\x00mcp\x00")
	if err := ses.Close(); err != nil && !strings.Contains(err.Error(), "signal") {
		w.T.Logf("the end of the client: %v", err)
	}
	return gaps, worker
}

// The model's service is overloaded in the middle of a task: the member is limited, and goes on with its
// session when the service is back. Nothing runs twice.
func TestServicePasses(t *testing.T) {
	t.Parallel()
	claudetest.Each(t, func(t *testing.T, version string) { servicePasses(t, version, newWorld, "529") })
}

// The same in a pane.
func TestPaneServicePasses(t *testing.T) {
	t.Parallel()
	eachInPane(t, func(t *testing.T, version string) { servicePasses(t, version, newPane, "server_error") })
}

// servicePasses plays it; limited has the word with which the client says why.
func servicePasses(t *testing.T, version string, make maker, limited string) {
	var back atomic.Bool
	w := make(t, version, func(r claudetest.Request) claudetest.Turn {
		switch {
		case r.Turns() == 0:
			return claudetest.Mark("one")
		case !back.Load():
			return claudetest.Turn{Status: 529}
		}
		return claudetest.Say("all done")
	}, "")
	w.env = append(w.env, "CLAUDE_CODE_MAX_RETRIES=1")
	w.works("mark", "mark it")
	w.OK("approve", w.pending(">>one"), "--team", "crew")
	w.until("the member is limited", func() bool {
		out := w.OK("status", "crew", "--json")
		return strings.Contains(out, `"limited"`) && strings.Contains(out, limited)
	})
	back.Store(true)
	w.completed()
	w.Ran("one", 1)
	if r := w.M.Await("the words of the turn that goes on", func(r claudetest.Request) bool {
		return strings.Contains(r.Said(), "cut short by a failure of the model's service")
	}); !strings.Contains(r.String(), "mark it") {
		t.Errorf("it is another session: %s", r)
	}
}
