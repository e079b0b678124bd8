package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/record"
)

// TestTokenOnce: of many who use a token at once, one joins; STATE never holds the
// token itself.
func TestTokenOnce(t *testing.T) {
	op := newOperator(t)
	s, err := teams.Of(op).Create(t.Context(), "api", "", record.PolicySet{})
	testenv.Must(t, err)
	token, err := teams.Of(op).MintToken(t.Context(), "api", teamfile.FileMember{Name: "ann", Agent: "exec", Backend: "join", Cwd: t.TempDir()}, 0)
	testenv.Must(t, err)
	_, secret, _ := strings.Cut(token.Token, ":")
	if err := filepath.WalkDir(op.Home.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), secret) {
			t.Errorf("%s holds the token", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	var joined atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, m, i, err := teams.Of(op).JoinWith(t.Context(), token.Token)
			switch {
			case err == nil && m.Name == "ann" && i != "":
				joined.Add(1)
			case operator.KindOf(err) != operator.Refused:
				t.Errorf("joined as %q: %v", m.Name, err)
			}
		})
	}
	wg.Wait()
	if joined.Load() != 1 {
		t.Errorf("%d joined with one token", joined.Load())
	}
	testenv.Must(t, s.Journal.Refresh(t.Context()))
	if m, ok := s.Lead.Member("ann"); !ok || !strings.HasPrefix(m.Channel, "token ") || strings.Contains(token.Token, strings.TrimPrefix(m.Channel, "token ")) {
		t.Errorf("on record as %+v", m)
	}
}
