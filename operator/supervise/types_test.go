package supervise_test

import (
	"os"
	"path/filepath"
	"testing"

	"waggle/agent"
	"waggle/internal/claude"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
)

func init() { agent.Register(claude.Kind, claude.New) } // the program does

// TestTypes: the fields that members take from their agent definitions are on record with the
// definition's digest, and are read from the record afterwards.
func TestTypes(t *testing.T) {
	op := fresh(t)
	dir := t.TempDir()
	path := filepath.Join(dir, ".claude", "agents", "reviewer.md")
	testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	testenv.Must(t, os.WriteFile(path, []byte("---\ntools: Read\nmodel: opus\n---\nYou review."), 0o600))
	f, err := teamfile.ParseFile(filepath.Join(dir, "waggle.yaml"), []byte("team: types\nmembers: [{name: ann, agent: claude, type: reviewer}]\n"))
	testenv.Must(t, err)
	if _, err := supervise.Of(op).Prepare(t.Context(), f, false, func(operator.Note) {}); operator.KindOf(err) != operator.Usage {
		t.Errorf("types that were not read: %v", err)
	}
	testenv.Must(t, f.Define(""))
	s, err := supervise.Of(op).Prepare(t.Context(), f, false, func(operator.Note) {})
	testenv.Must(t, err)
	defer s.Settled()
	m, _ := s.Lead.Member("ann")
	if m.Joined.Definition == nil || *m.Joined.Definition != *f.Members[0].Definition || m.Model != "opus" {
		t.Errorf("%+v", m.Joined)
	}
	testenv.Must(t, os.Remove(path))
	again, err := supervise.Of(op).Accepted(s)
	if err != nil || string(again.Members[0].Spec) != string(m.Spec) || again.Members[0].Definition == nil {
		t.Errorf("%v", err)
	}
}
