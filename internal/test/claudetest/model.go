package claudetest

import (
	"testing"
	"time"

	"waggle/internal/modelserver"
	"waggle/internal/test/testenv"
)

// The requests and turns of a model; package modelserver describes them.
type (
	Next     = modelserver.Next
	Turn     = modelserver.Turn
	Request  = modelserver.Request
	Message  = modelserver.Message
	Block    = modelserver.Block
	Question = modelserver.Question
)

// Turns of a model; package modelserver describes them.
var (
	Say             = modelserver.Say
	Call            = modelserver.Call
	Together        = modelserver.Together
	Bash            = modelserver.Bash
	Write           = modelserver.Write
	AskUserQuestion = modelserver.AskUserQuestion
	WritePlan       = modelserver.WritePlan
	ExitPlanMode    = modelserver.ExitPlanMode
)

// Model is a model server that answers as the test says.
type Model struct {
	*modelserver.Server
	t testing.TB
}

// NewModel starts a model server; it ends with the test.
func NewModel(t testing.TB, next Next) *Model {
	t.Helper()
	s, err := modelserver.Start(next, func(err error) { t.Error(err) })
	testenv.Must(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Model{s, t}
}

// Await returns the first request, past or to come, for which match holds. The test
// fails at the deadline.
func (m *Model) Await(what string, match func(Request) bool) Request {
	m.t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	for seen := 0; ; {
		all, arrived := m.Arrived()
		for ; seen < len(all); seen++ {
			if r := all[seen]; !r.Background && match(r) {
				return r
			}
		}
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
