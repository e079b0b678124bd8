package teams_test

import (
	"os"
	"strings"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/record"
)

// TestJoinHasTheTeamsSandbox: a member that joins beside the team file has the file's sandbox for the
// team; a member with a block of its own keeps it. If the file cannot be read, no member is made.
func TestJoinHasTheTeamsSandbox(t *testing.T) {
	op := operatortest.New(t)
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	join := func(m teamfile.FileMember) (*record.Sandbox, error) {
		t.Helper()
		m.Agent, m.Cwd = "exec", t.TempDir()
		minted, err := teams.Of(op).MintToken(t.Context(), "api", m, 0)
		testenv.Must(t, err)
		s, _, i, err := teams.Of(op).JoinWith(t.Context(), minted.Token)
		if err != nil {
			return nil, err
		}
		jm, _ := s.Lead.ByInstance(i)
		if want := jm.Joined.Sandbox.Trust(); jm.Trust != want {
			t.Errorf("trust %s, want %s", jm.Trust, want)
		}
		return jm.Joined.Sandbox, nil
	}
	if got, err := join(teamfile.FileMember{Name: "ann"}); got != nil || err != nil {
		t.Errorf("without a file %+v, %v", got, err)
	}
	path := tm.State().Dir.TeamFile()
	write := func(text string) {
		t.Helper()
		testenv.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("team: api\nsandbox: {caches: [go]}\nmembers: [{name: x, agent: exec}]\n")
	if got, err := join(teamfile.FileMember{Name: "bob"}); err != nil || got == nil || got.Mode != record.SandboxRequired || len(got.Caches) != 1 {
		t.Errorf("with a file %+v, %v", got, err)
	}
	own := &record.Sandbox{Mode: record.SandboxAuto}
	if got, err := join(teamfile.FileMember{Name: "cleo", Sandbox: own}); err != nil || got == nil || got.Mode != record.SandboxAuto {
		t.Errorf("its own %+v, %v", got, err)
	}
	write("team: api\nsandbox: {mode: maybe}\nmembers: [{name: x, agent: exec}]\n")
	if _, err := join(teamfile.FileMember{Name: "dan"}); err == nil || !strings.Contains(err.Error(), "sandbox.mode") {
		t.Errorf("with a file that is none: %v", err)
	}
}
